// SPDX-License-Identifier: Apache-2.0
#include "proof/certificate/certify_files.hpp"

#include <algorithm>
#include <utility>

#include "base/files/text_file.hpp"
#include "base/text/typed_text.hpp"

namespace bittern::proof {

Result<std::vector<std::string>> ReadPromptSet(const std::string& path) {
  std::vector<std::string> prompts;
  const std::string text = BITTERN_TRY(ReadFileText(path));
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (!line.empty() && line != "\r") prompts.push_back(Unescape(line));
    begin = end + 1;
  }
  if (!prompts.empty()) return prompts;
  return Fail(ErrorCode::kInvalidArgument, path + ": one prompt a line expected, none found");
}

Result<std::vector<Certificate>> ReadExpectedCertificates(const std::string& line_or_path) {
  if (line_or_path.starts_with("bittern-certificate")) {
    auto line = BITTERN_TRY(ParseCertificateLine(line_or_path));
    return std::vector{std::move(line)};
  }
  const std::string text = BITTERN_TRY(ReadFileText(line_or_path));
  return ParseCertificates(text).map_error(
      [&](Error error) { return Within(line_or_path, std::move(error)); });
}

std::optional<CacheUse> CacheUseByName(std::string_view name) noexcept {
  if (name == "grow") return CacheUse::kGrow;
  if (name == "recompute") return CacheUse::kRecompute;
  if (name == "rewind") return CacheUse::kRewind;
  return std::nullopt;
}

}  // namespace bittern::proof
