// SPDX-License-Identifier: Apache-2.0
// Homes become ~, names of the user and of the host become words that stand for them.
#include "report/bug/private_text.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

#include "base/os/process.hpp"

namespace bittern::report {
namespace {

/// Bytes above 127 are parts of letters in UTF-8, so they count as such.
bool IsWordByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0;
}

/// Replaces every occurrence; with `word` only where it is no part of a longer word, since a user
/// may be called "in".
void ReplaceAll(std::string* text, const std::string& what, const std::string& with, bool word) {
  for (std::size_t at = text->find(what); at != std::string::npos; at = text->find(what, at)) {
    const std::size_t end = at + what.size();
    const bool inside = word && ((at > 0 && IsWordByte((*text)[at - 1])) ||
                                 (end < text->size() && IsWordByte((*text)[end])));
    if (inside) {
      at = end;
    } else {
      text->replace(at, what.size(), with);
      at += with.size();
    }
  }
}

/// "/home/NAME" and the like, up to the next separator, become "~".
void ReplaceHomes(std::string* text, const std::string& begin) {
  for (std::size_t at = text->find(begin); at != std::string::npos; at = text->find(begin, at)) {
    const std::size_t end = text->find_first_of("/\\\"' \t\r\n:;,)", at + begin.size());
    text->replace(at, std::min(end, text->size()) - at, "~");
    ++at;
  }
}

/// The name that the system's list of users has for the owner of the home folder.
std::string UserOfHome(const std::string& home) {
  std::ifstream in("/etc/passwd");
  for (std::string line; std::getline(in, line);) {
    const std::size_t name = line.find(':'), shell = line.rfind(':');
    if (name == std::string::npos || shell <= name) continue;
    const std::size_t folder = line.rfind(':', shell - 1);
    if (line.substr(folder + 1, shell - folder - 1) == home) return line.substr(0, name);
  }
  return "";
}

}  // namespace

/// The home folder, the names of users and of the host. Words of one letter would hit everything,
/// and are left out.
PrivateWords PrivateWords::OfThisMachine(
    const std::function<const char*(const char* name)>& variable) {
  const auto value_of = [&](const char* name) {
    const char* value = variable(name);
    return std::string(value == nullptr ? "" : value);
  };
  PrivateWords all;
  const std::string home = value_of("HOME");
  const auto add = [](auto* list, std::string text, const char* with) {
    if (text.size() >= 2) list->emplace_back(std::move(text), with);
  };
  if (home != "/") add(&all.texts, home, "~");
  for (const std::string& user : {value_of("USER"), value_of("LOGNAME"), value_of("SUDO_USER"),
                                  value_of("USERNAME"), home.empty() ? "" : UserOfHome(home)}) {
    add(&all.words, user, "(user)");
  }
  for (const std::string& host : {value_of("HOSTNAME"), os::HostName()}) {
    add(&all.words, host, "(host)");
    add(&all.words, host.substr(0, host.find('.')), "(host)");
  }
  return all;
}

void PrivateWords::AddPath(const std::string& path) {
  if (path.find_first_of("/\\") == std::string::npos) return;
  std::string last = std::filesystem::path(path).filename().string();
  if (last.empty()) last = std::filesystem::path(path).parent_path().filename().string();
  texts.insert(texts.begin(), {path, last});
}

/// Whole paths go first: once a user's name in them was replaced, they would not be found.
std::string WithoutPrivate(std::string text, const PrivateWords& words) {
  for (const auto& [what, with] : words.texts) ReplaceAll(&text, what, with, false);
  for (const char* begin : {"/home/", "/Users/", "\\Users\\", "/var/home/"}) {
    ReplaceHomes(&text, begin);
  }
  for (const auto& [what, with] : words.words) ReplaceAll(&text, what, with, true);
  return text;
}

}  // namespace bittern::report
