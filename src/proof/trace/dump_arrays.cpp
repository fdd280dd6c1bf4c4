// SPDX-License-Identifier: Apache-2.0
// Other programs write these files, so nothing is believed of their sizes.
#include "proof/trace/dump_arrays.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/files/mapped_file.hpp"
#include "base/files/npy.hpp"
#include "base/hash.hpp"

namespace bittern::proof {
namespace {

constexpr std::string_view kNpy = ".npy", kRaw = ".f32";

tl::unexpected<Error> Wrong(const std::filesystem::path& path, std::string_view what) {
  return Fail(ErrorCode::kCorruptFile, fmt::format("{}: {}", path.string(), what));
}

/// The step of "03.attn_norm", "3.attn_norm" or "embedding"; nothing where there is none.
std::optional<std::size_t> StepNamed(std::string_view name, int num_layers) {
  const std::size_t dot = name.find('.');
  int layer = -1;
  if (dot != std::string_view::npos) {
    const auto [end, error] = std::from_chars(name.data(), name.data() + dot, layer);
    if (error != std::errc() || end != name.data() + dot || layer < 0 || layer >= num_layers) {
      return std::nullopt;
    }
    name.remove_prefix(dot + 1);
  }
  const auto operation = OperationOf(name);
  if (!operation || IsOfLayer(*operation) != (layer >= 0)) return std::nullopt;
  return StepOf(layer, *operation, num_layers);
}

/// An array of one value or more for each position.
struct Rows {
  std::span<const std::byte> values;
  std::size_t count = 0;  ///< of a position
};

Result<Rows> RowsOf(std::span<const std::byte> bytes, bool is_npy, std::size_t positions) {
  if (!is_npy) {
    const std::size_t row = positions * sizeof(float);
    if (bytes.size() % row != 0) {
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("a multiple of {} bytes expected (float32, {} positions), {} found",
                              row, positions, bytes.size()));
    }
    return Rows{bytes, bytes.size() / row};
  }
  NpyArray array = BITTERN_TRY(ReadNpy(bytes));
  const std::vector<std::size_t> given = array.shape;
  // A batch of one is what PyTorch's modules return.
  while (array.shape.size() > 2 && array.shape[0] == 1) array.shape.erase(array.shape.begin());
  if (array.shape.size() != 2 || array.shape[0] != positions || array.shape[1] == 0) {
    return Fail(ErrorCode::kCorruptFile, fmt::format("the shape ({}, values) expected, ({}) found",
                                                     positions, fmt::join(given, ", ")));
  }
  return Rows{array.values, array.shape[1]};
}

/// Values of a step with facts, if they are its own: the files of an earlier dump may still lie
/// there.
bool Fits(const TraceStep& step, const std::vector<float>& values) {
  return step.count == values.size() &&
         (step.hash.empty() || step.hash == HashOf(std::as_bytes(std::span(values))));
}

}  // namespace

std::string ArrayFileName(int layer, Operation operation) {
  if (layer < 0) return fmt::format("{}{}", OperationName(operation), kNpy);
  return fmt::format("{:02}.{}{}", layer, OperationName(operation), kNpy);
}

Result<std::vector<ArrayFile>> ListArrays(const std::filesystem::path& folder, int num_layers,
                                          bool strict) {
  std::vector<ArrayFile> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::filesystem::path& path = entry->path();
    const std::string extension = path.extension().string(), name = path.stem().string();
    if (path.filename().string().starts_with('.')) continue;
    const bool is_array = extension == kNpy || extension == kRaw;
    const auto step = is_array ? StepNamed(name, num_layers) : std::nullopt;
    if (step) {
      files.push_back({*step, path});
    } else if (strict) {
      return Wrong(path, fmt::format("the name of an operation expected, such as {} or {}",
                                     ArrayFileName(-1, Operation::kEmbedding),
                                     ArrayFileName(0, Operation::kAttnNorm)));
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return Fail(ErrorCode::kIo, fmt::format("{}: {}", folder.string(), error.message()));
  }
  std::ranges::sort(files, [](const ArrayFile& a, const ArrayFile& b) {
    return a.step != b.step ? a.step < b.step : a.path < b.path;
  });
  const auto twice = std::ranges::adjacent_find(files, {}, &ArrayFile::step);
  if (twice == files.end()) return files;
  return Wrong(twice->path, "this is the same operation as " + (twice + 1)->path.string());
}

std::uint64_t BytesOf(const std::vector<ArrayFile>& files) {
  std::uint64_t bytes = 0;
  for (const ArrayFile& file : files) {
    std::error_code error;
    const auto size = std::filesystem::file_size(file.path, error);
    if (!error) bytes += size;
  }
  return bytes;
}

Result<void> ReadArray(const ArrayFile& file, const std::vector<bool>& bare, Trace* trace) {
  const std::size_t positions = trace->tokens.size(), first = file.step * positions;
  bool needed = false;
  for (std::size_t p = 0; p < positions; ++p) needed = needed || bare[first + p];
  const auto mapped = MappedFile::Open(file.path);
  if (!mapped) return needed ? Result<void>(tl::unexpected(mapped.error())) : Result<void>();
  const auto rows = RowsOf(mapped->bytes(), file.path.extension() == kNpy, positions);
  if (!rows) {
    if (!needed) return {};
    return tl::unexpected(Within(file.path.string(), rows.error()));
  }
  for (std::size_t p = 0; p < positions; ++p) {
    std::vector<float> values(rows->count);
    std::memcpy(values.data(), rows->values.data() + p * values.size() * sizeof(float),
                values.size() * sizeof(float));
    TraceStep& own = trace->steps[first + p];
    if (bare[first + p]) own = Summarise(values);
    if (own.count != 0 && Fits(own, values)) own.values = std::move(values);
  }
  return mapped->CheckUnchanged();
}

}  // namespace bittern::proof
