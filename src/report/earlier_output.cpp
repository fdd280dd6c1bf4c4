// SPDX-License-Identifier: Apache-2.0
#include "report/earlier_output.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace bittern::report {
namespace {

namespace fs = std::filesystem;

/// The first 4096 bytes, where every kind of output names itself.
std::string Head(const fs::path& path) {
  std::ifstream file(std::filesystem::path(path), std::ios::binary);
  std::string head(4096, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return head;
}

bool StartsWithDoctype(std::string_view head) {
  constexpr std::string_view kStart = "<!doctype html";
  return head.size() >= kStart.size() &&
         std::ranges::equal(head.substr(0, kStart.size()), kStart, [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == b;
         });
}

}  // namespace

/// Knows outputs by their beginning. Models, lines and numbers are never taken for ours: they are
/// too dear to be replaced unasked.
bool IsEarlierOutput(Holds holds, const fs::path& path) {
  const std::string head = Head(path);
  const auto has = [&](std::string_view text, std::size_t within) {
    return head.substr(0, within).find(text) != std::string::npos;
  };
  switch (holds) {
    case Holds::kPage:
      return StartsWithDoctype(head) && has("<title>bittern ", 1000);
    case Holds::kReport:
      return has("bittern report v", 100);
    case Holds::kCertificate:
      return head.starts_with("{\n \"line\": \"bittern-certificate ");
    case Holds::kConversation:
      return head.starts_with("{\"bittern_chat\": ");
    case Holds::kManual:
      return head.starts_with(".TH \"bittern");
    case Holds::kTrace:
      return head.starts_with("{\"trace\":\"bittern trace ") ||
             (head.starts_with("{\"isa\":") && has("\"precision\":", 200));  // before 0.1
    case Holds::kModel:
    case Holds::kLines:
    case Holds::kNumbers:
      break;
  }
  return false;
}

bool MayReplace(Holds holds, const fs::path& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (type != fs::file_type::regular)
    return true;  // free, a device or a pipe; else told on opening
  const bool is_empty = fs::file_size(path, error) == 0 && !error;
  return is_empty || IsEarlierOutput(holds, path);
}

/// The file in a folder that would be replaced and is not ours; empty if there is none.
fs::path ForeignFileIn(Holds holds, const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return MayReplace(holds, folder) ? fs::path() : folder;
  if (holds == Holds::kTrace) {
    const fs::path index = folder / "trace.json", values = folder / "values";
    if (!MayReplace(holds, index)) return index;
    return fs::exists(values, error) && !fs::exists(index, error) ? values : fs::path();
  }
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool is_written = name.starts_with("bittern") && name.ends_with(".1");
    if (is_written && !MayReplace(holds, entry.path())) return entry.path();
  }
  return {};
}

/// Files that are there are compared by identity; others by their path.
bool IsSameFile(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error) && !error) return true;
  return fs::absolute(a, error).lexically_normal() == fs::absolute(b, error).lexically_normal();
}

}  // namespace bittern::report
