// SPDX-License-Identifier: Apache-2.0
#include "cli/options/local_model.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <optional>

#include "base/text/display.hpp"
#include "cli/shared/interrupt.hpp"
#include "cli/shared/terminal.hpp"
#include "hub/choice.hpp"
#include "hub/transfer_progress.hpp"

namespace bittern::cli {
namespace {

/// Catches Ctrl-C as long as it lives.
class InterruptWatch {
 public:
  InterruptWatch() : seen_(CatchInterrupt()) {}
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  ~InterruptWatch() { ReleaseInterrupt(); }
  [[nodiscard]] bool seen() const { return seen_.load(); }

 private:
  const std::atomic<bool>& seen_;
};

/// Says what is going to be downloaded, and how much, before it begins.
void ShowPlan(const hub::PullPlan& plan) {
  const std::string what = plan.files.size() == 1 ? Printable(plan.files.front(), 200)
                                                  : fmt::format("{} files", plan.files.size());
  PrintError("{} at {}: {}, {}{}\n", plan.name, plan.commit.substr(0, 8), what,
             hub::SizeText(plan.bytes), plan.why.empty() ? "" : fmt::format(" ({})", plan.why));
}

}  // namespace

hub::Given& GivenByFlags() noexcept {
  static hub::Given given;
  return given;
}

Result<hub::Settings> HubSettingsOfUser() {
  return hub::SettingsFrom(GivenByFlags(), [](const char* name) { return std::getenv(name); });
}

/// Downloads with a progress line for each file. Ctrl-C stops it; the next try goes on there.
Result<hub::Pulled> PullShown(const hub::Reference& reference, const hub::Settings& settings) {
  const InterruptWatch interrupt;
  ProgressLine line;
  std::optional<hub::TransferProgress> shown;
  hub::PullListener listener;
  listener.is_cancelled = [&] { return interrupt.seen(); };
  listener.on_notice = [&](const std::string& sentence) {
    line.Clear();
    PrintError("notice: {}\n", sentence);
  };
  listener.on_plan = ShowPlan;
  listener.on_progress = [&](const hub::PullProgress& progress) {
    if (!shown) shown.emplace(std::string(progress.file), progress.size);
    if (const auto text = shown->Text(progress.done)) line.Show(*text);
  };
  listener.on_file_end = [&] {
    shown.reset();
    line.Clear();
  };
  return hub::Pull(reference, settings, listener);
}

/// A plain path stays as it is. A name of the hub is looked for in the cache first, so that a model
/// that is there needs no network.
Result<std::string> LocalModel(const std::string& path) {
  if (!path.starts_with(hub::kScheme)) return path;
  const hub::Reference reference = BITTERN_TRY(hub::ParseReference(path));
  const hub::Settings settings = BITTERN_TRY(HubSettingsOfUser());
  const auto found = BITTERN_TRY(hub::FindInCache(reference, settings));
  if (found) return found->path.string();
  const hub::Pulled pulled = BITTERN_TRY(PullShown(reference, settings));
  return pulled.path.string();
}

}  // namespace bittern::cli
