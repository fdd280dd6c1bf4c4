// SPDX-License-Identifier: Apache-2.0
// Gains are kept in a file, by the facts that they depend on; a measurement multiplies with one
// matrix in both layouts.
#include "runtime/tune/layout_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "base/files/atomic_file.hpp"
#include "base/json/json.hpp"
#include "base/memory/aligned_buffer.hpp"
#include "kernels/registry.hpp"
#include "model/matrix_layout.hpp"
#include "quant/layouts/tile48.hpp"
#include "quant/ternary_codec.hpp"
#include "runtime/tune/machine_probe.hpp"

namespace bittern::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using model::MatrixLayout;

constexpr std::size_t kProbeCols = 2560, kProbeBlocks = kProbeCols / quant::kTileBlock;
constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr double kWorthIt[] = {1.03, 0.97};              // least gain, by ScaleKind
constexpr std::string_view kNames[] = {"", ", groups"};  // behind a machine's name, by ScaleKind
constexpr std::size_t kMaxMachines = 64;                 // in the file of gains

/// A matrix, to be read as either layout: the time does not depend on the weights.
struct ProbeOperands {
  AlignedBuffer<std::uint8_t> weights;
  AlignedBuffer<std::int8_t> act;
  AlignedBuffer<std::int32_t> out;
  std::vector<std::int32_t> group_sums = std::vector<std::int32_t>(2 * kProbeBlocks);
  std::vector<float> group_scales = std::vector<float>(2 * kProbeBlocks, 1.0f);
  std::vector<float> tile_scales =  // of every tile of 48 rows
      std::vector<float>(quant::kTile48Rows * kProbeBlocks, 1.0f);
  std::vector<float> group_out;
  std::size_t tiles = 0;  // of 48 rows

  static Result<ProbeOperands> Create(ThreadPool& pool, std::size_t bytes) {
    const char* what = "the measurement of layouts";
    constexpr std::size_t kTileBytes = 3 * quant::TileBytes(kProbeCols);
    ProbeOperands o;
    o.tiles = bytes / kTileBytes + 1;
    o.weights = BITTERN_TRY(AlignedBuffer<std::uint8_t>::Create(o.tiles * kTileBytes, what));
    o.act = BITTERN_TRY(AlignedBuffer<std::int8_t>::Create(kProbeCols, what));
    o.out = BITTERN_TRY(AlignedBuffer<std::int32_t>::Create(o.tiles * quant::kTile48Rows, what));
    o.group_out.resize(o.tiles * quant::kTile48Rows);
    pool.Run([&](Team& team) {  // each thread makes its own pages
      const Range mine = team.Share(o.tiles);
      std::fill(o.weights.data() + mine.begin * kTileBytes,
                o.weights.data() + mine.end * kTileBytes, std::uint8_t{0x55});
    });
    return o;
  }

  /// One vector. rows: of a tile.
  void RunOne(void (*gemv)(const kernels::FewArgs*), std::size_t tile_bytes, std::size_t rows,
              Range range) {
    const std::int32_t sum = 0;
    const std::size_t tiles_of_48 = quant::kTile48Rows / rows;
    const kernels::FewArgs args{.tiles = weights.data() + range.begin * tiles_of_48 * tile_bytes,
                                .num_tiles = (range.end - range.begin) * tiles_of_48,
                                .num_blocks = kProbeBlocks,
                                .acts = act.data(),
                                .act_stride = kProbeCols,
                                .num_tokens = 1,
                                .act_sums = &sum,
                                .out = out.data() + range.begin * quant::kTile48Rows,
                                .out_stride = 0};
    gemv(&args);
  }
  void Run16(const kernels::Kernels& kernels, Range range) {
    RunOne(kernels.tile16().gemv, quant::TileBytes(kProbeCols), quant::kTileRows, range);
  }
  /// The same multiplication by the kernel of tile48.
  void Run48(const kernels::Kernels& kernels, Range range) {
    RunOne(kernels.tile48().gemv, quant::Tile48Bytes(kProbeCols), quant::kTile48Rows, range);
  }
  /// A vector of two digits and matrices with scales of groups, 48 rows at a time.
  void RunGroups16(const kernels::Kernels& kernels, Range range) {
    for (std::size_t t = range.begin; t < range.end; ++t) {
      const kernels::GroupedArgs args{
          .tiles = weights.data() + t * 3 * quant::TileBytes(kProbeCols),
          .num_tiles = 3,
          .num_blocks = kProbeBlocks,
          .weight_scales = tile_scales.data(),
          .scales_per_block = 1,
          .act = act.data(),
          .act_stride = 4,
          .act_sums = group_sums.data(),
          .act_scales = group_scales.data(),
          .out = group_out.data() + t * quant::kTile48Rows,
          .low = act.data()};
      kernels.tile16().gemv_grouped(&args);
    }
  }
  void RunGroups48(const kernels::Kernels& kernels, Range range) {
    for (std::size_t t = range.begin; t < range.end; ++t) {
      const kernels::GroupedToken token{act.data(), group_sums.data(), group_scales.data(),
                                        group_out.data() + t * quant::kTile48Rows, act.data()};
      const kernels::GroupedGemmArgs args{
          .tiles = weights.data() + t * quant::Tile48Bytes(kProbeCols),
          .num_tiles = 1,
          .num_blocks = kProbeBlocks,
          .weight_scales = tile_scales.data(),
          .scales_per_block = 1,
          .act_stride = 4,
          .tokens = &token,
          .num_tokens = 1,
          .scratch = nullptr};
      kernels.tile48().gemm_grouped(&args);
    }
  }
};

