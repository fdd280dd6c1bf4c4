// SPDX-License-Identifier: Apache-2.0
// Settings are looked up in one order: the caller's, HF_* variables, then the defaults of
// huggingface_hub.
#include "hub/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <initializer_list>
#include <string_view>

#include "base/text/display.hpp"
#include "hub/certificates.hpp"
#include "hub/reference.hpp"

namespace bittern::hub {
namespace {

namespace fs = std::filesystem;

/// The variables as they are asked for here.
class Environment {
 public:
  explicit Environment(const Variables& variables) : variables_(variables) {}
  /// The first of these variables that is set and not empty.
  [[nodiscard]] std::string Variable(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      const char* value = variables_ ? variables_(name) : nullptr;
      if (value != nullptr && *value != '\0') return value;
    }
    return {};
  }
  /// "~/x", "$NAME/x" and "${NAME}/x" as huggingface_hub reads them: a home first, then variables;
  /// one that is not set stays as it stands.
  [[nodiscard]] fs::path Expanded(const std::string& path) const {
    if (path != "~" && !path.starts_with("~/")) return WithVariables(path);
    return WithVariables(Variable({"HOME"}) + path.substr(1));
  }
  /// HF_HOME or what stands for it; empty without a home.
  [[nodiscard]] fs::path HomeOfHub() const {
    if (const std::string home = Variable({"HF_HOME"}); !home.empty()) return Expanded(home);
    if (const std::string cache = Variable({"XDG_CACHE_HOME"}); !cache.empty()) {
      return Expanded(cache) / "huggingface";
    }
    const std::string home = Variable({"HOME"});
    return home.empty() ? fs::path() : fs::path(home) / ".cache" / "huggingface";
  }

 private:
  [[nodiscard]] std::string WithVariables(std::string_view text) const {
    constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    std::string out;
    while (!text.empty()) {
      const std::size_t dollar = std::min(text.find('$'), text.size());
      out += text.substr(0, dollar);
      text.remove_prefix(dollar);
      if (text.empty()) break;
      const bool braced = text.substr(1).starts_with('{');
      const std::size_t first = braced ? 2 : 1;
      std::size_t end = braced ? text.find('}', first) : text.find_first_not_of(kLetters, first);
      if (end == std::string_view::npos) end = braced ? first : text.size();
      const std::string name(text.substr(first, end - first));
      const std::size_t used = end + (braced && end > first ? 1 : 0);
      const char* value = name.empty() || !variables_ ? nullptr : variables_(name.c_str());
      out += value != nullptr ? std::string_view(value) : text.substr(0, used);
      text.remove_prefix(used);
    }
    return out;
  }
  const Variables& variables_;
};

bool IsTrue(const std::string& text) {
  const std::string lower = Lower(text);
  return lower == "1" || lower == "true" || lower == "yes" || lower == "on";
}

std::string Stripped(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string TokenOfUser(const Environment& environment, const fs::path& home) {
  if (IsTrue(environment.Variable({"HF_HUB_DISABLE_IMPLICIT_TOKEN"}))) return {};
  if (std::string token = environment.Variable({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"});
      !token.empty()) {
    return Stripped(token);
  }
  const std::string named = environment.Variable({"HF_TOKEN_PATH"});
  if (named.empty() && home.empty()) return {};
  std::ifstream file(named.empty() ? home / "token" : environment.Expanded(named));
  std::string token(4096, '\0');
  file.read(token.data(), static_cast<std::streamsize>(token.size()));
  token.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return Stripped(token);
}

/// The rules of an endpoint; `endpoint` may be empty.
Result<std::string> CheckedEndpoint(std::string endpoint) {
  if (endpoint.empty()) endpoint = "https://huggingface.co";
  while (endpoint.ends_with('/')) endpoint.pop_back();
  const bool address = endpoint.starts_with("https://") || endpoint.starts_with("http://");
  const bool plain =
      std::ranges::all_of(endpoint, [](unsigned char c) { return c > 0x20 && c < 0x7F; });
  if (address && plain && endpoint.find_first_of("?#@") == std::string::npos) return endpoint;
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("an address of a hub as https://HOST expected (endpoint=URL or "
                          "$HF_ENDPOINT), {} found",
                          Quoted(endpoint)));
}

}  // namespace

Result<Settings> SettingsFrom(const Given& given, const Variables& variables) {
  const Environment environment(variables);
  const fs::path home = environment.HomeOfHub();
  Settings settings;
  settings.endpoint = BITTERN_TRY(CheckedEndpoint(
      given.endpoint.empty() ? environment.Variable({"HF_ENDPOINT"}) : given.endpoint));
  if (!given.cache.empty()) {
    settings.cache = given.cache;
  } else if (const auto named = environment.Variable({"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"});
             !named.empty()) {
    settings.cache = environment.Expanded(named);
  } else if (!home.empty()) {
    settings.cache = home / "hub";
  } else {
    return Fail(ErrorCode::kInvalidArgument,
                "where models are kept is not known: set HF_HUB_CACHE or HOME");
  }
  settings.token = given.token.empty() ? TokenOfUser(environment, home) : given.token;
  const bool sendable =
      std::ranges::all_of(settings.token, [](unsigned char c) { return c > 0x20 && c < 0x7F; });
  if (!sendable) {
    return Fail(ErrorCode::kInvalidArgument,
                "the token (HF_TOKEN or the token file) has characters that no token has");
  }
  settings.offline =
      given.offline || IsTrue(environment.Variable({"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}));
  settings.connections = given.connections.value_or(settings.connections);
  settings.retries = given.retries.value_or(settings.retries);
  settings.ca_file =
      environment.Variable({"CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"});
#if defined(BITTERN_HUB_FINDS_CERTIFICATES)
  if (settings.ca_file.empty()) {
    settings.ca_file = FindCertificates(variables, [](const std::string& path) {
      std::error_code ignored;
      return fs::is_regular_file(path, ignored);
    });
  }
#endif
  int seconds = 0;
  const std::string stall = environment.Variable({"HF_HUB_DOWNLOAD_TIMEOUT"});
  std::from_chars(stall.data(), stall.data() + stall.size(), seconds);
  if (seconds > 0 && seconds <= 3600) settings.stall = std::chrono::seconds(seconds);
  return settings;
}

}  // namespace bittern::hub
