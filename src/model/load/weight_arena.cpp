// SPDX-License-Identifier: Apache-2.0
#include "model/load/weight_arena.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "base/os/environment.hpp"
#include "base/os/memory.hpp"

namespace bittern::model {
namespace {

/// The most that matrices take: 2 bits a weight, with a quarter of that for scales of groups and
/// for tiles that are not full.
std::uint64_t MatrixBytes(const formats::Checkpoint& checkpoint) {
  constexpr std::uint64_t kOfTensor = std::uint64_t{256} << 10;
  std::uint64_t bytes = 0;
  for (const formats::Tensor& tensor : checkpoint.tensors()) {
    if (!tensor.name.starts_with("blk.") || tensor.rows() <= 1) continue;
    bytes += tensor.num_elements() / 4 + tensor.num_elements() / 16 + kOfTensor;
  }
  return bytes;
}

std::string Gigabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

}  // namespace

HugeArena ChooseArena(const formats::Checkpoint& checkpoint, const LoadOptions& options,
                      Decisions* decisions) {
  constexpr std::uint64_t kMostBeside = std::uint64_t{256} << 20;
  const std::uint64_t bytes = MatrixBytes(checkpoint);
  const std::uint64_t beside = std::min(kMostBeside, bytes / 8);  // keys, values, activations
  const std::uint64_t room = options.memory.value_or(os::RoomForPages());
  if ((room == 0 && !options.memory) || bytes + beside <= room) return {};
  std::filesystem::path folder = options.overflow_folder;
  std::error_code ignored;
  if (folder.empty()) {
    folder = os::CacheFolder() / "bittern";
    std::filesystem::create_directories(folder, ignored);
  }
  const std::string why = fmt::format("they take up to {}, and memory has room for {}",
                                      Gigabytes(bytes), Gigabytes(room));
  auto arena = HugeArena::CreateOnDisk(folder.string(), bytes);
  if (arena) {
    decisions->push_back({"weights", fmt::format("in a file in {}", folder.string()),
                          fmt::format("{}; what is needed is read again, which is slower", why),
                          true, "free memory, or choose a smaller model"});
    return *std::move(arena);
  }
  decisions->push_back({"weights", "in memory", fmt::format("{}; {}", why, arena.error().message),
                        true, "free memory, or room on that disk"});
  return {};
}

}  // namespace bittern::model
