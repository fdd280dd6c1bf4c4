// SPDX-License-Identifier: Apache-2.0
// Which hub, which cache, which token: what the caller gives, else the variables that
// huggingface_hub reads. The environment is read by the caller only, who hands it over. Pure but
// for the token's file.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace bittern::hub {

struct Settings {
  std::string endpoint;         ///< without a slash at its end
  std::filesystem::path cache;  ///< "~/.cache/huggingface/hub"
  std::string token;            ///< empty: none
  bool offline = false;
  int connections = 4;  ///< 1 to 16, for one file
  int retries = 5;      ///< in a row without a byte, each after twice the time
  std::chrono::seconds stall{30};
  bool check = false;   ///< hash what the cache has, and fetch anew what is not as the hub says
  std::string ca_file;  ///< certificates (PEM); empty: those that libcurl knows
};

/// Settings that the caller chose; each goes before its variable. Empty: not chosen.
struct Given {
  std::string endpoint, token, cache;
  bool offline = false;
  std::optional<int> connections, retries;
};

/// The value of a variable of the environment; null if it is not set.
using Variables = std::function<const char*(const char* name)>;

/// Takes `given`, else HF_ENDPOINT; HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, HOME; HF_TOKEN or the
/// file of HF_TOKEN_PATH, "token" in HF_HOME (neither with HF_HUB_DISABLE_IMPLICIT_TOKEN);
/// HF_HUB_OFFLINE; HF_HUB_DOWNLOAD_TIMEOUT (seconds); CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE or
/// SSL_CERT_FILE, else, with libcurl linked in, FindCertificates. "~" and "$NAME" in paths of
/// variables are read as huggingface_hub reads them. Error kInvalidArgument: an endpoint that is no
/// address, a token that cannot be sent, no HOME.
[[nodiscard]] Result<Settings> SettingsFrom(const Given& given, const Variables& variables);

}  // namespace bittern::hub
