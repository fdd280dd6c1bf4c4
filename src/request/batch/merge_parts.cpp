// SPDX-License-Identifier: Apache-2.0
// All heads are compared first. Then line after line is taken from the part that must have it.
#include "request/batch/merge_parts.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "base/files/output_file.hpp"
#include "request/batch/batch_line.hpp"
#include "request/batch/line_source.hpp"
#include "request/batch/shard.hpp"

namespace bittern::request {
namespace {

constexpr const char* kGoOn = "resume=true goes on with it";

tl::unexpected<Error> Wrong(std::string message, std::string hint = {}) {
  return Fail(ErrorCode::kInvalidArgument, std::move(message), std::move(hint));
}

/// The beginning of a line, for messages.
std::string BeginOf(std::string_view line) {
  constexpr std::size_t kMost = 60;
  if (line.size() <= kMost) return std::string(line);
  return fmt::format("{}...", line.substr(0, kMost));
}

/// A part that is read line by line.
class PartFile {
 public:
  /// Opens the file and reads its head. Error kInvalidArgument.
  [[nodiscard]] static Result<PartFile> Open(const std::string& path);

  [[nodiscard]] const PartHead& head() const noexcept { return head_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// The next line, which must be the result of the input's line `number`.
  [[nodiscard]] Result<BatchPartLine> Take(std::size_t number);
  /// Error: there are more lines.
  [[nodiscard]] Result<void> End();
  /// An error at the last line that was read.
  [[nodiscard]] tl::unexpected<Error> Expected(std::string_view expected, std::string_view found,
                                               std::string hint = {}) const {
    return Wrong(fmt::format("{}: line {}: {} expected, {} found", path_, number_, expected, found),
                 std::move(hint));
  }

 private:
  /// False at the end. Error kInvalidArgument: it cannot be read; the last line has no end.
  [[nodiscard]] Result<bool> Next();

  std::string path_;
  std::ifstream file_;
  std::string line_;
  std::size_t number_ = 0;
  PartHead head_;
};

Result<PartFile> PartFile::Open(const std::string& path) {
  PartFile part;
  part.path_ = path;
  part.file_.open(std::filesystem::path(path), std::ios::binary);
  if (!part.file_) return Wrong(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  constexpr std::string_view kHead = "the head of a part (batch with shard=I/N)";
  if (!BITTERN_TRY(part.Next())) return part.Expected(kHead, "an empty file");
  auto head = ReadPartHead(part.line_);
  if (!head) return part.Expected(kHead, BeginOf(part.line_));
  part.head_ = *std::move(head);
  return part;
}

Result<bool> PartFile::Next() {
  ++number_;
  if (!std::getline(file_, line_)) {
    if (!file_.bad()) return false;
    return Wrong(fmt::format("{}: cannot be read: {}", path_, std::strerror(errno)));
  }
  // getline meets the end of the file only where no end of a line came before it.
  if (!file_.eof()) return true;
  return Expected("a whole line", fmt::format("{} bytes without an end", line_.size()), kGoOn);
}

Result<BatchPartLine> PartFile::Take(std::size_t number) {
  const std::string wanted = fmt::format("the result of line {} of the input", number);
  if (!BITTERN_TRY(Next())) return Expected(wanted, "the end of the file", kGoOn);
  auto line = ReadBatchPartLine(line_);
  if (!line) return Expected(wanted, BeginOf(line_));
  if (line->name.number != number) {
    return Expected(wanted, fmt::format("that of line {}", *line->name.number));
  }
  return *std::move(line);
}

Result<void> PartFile::End() {
  if (!BITTERN_TRY(Next())) return {};
  return Expected("the end of the file", BeginOf(line_));
}

/// The parts by their shards. Errors: one is doubled, missing or of another batch.
Result<std::vector<PartFile>> OpenParts(std::span<const std::string> paths) {
  std::vector<std::optional<PartFile>> found;
  const PartFile* first = nullptr;
  for (const std::string& path : paths) {
    auto part = BITTERN_TRY(PartFile::Open(path));
    const Shard shard = part.head().shard;
    if (first == nullptr) found.resize(shard.count);
    if (first != nullptr) {
      const std::string difference = DifferenceOf(first->head(), part.head());
      if (!difference.empty()) {
        return Wrong(fmt::format("{}: line 1: it is no part of the same batch as {}: {}", path,
                                 first->path(), difference));
      }
    }
    auto& place = found[shard.index - 1];
    if (place) {
      return Wrong(fmt::format("{}: line 1: another part expected, shard {} found, which {} has",
                               path, shard.Name(), place->path()));
    }
    place = std::move(part);
    if (first == nullptr) first = &*place;
  }
  std::vector<PartFile> parts;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) {
      return Wrong(fmt::format("the parts of {} shards expected, {} found: that of {} is missing",
                               found.size(), paths.size(),
                               Shard{.index = i + 1, .count = found.size()}.Name()));
    }
    parts.push_back(*std::move(found[i]));
  }
  return parts;
}

/// The lines of the input, where it is known.
class Origin {
 public:
  /// Error: the file is not the one that the part is of.
  [[nodiscard]] static Result<Origin> Open(const std::string& path, const PartFile& part) {
    Origin origin;
    if (path.empty()) return origin;
    origin.lines_ = BITTERN_TRY(LineSource::Open(path));
    PartHead here = part.head();
    here.lines = origin.lines_->total();
    here.input = origin.lines_->hash();
    const std::string difference = DifferenceOf(here, part.head());
    if (difference.empty()) return origin;
    return Wrong(fmt::format("{}: line 1: it is no part of {}: {}", part.path(), path, difference));
  }
  /// Error: the next line has another id than its result.
  [[nodiscard]] Result<void> Compare(const PartFile& part, const std::string& id) {
    std::string line;
    if (!lines_ || !lines_->Next(&line)) return {};
    const std::string expected = IdOfBatchLine(line, lines_->number());
    if (id == expected) return {};
    return part.Expected(fmt::format("the id \"{}\"", BeginOf(expected)),
                         fmt::format("\"{}\"", BeginOf(id)));
  }

 private:
  std::optional<LineSource> lines_;
};

}  // namespace

Result<std::size_t> MergeParts(std::span<const std::string> paths, const std::string& input,
                               const std::string& output) {
  auto parts = BITTERN_TRY(OpenParts(paths));
  auto origin = BITTERN_TRY(Origin::Open(input, parts.front()));
  auto file = BITTERN_TRY(OutputFile::Create(output));
  const std::size_t lines = parts.front().head().lines;
  for (std::size_t number = 1; number <= lines; ++number) {
    PartFile& part = parts[(number - 1) % parts.size()];
    const auto line = BITTERN_TRY(part.Take(number));
    BITTERN_TRY(origin.Compare(part, line.name.id));
    BITTERN_TRY(file.Write(line.result));
  }
  for (PartFile& part : parts) BITTERN_TRY(part.End());
  BITTERN_TRY(file.Close());
  return lines;
}

}  // namespace bittern::request
