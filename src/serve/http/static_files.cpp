// SPDX-License-Identifier: Apache-2.0
// A path is resolved by the system and must then lie below the folder's own resolved path.
#include "serve/http/static_files.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "base/files/resolved_below.hpp"
#include "base/text/percent.hpp"
#include "serve/http/http_text.hpp"

namespace bittern::serve {
namespace {

namespace fs = std::filesystem;

/// The longest file that is served: a reply is held in memory.
constexpr std::uintmax_t kMostBytes = 64 << 20;

/// A file's ending and the Content-Type that it means.
struct Kind {
  std::string_view ending, type;
};
constexpr Kind kKinds[] = {
    {".html", "text/html; charset=utf-8"},
    {".htm", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".json", "application/json; charset=utf-8"},
    {".txt", "text/plain; charset=utf-8"},
    {".md", "text/plain; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".jpg", "image/jpeg"},
    {".jpeg", "image/jpeg"},
    {".gif", "image/gif"},
    {".webp", "image/webp"},
    {".ico", "image/x-icon"},
    {".woff2", "font/woff2"},
    {".wasm", "application/wasm"},
    {".webmanifest", "application/manifest+json"},
    {".xml", "application/xml; charset=utf-8"},
    {".pdf", "application/pdf"},
};

/// An unknown ending is "application/octet-stream", which browsers save and do not show.
std::string_view TypeOf(const fs::path& path) {
  const std::string ending = LowerCase(path.extension().string());
  for (const Kind& kind : kKinds) {
    if (kind.ending == ending) return kind.type;
  }
  return "application/octet-stream";
}

/// True if every part of the path is a plain name: not hidden, not "..".
bool IsPlain(std::string_view path) {
  if (!path.starts_with('/') || path.find('\0') != std::string_view::npos ||
      path.find('\\') != std::string_view::npos) {
    return false;
  }
  return path.find("/.") == std::string_view::npos;
}

/// The file's path after all symbolic links; nothing if that is not below `root`.
std::optional<fs::path> Find(const std::string& root, const std::string& path) {
  std::error_code error;
  fs::path place = fs::canonical(fs::path(root + path), error);
  if (!error && fs::is_directory(place, error) && !error) place /= "index.html";
  auto found = ResolvedBelow(root, place);
  if (!found || !fs::is_regular_file(*found, error)) return std::nullopt;
  return found;
}

HttpReply NotThere(int status, std::string_view path) {
  const std::string_view why = status == 404 ? "there is nothing at" : "the file is too long:";
  return {.status = status, .body = ErrorBody(status, fmt::format("{} {}", why, path))};
}

}  // namespace

Result<StaticFiles> StaticFiles::Open(const std::string& folder) {
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (!error && fs::is_directory(root, error) && !error) return StaticFiles(root.string());
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: a folder expected ({})", folder,
                          error ? error.message() : std::string("it is a file")));
}

/// The ETag is made of size and time. "no-cache" lets a browser keep a file but makes it ask each
/// time; "nosniff" keeps it from guessing another type.
HttpReply StaticFiles::Reply(std::string_view path, std::string_view known) const {
  const std::string decoded = PercentDecoded(path);
  if (!IsPlain(decoded)) return NotThere(404, path);
  const auto place = Find(root_, decoded);
  if (!place) return NotThere(404, path);
  std::error_code error;
  const std::uintmax_t size = fs::file_size(*place, error);
  const auto time = fs::last_write_time(*place, error);
  std::ifstream file(*place, std::ios::binary);
  if (error || !file) return NotThere(404, path);
  if (size > kMostBytes) return NotThere(413, path);
  const std::string tag = fmt::format("\"{:x}-{:x}\"", size, time.time_since_epoch().count());
  HttpReply reply{
      .content_type = std::string(TypeOf(*place)),
      .headers = {
          {"ETag", tag}, {"X-Content-Type-Options", "nosniff"}, {"Cache-Control", "no-cache"}}};
  if (known == tag) {
    reply.status = 304;
    return reply;
  }
  reply.body.resize(size);
  file.read(reply.body.data(), static_cast<std::streamsize>(size));
  reply.body.resize(static_cast<std::size_t>(file.gcount()));
  return reply;
}

}  // namespace bittern::serve
