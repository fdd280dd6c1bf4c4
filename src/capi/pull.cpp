// SPDX-License-Identifier: Apache-2.0
// Models by name of the C interface.
#include "hub/pull.hpp"

#include <chrono>

#include "base/json/json.hpp"
#include "capi/log.hpp"
#include "capi/objects.hpp"
#include "capi/options.hpp"
#include "hub/lists/pulled_json.hpp"

namespace bittern::capi {
namespace {

/// Texts "NAME=VALUE" with a null behind the last, as variables.
hub::Variables VariablesOf(const char* const* environment) {
  if (environment == nullptr) return {};
  return [environment](const char* name) -> const char* {
    const std::string begin = std::string(name) + "=";
    for (const char* const* text = environment; *text != nullptr; ++text) {
      if (std::string_view(*text).starts_with(begin)) return *text + begin.size();
    }
    return nullptr;
  };
}

/// Tells the caller's function how far a pull is, some twenty times a second, also while nothing
/// comes: so it can cancel at any time.
class PullTeller {
 public:
  PullTeller(bittern_progress_fn function, void* user) : function_(function), user_(user) {}

  [[nodiscard]] hub::PullListener listener() {
    hub::PullListener listener;
    listener.is_cancelled = [this] { return IsCancelled(); };
    listener.on_notice = [this](const std::string& text) {
      notices_.push_back(text);
      Log(BITTERN_LOG_WARNING, text);
    };
    listener.on_progress = [this](const hub::PullProgress& progress) {
      if (progress.bytes > 0) {
        share_ = static_cast<double>(progress.all_done) / static_cast<double>(progress.bytes);
      }
    };
    return listener;
  }
  [[nodiscard]] const std::vector<std::string>& notices() const noexcept { return notices_; }

 private:
  /// Asks the caller's function every 50 ms at most; between, the last answer holds.
  bool IsCancelled() {
    constexpr std::chrono::milliseconds kBetween{50};
    const auto now = std::chrono::steady_clock::now();
    if (function_ == nullptr || stopped_ || now - told_ < kBetween) return stopped_;
    told_ = now;
    stopped_ = function_(user_, share_) != 0;
    return stopped_;
  }

  bittern_progress_fn function_;
  void* user_;
  double share_ = 0;
  bool stopped_ = false;
  std::chrono::steady_clock::time_point told_ = {};
  std::vector<std::string> notices_;
};

}  // namespace
}  // namespace bittern::capi

using namespace bittern;        // NOLINT: the C functions below stand outside of any namespace
using namespace bittern::capi;  // NOLINT

/// Without an environment no home folder is known, so `cache` must be set.
bittern_status bittern_pull(const char* name, const char* const* environment,
                            const bittern_options* options, bittern_progress_fn progress,
                            void* user, bittern_result** result) {
  return Call([&]() -> Result<void> {
    BITTERN_TRY(NeedPointer(name, "name"));
    BITTERN_TRY(NeedPointer(result, "result"));
    const Settings settings = BITTERN_TRY(SettingsOf(options));
    const PullOptions wanted = PullOptionsOf(settings);
    if (environment == nullptr && wanted.given.cache.empty()) {
      return Fail(ErrorCode::kInvalidArgument,
                  "cache: the folder of models expected where no environment is given");
    }
    const hub::Reference reference = BITTERN_TRY(hub::ParseReference(name));
    const hub::Settings chosen =
        BITTERN_TRY(hub::SettingsFrom(wanted.given, VariablesOf(environment)));
    PullTeller teller(progress, user);
    const hub::PullListener listener = teller.listener();
    const hub::Pulled pulled =
        BITTERN_TRY(wanted.update ? hub::Pull(reference, chosen, listener)
                                  : hub::FindOrPull(reference, chosen, listener));
    if (progress != nullptr && progress(user, 1) != 0) {
      return Fail(ErrorCode::kCancelled, "interrupted");
    }
    auto given = std::make_shared<ResultObject>();
    given->text = pulled.path.string();
    Json json = hub::PulledJson(pulled);
    json["notices"] = teller.notices();
    given->json = json.Dump();
    Give(std::move(given), result);
    return {};
  });
}
