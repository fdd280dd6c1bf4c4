// SPDX-License-Identifier: Apache-2.0
// Which hub, which cache, which token: what huggingface_hub takes from the environment, and the
// flags that go before it. Main thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace bittern::cli::hub {

struct Settings {
  std::string endpoint;         ///< without a slash at its end
  std::filesystem::path cache;  ///< "~/.cache/huggingface/hub"
  std::string token;            ///< empty: none
  bool offline = false;
  int connections = 4;  ///< 1 to 16, for one file
  int retries = 5;      ///< in a row without a byte, each after twice the time
  std::chrono::seconds stall{30};
  std::string ca_file;  ///< certificates (PEM); empty: the system's
};

/// What flags of this process say; each goes before its variable.
struct Given {
  std::string endpoint, token, cache;
  bool offline = false;
  std::optional<int> connections, retries;
};
[[nodiscard]] Given& GivenByFlags() noexcept;

/// Of GivenByFlags, else HF_ENDPOINT; HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, HOME; HF_TOKEN or the
/// file of HF_TOKEN_PATH, "token" in HF_HOME; HF_HUB_OFFLINE; HF_HUB_DOWNLOAD_TIMEOUT (seconds);
/// CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE or SSL_CERT_FILE.
/// Error kInvalidArgument: an endpoint that is no address, a token that cannot be sent, no HOME.
[[nodiscard]] Result<Settings> SettingsOfUser();

}  // namespace bittern::cli::hub
