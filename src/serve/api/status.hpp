// SPDX-License-Identifier: Apache-2.0
// What the server tells of itself: models, properties, slots, metrics. Quick: by the thread of the
// sockets.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "serve/core/call.hpp"
#include "serve/http/http_server.hpp"

namespace bittern::serve {

[[nodiscard]] HttpReply ModelsReply(const Service& service);
/// One of them, by name. Status 404: no such model.
[[nodiscard]] HttpReply ModelReply(const Service& service, const std::string& name);
[[nodiscard]] HttpReply PropsReply(const Service& service);
/// llama-server's slots: as many as sequences may run. `fail_when_busy`: 503 if none is free.
[[nodiscard]] HttpReply SlotsReply(Service* service, bool fail_when_busy);
/// Prometheus' text, under llama-server's names and a few of our own.
[[nodiscard]] HttpReply MetricsReply(Service* service, const HttpStats& http);

/// llama-server's "generation_settings".
[[nodiscard]] nlohmann::ordered_json SettingsJson(const runtime::GenerateOptions& options);

}  // namespace bittern::serve
