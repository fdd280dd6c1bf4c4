// SPDX-License-Identifier: Apache-2.0
// The listener of the process. Reading it takes no lock, so a child process (fork) cannot find one
// held, and a listener may itself call the library.
#include "capi/log.hpp"

#include <fmt/format.h>

#include <atomic>
#include <memory>

#include "capi/call.hpp"

namespace bittern::capi {
namespace {

/// A listener is never freed, because another thread may be calling it. It names the one before it,
/// so that programs which look for lost memory find them all.
struct Listener {
  bittern_log_fn function;
  void* user;
  const Listener* before;
};

std::atomic<const Listener*> current_listener = nullptr;

}  // namespace

void Log(std::int32_t level, const std::string& text) noexcept {
  const Listener* listener = current_listener.load(std::memory_order_acquire);
  if (listener == nullptr || listener->function == nullptr) return;
  listener->function(listener->user, level, text.c_str(), text.size());
}

void LogDecisions(const Decisions& decisions) {
  for (const Decision& decision : decisions) {
    Log(decision.notable ? BITTERN_LOG_WARNING : BITTERN_LOG_INFO,
        fmt::format("{} = {} ({}{}{})", decision.subject, decision.choice, decision.reason,
                    decision.hint.empty() ? "" : "; ", decision.hint));
  }
}

}  // namespace bittern::capi

using namespace bittern;        // NOLINT: the C function below stands outside of any namespace
using namespace bittern::capi;  // NOLINT

bittern_status bittern_set_log(bittern_log_fn function, void* user) {
  return Call([&]() -> Result<void> {
    auto made = std::make_unique<Listener>(Listener{function, user, current_listener.load()});
    while (!current_listener.compare_exchange_weak(made->before, made.get(),
                                                   std::memory_order_release)) {
    }
    (void)made.release();
    return {};
  });
}
