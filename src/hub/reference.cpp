// SPDX-License-Identifier: Apache-2.0
// The text is cut at the first ':' and '@'; each part is then checked for characters that could
// leave the cache's folder.
#include "hub/reference.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/display.hpp"
#include "hub/known_models.hpp"

namespace bittern::hub {
namespace {

bool IsNameChar(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

/// A user's or a repository's name by the hub's rules: "--" parts names of folders in the cache.
bool IsName(std::string_view text) noexcept {
  constexpr std::size_t kMost = 96;
  return !text.empty() && text.size() <= kMost && std::ranges::all_of(text, IsNameChar) &&
         text.find("--") == std::string_view::npos && text.find("..") == std::string_view::npos &&
         text.front() != '-' && text.front() != '.' && text.back() != '-' && text.back() != '.';
}

tl::unexpected<Error> BadName(std::string_view text) {
  if (text.starts_with(kScheme)) text.remove_prefix(kScheme.size());
  if (IsAddress(text)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("an address of a model at huggingface.co (https://huggingface.co/USER/"
                            "REPO) expected, {} found",
                            Quoted(text)),
                "fetch a file of another place yourself (curl -LO ADDRESS), then name that file");
  }
  std::string known;
  for (const KnownModel& model : KnownModels()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", model.name);
  }
  const std::string closest = ClosestKnownName(text);
  return Fail(
      ErrorCode::kInvalidArgument,
      fmt::format("a model's name as USER/REPO or USER/REPO:FILE expected, or one of {}; {} "
                  "found",
                  known, Quoted(text)),
      closest.empty() ? "" : fmt::format("did you mean {}?", closest));
}

/// Takes "PREFIX" off the front; true if it was there.
bool Skip(std::string_view prefix, std::string_view* text) {
  if (!Lower(text->substr(0, prefix.size())).starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

/// "blob/REV/FILE" or "tree/REV" of an address.
Result<void> ReadAddressRest(std::string_view rest, std::string_view whole, Reference* reference) {
  if (rest.empty()) return {};
  const std::size_t first = rest.find('/');
  const std::string_view kind = rest.substr(0, first);
  if (first == std::string_view::npos || (kind != "blob" && kind != "resolve" && kind != "tree")) {
    return BadName(whole);
  }
  rest.remove_prefix(first + 1);
  const std::size_t second = std::min(rest.find('/'), rest.size());
  reference->revision = rest.substr(0, second);
  if (second < rest.size()) reference->file = rest.substr(second + 1);
  return {};
}

Result<Reference> Checked(Reference reference, std::string_view text) {
  const std::size_t slash = reference.repo.find('/');
  if (slash == std::string::npos || !IsName(reference.repo.substr(0, slash)) ||
      !IsName(reference.repo.substr(slash + 1))) {
    return BadName(text);
  }
  const bool plain =
      std::ranges::all_of(reference.revision, [](char c) { return IsNameChar(c) || c == '/'; });
  if (!plain || !IsSafePath(reference.revision)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("a branch, tag or commit expected after \"@\", {} found",
                            Quoted(reference.revision)));
  }
  if (!reference.file.empty() && !IsSafePath(reference.file)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the path of a file of {} expected, {} found", reference.repo,
                            Quoted(reference.file)));
  }
  return reference;
}

}  // namespace

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

bool IsSafePath(std::string_view path) noexcept {
  constexpr std::size_t kMost = 512;
  if (path.empty() || path.size() > kMost) return false;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == ".." || part.size() > 255) return false;
    begin = end + 1;
  }
  return std::ranges::all_of(path,
                             [](unsigned char c) { return c >= 0x20 && c < 0x7F && c != '\\'; });
}

bool IsAddress(std::string_view text) {
  const std::string lower = Lower(text);
  return lower.starts_with("https://") || lower.starts_with("http://");
}

bool IsCommit(std::string_view text) noexcept {
  return text.size() == 40 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string RepoText(const Reference& reference) {
  return reference.revision == "main" ? reference.repo : reference.repo + "@" + reference.revision;
}

Result<Reference> ParseReference(std::string_view text) {
  std::string_view rest = text;
  Reference reference;
  Skip(kScheme, &rest);
  const bool address = Skip("https://", &rest) || Skip("http://", &rest);
  const bool host = Skip("huggingface.co/", &rest) || Skip("hf.co/", &rest);
  if (address && !host) return BadName(text);
  rest = rest.substr(0, rest.find_first_of("?#"));
  if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
    reference.file = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (reference.file.empty()) return BadName(text);
  }
  if (const std::size_t at = rest.find('@'); at != std::string_view::npos) {
    reference.revision = rest.substr(at + 1);
    rest = rest.substr(0, at);
  }
  if (const KnownModel* known = FindKnownModel(rest)) {
    reference.repo = known->repo;
    if (reference.file.empty()) reference.file = known->file;
    return Checked(std::move(reference), text);
  }
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return BadName(text);
  const std::size_t end = std::min(rest.find('/', slash + 1), rest.size());
  reference.repo = rest.substr(0, end);
  if (end < rest.size()) {
    BITTERN_TRY(ReadAddressRest(rest.substr(end + 1), text, &reference));
  }
  return Checked(std::move(reference), text);
}

/// A file in a folder, "models/tern.gguf", would pass for USER/REPO but for its end.
std::optional<Reference> ReferenceNotPath(std::string_view text) {
  if (text.starts_with(kScheme) || text.ends_with('/')) return std::nullopt;
  const std::string lower = Lower(text);
  const bool ends_as_file = lower.ends_with(".gguf") || lower.ends_with(".safetensors") ||
                            lower.ends_with(".bin") || lower.ends_with(".json");
  if (ends_as_file && text.find(':') == std::string_view::npos && !lower.starts_with("hf.co/") &&
      !lower.starts_with("huggingface.co/")) {
    return std::nullopt;
  }
  auto reference = ParseReference(text);
  if (!reference) return std::nullopt;
  return *std::move(reference);
}

}  // namespace bittern::hub
