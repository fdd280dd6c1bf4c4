// SPDX-License-Identifier: Apache-2.0
#include "base/os/environment.hpp"

#include <shellapi.h>  // after windows.h

#include <map>
#include <mutex>
#include <string_view>

#include "base/os/windows/windows.hpp"

namespace bittern::os {
namespace {

std::string ValueOf(const std::wstring& name) {
  std::wstring value(GetEnvironmentVariableW(name.c_str(), nullptr, 0), L'\0');
  value.resize(
      GetEnvironmentVariableW(name.c_str(), value.data(), static_cast<DWORD>(value.size())));
  return Utf8(value);
}

bool IsSet(const std::wstring& name) {
  return GetEnvironmentVariableW(name.c_str(), nullptr, 0) != 0;
}

}  // namespace

/// Texts are kept by name and value, so that a pointer stays valid when the value changes.
const char* Variable(const char* name) {
  static std::mutex mutex;
  static auto* const texts = new std::map<std::pair<std::string, std::string>, std::string>;
  std::wstring wide = Wide(name);
  if (std::string_view(name) == "HOME" && !IsSet(wide)) wide = L"USERPROFILE";
  if (!IsSet(wide)) return nullptr;
  std::string value = ValueOf(wide);
  const std::lock_guard lock(mutex);
  return texts->try_emplace({name, value}, value).first->second.c_str();
}

/// Entries that begin with '=' are the system's own: folders of drives.
std::vector<std::string> AllVariables() {
  std::vector<std::string> all;
  wchar_t* const block = GetEnvironmentStringsW();
  if (block == nullptr) return all;
  for (std::wstring_view entry(block); !entry.empty();
       entry = std::wstring_view(entry.data() + entry.size() + 1)) {
    if (entry.front() != L'=') all.push_back(Utf8(entry));
  }
  FreeEnvironmentStringsW(block);
  return all;
}

/// main's words have lost the letters that are not in the system's code page.
std::vector<std::string> CommandLine(int /*count*/, char** /*words*/) {
  std::vector<std::string> all;
  int count = 0;
  wchar_t** const words = CommandLineToArgvW(GetCommandLineW(), &count);
  for (int i = 1; i < count; ++i) all.push_back(Utf8(words[i]));
  LocalFree(words);
  return all;
}

namespace {

/// The folder in `variable`, else the folder for the data of the user's programs.
std::filesystem::path FolderOf(const char* variable) {
  for (const char* name : {variable, "LOCALAPPDATA"}) {
    const char* value = Variable(name);
    if (value != nullptr && std::filesystem::path(value).is_absolute()) return value;
  }
  return {};
}

}  // namespace

std::filesystem::path CacheFolder() { return FolderOf("XDG_CACHE_HOME"); }
std::filesystem::path StateFolder() { return FolderOf("XDG_STATE_HOME"); }

}  // namespace bittern::os
