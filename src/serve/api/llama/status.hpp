// SPDX-License-Identifier: Apache-2.0
// The server about itself: health, properties, slots, metrics. By the thread of the sockets.
#pragma once

#include "serve/core/endpoint.hpp"

namespace bittern::serve {

[[nodiscard]] HttpReply Health(const QuickContext& context);
[[nodiscard]] HttpReply Props(const QuickContext& context);
[[nodiscard]] HttpReply TokenizerInfo(const QuickContext& context);
/// llama-server's slots: as many as sequences may run. ?fail_on_no_slot=1: 503 if none is free.
[[nodiscard]] HttpReply Slots(const QuickContext& context);
/// Prometheus' text, under llama-server's names and a few of our own.
[[nodiscard]] HttpReply Metrics(const QuickContext& context);

// For a server of several models.
[[nodiscard]] HttpReply HealthOfAll(const Models& models, const HttpRequest& request,
                                    const HttpStats& http);
[[nodiscard]] HttpReply PropsOfAll(const Models& models, const HttpRequest& request,
                                   const HttpStats& http);
[[nodiscard]] HttpReply MetricsOfAll(const Models& models, const HttpRequest& request,
                                     const HttpStats& http);

}  // namespace bittern::serve
