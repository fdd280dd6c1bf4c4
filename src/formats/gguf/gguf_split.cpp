// SPDX-License-Identifier: Apache-2.0
// Parts are found by the pattern of the first one's name; their keys must agree with it.
#include "formats/gguf/gguf_split.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/text/display.hpp"

namespace bittern::formats {
namespace {

constexpr std::string_view kIndexKey = "split.no", kCountKey = "split.count",
                           kTensorsKey = "split.tensors.count";

/// How the file name of a part ends.
std::string PartSuffix(std::uint64_t index, std::uint64_t count) {
  return fmt::format("-{:05}-of-{:05}.gguf", index + 1, count);
}

}  // namespace

/// The keys are those of llama.cpp's gguf-split. A count of 0 or 1 is a whole model.
Result<std::optional<SplitPart>> ReadSplitPart(const Metadata& metadata) {
  SplitPart part;
  part.count = BITTERN_TRY(metadata.GetUint(kCountKey)).value_or(0);
  if (part.count <= 1) return std::nullopt;
  if (part.count > kMaxSplitParts) {
    return Fail(ErrorCode::kCorruptFile, fmt::format("key \"{}\": at most {} expected, {} found",
                                                     kCountKey, kMaxSplitParts, part.count));
  }
  part.index = BITTERN_TRY(metadata.GetUint(kIndexKey)).value_or(0);
  if (part.index >= part.count) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("key \"{}\": less than {} ({}) expected, {} found", kIndexKey,
                            part.count, kCountKey, part.index));
  }
  part.all_tensors = BITTERN_TRY(metadata.GetUint(kTensorsKey));
  return part;
}

/// Only part 1 holds the metadata, so a user who names another part is told which file to give.
Result<std::vector<std::filesystem::path>> SplitPartPaths(const std::filesystem::path& given,
                                                          const SplitPart& part) {
  const std::string name = given.filename().string();
  const std::string suffix = PartSuffix(part.index, part.count);
  const bool named = name.ends_with(suffix);
  const std::string stem = named ? name.substr(0, name.size() - suffix.size()) : std::string();
  if (part.index != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("part {} of {} of a split model; give the first part{}", part.index + 1,
                            part.count,
                            named ? ", " + Printable(stem + PartSuffix(0, part.count), 255) : ""));
  }
  if (!named) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("part 1 of {} of a split model; its name must end in {}, as the others "
                            "are found by it",
                            part.count, suffix));
  }
  std::vector<std::filesystem::path> paths;
  for (std::uint64_t i = 0; i < part.count; ++i) {
    paths.push_back(given.parent_path() / (stem + PartSuffix(i, part.count)));
  }
  return paths;
}

/// Checks that part `index` belongs to the same split as the first, then moves its tensors to
/// `all`.
Result<void> AppendSplitPart(GgufContents part, std::uint64_t index, const SplitPart& first,
                             std::vector<Tensor>* all) {
  const auto found = BITTERN_TRY(ReadSplitPart(part.metadata));
  if (!found) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("part {} of {} expected, a file found that is no part of a split model",
                            index + 1, first.count));
  }
  if (found->index != index || found->count != first.count ||
      found->all_tensors != first.all_tensors) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("part {} of {} ({} tensors in all) expected, part {} of {} ({}) found",
                            index + 1, first.count, first.all_tensors.value_or(0), found->index + 1,
                            found->count, found->all_tensors.value_or(0)));
  }
  std::unordered_set<std::string_view> names;
  for (const Tensor& tensor : *all) names.insert(tensor.name);
  for (const Tensor& tensor : part.tensors) {
    if (names.contains(tensor.name)) {
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("tensor {} is in an earlier part already", Quoted(tensor.name)));
    }
  }
  if (all->size() + part.tensors.size() > gguf_limits::kMaxTensors) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("at most {} tensors in all parts expected", gguf_limits::kMaxTensors));
  }
  all->insert(all->end(), std::make_move_iterator(part.tensors.begin()),
              std::make_move_iterator(part.tensors.end()));
  return {};
}

Result<void> CheckSplitComplete(const SplitPart& first, std::size_t num_tensors) {
  if (first.all_tensors.value_or(num_tensors) == num_tensors) return {};
  return Fail(ErrorCode::kCorruptFile,
              fmt::format("key \"{}\" says {} tensors, the {} parts hold {}", kTensorsKey,
                          *first.all_tensors, first.count, num_tensors));
}

}  // namespace bittern::formats
