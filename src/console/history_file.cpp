// SPDX-License-Identifier: Apache-2.0
// A line is written at once behind what is there, so lines of two programs never mix. Only cutting
// a long file may lose a line that another program writes at that moment.
#include "console/history_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/files/atomic_file.hpp"
#include "base/files/text_file.hpp"
#include "base/json/json.hpp"
#include "base/os/file.hpp"

namespace bittern::console {
namespace {

constexpr std::uintmax_t kMostFileBytes = std::uintmax_t{32} << 20;

tl::unexpected<Error> Wrong(ErrorCode code, const std::filesystem::path& path,
                            std::string_view what) {
  return Fail(code, fmt::format("{}: {}", path.string(), what));
}

Result<void> MakeFolder(const std::filesystem::path& folder) {
  std::error_code error;
  if (folder.empty() || std::filesystem::exists(folder, error)) return {};
  std::filesystem::create_directories(folder, error);
  if (error) return Wrong(ErrorCode::kIo, folder, error.message());
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  return {};
}

/// The lines of a file of this kind.
Result<std::vector<std::string>> LinesOf(std::string_view text, const std::filesystem::path& path) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto value = Json::Parse(text.substr(0, end), {.max_depth = 1});
    if (!value || !value->is_string()) {
      return Wrong(ErrorCode::kCorruptFile, path, "it has other lines than those of a history");
    }
    lines.push_back(value->text());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string LineOf(std::string_view line) { return Json(line).Dump() + "\n"; }

/// Replaces the file by one with these lines alone.
Result<void> Rewrite(const std::filesystem::path& path, const std::vector<std::string>& lines) {
  auto file = BITTERN_TRY(AtomicFile::Create(path));
  for (const std::string& line : lines) BITTERN_TRY(file.Write(LineOf(line)));
  return file.Commit();
}

}  // namespace

Result<HistoryFile> HistoryFile::Open(const std::filesystem::path& path) {
  HistoryFile history(path);
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return history;
  if (status.type() != std::filesystem::file_type::regular) {
    return Wrong(ErrorCode::kIo, path, "no regular file");
  }
  if (std::filesystem::file_size(path, error) > kMostFileBytes) {
    return Wrong(ErrorCode::kCorruptFile, path, "too large for a history");
  }
  const std::string text = BITTERN_TRY(ReadFileText(path.string()));
  history.lines_ = BITTERN_TRY(LinesOf(text, path));
  std::vector<std::string>& lines = history.lines_;
  if (lines.size() > kMostLines) {
    const bool long_file = lines.size() > 2 * kMostLines;
    lines.erase(lines.begin(), lines.end() - kMostLines);
    if (long_file) BITTERN_TRY(Rewrite(path, lines));
  }
  if (!lines.empty()) history.last_ = lines.back();
  return history;
}

Result<void> HistoryFile::Add(std::string_view line) {
  if (line.empty() || line.front() == ' ' || line.size() > kMostBytes || line == last_) return {};
  last_ = line;
  BITTERN_TRY(MakeFolder(path_.parent_path()));
  const std::string text = LineOf(line);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(os::OpenStream(path_, "ab"),
                                                             &std::fclose);
  if (file == nullptr || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0) {
    return Wrong(ErrorCode::kIo, path_, std::strerror(errno));
  }
  return {};
}

}  // namespace bittern::console