std::optional<std::string> ReadFile(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The file's members that are what they should be; none where it is no such file.
std::vector<std::pair<std::string, double>> ReadGains(const std::filesystem::path& file) {
  std::vector<std::pair<std::string, double>> gains;
  const auto text = ReadFile(file);
  if (!text) return gains;
  const auto json = Json::Parse(*text, {.max_bytes = 1 << 16, .max_values = 1 << 10});
  if (!json || json->AsObject() == nullptr) return gains;
  for (const Json::Member& member : *json->AsObject()) {
    const auto gain = member.value.AsNumber();
    if (gain && *gain > 0 && gains.size() < kMaxMachines) gains.emplace_back(member.key, *gain);
  }
  return gains;
}

/// The facts that a gain depends on. The number counts the ways to measure it.
std::string MachineOf(const kernels::Kernels& kernels, int num_threads, ScaleKind kind) {
  return fmt::format("{}, {} threads, {} to {}, 2{}", CpuName(), num_threads,
                     kernels.tile16_info->name, kernels.tile48_info->name,
                     kNames[static_cast<std::size_t>(kind)]);
}

bool IsOfLayer(const formats::Tensor& tensor) {
  return tensor.name.starts_with("blk.") && tensor.rows() > 1;
}

}  // namespace

/// A quarter byte for each weight of the layers' matrices, whatever the file's own format is.
std::uint64_t TernaryBytes(const formats::Checkpoint& checkpoint) {
  std::uint64_t weights = 0;
  for (const formats::Tensor& tensor : checkpoint.tensors()) {
    if (IsOfLayer(tensor)) weights += tensor.num_elements();
  }
  return weights / 4;
}

bool MayHaveGroups(const formats::Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.tensors(), [](const formats::Tensor& tensor) {
    if (!IsOfLayer(tensor)) return false;
    if (tensor.places != nullptr && tensor.places->group_cols != 0) return true;
    const quant::TernaryCodec* codec = quant::DefaultCodec(tensor.format);
    return codec != nullptr && codec->grain == quant::ScaleGrain::kGroup;
  });
}

Result<double> MeasureTile48Gain(ThreadPool& pool, const kernels::Kernels& kernels,
                                 std::size_t bytes, ScaleKind kind) {
  auto operands = BITTERN_TRY(ProbeOperands::Create(pool, bytes));
  const auto seconds = [&](auto run) {
    const auto start = Clock::now();
    pool.Run([&](Team& team) { (operands.*run)(kernels, team.Share(operands.tiles)); });
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const bool groups = kind == ScaleKind::kOfGroups;
  const auto of_16 = groups ? &ProbeOperands::RunGroups16 : &ProbeOperands::Run16;
  const auto of_48 = groups ? &ProbeOperands::RunGroups48 : &ProbeOperands::Run48;
  return RatioOfLeast([&] { return seconds(of_16); }, [&] { return seconds(of_48); });
}

std::optional<double> LayoutCache::Find(const std::string& machine) const {
  if (file_.empty()) return std::nullopt;
  for (const auto& [name, gain] : ReadGains(file_)) {
    if (name == machine) return gain;
  }
  return std::nullopt;
}

/// Writes the file anew with this gain first; the oldest ones beyond kMaxMachines are dropped.
bool LayoutCache::Keep(const std::string& machine, double gain) const {
  if (file_.empty()) return false;
  std::error_code error;
  std::filesystem::create_directories(file_.parent_path(), error);
  Json json;
  json[machine] = gain;
  for (const auto& [name, old] : ReadGains(file_)) {
    if (name != machine && json.size() < kMaxMachines) json[name] = old;
  }
  auto file = AtomicFile::Create(file_);
  return file.has_value() && file->Write(json.Dump(2) + "\n").has_value() &&
         file->Commit().has_value();
}

/// Measures only where tile48 can win: it needs a kernel beyond the plain one, and weights that do
/// not stay in the caches.
LayoutChoice ChooseLayout(std::uint64_t ternary_bytes, ScaleKind kind,
                          const kernels::Kernels& kernels, ThreadPool& pool,
                          const LayoutCache& cache) {
  const std::size_t cpu_cache = LastLevelCacheBytes();
  if (kernels.tile48_info->isa == kernels::Isa::scalar) {
    return {MatrixLayout::kTile16, "there is no kernel for tile48 but the plain one"};
  }
  const std::uint64_t least = std::max<std::uint64_t>(2 * cpu_cache, 64 * kMiB);
  if (ternary_bytes < least) {
    return {MatrixLayout::kTile16,
            fmt::format("the ternary weights, {} MB, are less than {} MB, so that caches hold much "
                        "of them",
                        ternary_bytes / 1'000'000, least / 1'000'000)};
  }
  const std::string machine = MachineOf(kernels, pool.size(), kind);
  const auto known = cache.Find(machine);
  const auto gain = known
                        ? Result<double>(*known)
                        : MeasureTile48Gain(pool, kernels,
                                            std::clamp(2 * cpu_cache, 64 * kMiB, 256 * kMiB), kind);
  if (!gain) return {MatrixLayout::kTile16, "no memory to measure others"};
  const bool kept = known || cache.Keep(machine, *gain);
  const std::string where = kept ? "kept in " + cache.file().string() : "not kept";
  const bool worth_it = *gain >= kWorthIt[static_cast<std::size_t>(kind)];
  return {worth_it ? MatrixLayout::kTile48 : MatrixLayout::kTile16,
          fmt::format("tile48 multiplies {:.2f} times as fast as tile16 here; {}, {}", *gain,
                      known ? "measured before" : "measured now", where)};
}

}  // namespace bittern::runtime
