// SPDX-License-Identifier: Apache-2.0
// A path stays a path; a name becomes the path of the cached model, and a download needs a yes.
#include "cli/options/local_model.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/os/environment.hpp"
#include "base/text/display.hpp"
#include "cli/shared/interrupt.hpp"
#include "cli/shared/question.hpp"
#include "cli/shared/terminal.hpp"
#include "hub/choice.hpp"
#include "hub/known_models.hpp"
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
  PrintRemark("{} at {}: {}, {}{}\n", plan.name, plan.commit.substr(0, 8), what,
              hub::SizeText(plan.bytes), plan.why.empty() ? "" : fmt::format(" ({})", plan.why));
}

}  // namespace

hub::Given& GivenByFlags() noexcept {
  static hub::Given given;
  return given;
}

Result<hub::Settings> HubSettingsOfUser() {
  return hub::SettingsFrom(GivenByFlags(), os::Variable);
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
    PrintRemark("notice: {}\n", sentence);
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

bool& YesByFlag() noexcept {
  static bool yes = false;
  return yes;
}

Result<std::optional<hub::Reference>> ModelNamedBy(const std::string& path) {
  std::error_code ignored;
  if (path.starts_with(hub::kScheme)) {
    hub::Reference reference = BITTERN_TRY(hub::ParseReference(path));
    return std::optional(std::move(reference));
  }
  if (std::filesystem::exists(path, ignored)) return std::nullopt;
  if (hub::IsAddress(path)) {
    hub::Reference reference = BITTERN_TRY(hub::ParseReference(path));
    return std::optional(std::move(reference));
  }
  return hub::ReferenceNotPath(path);
}

namespace {

/// "USER/REPO:FILE, 1187.8 MB": the size as far as the table of names has it.
std::string NameAndSize(const hub::Reference& reference) {
  const hub::KnownModel* known = hub::FindKnownFile(reference.repo, reference.file);
  return fmt::format("{}{}{}, {}", RepoText(reference), reference.file.empty() ? "" : ":",
                     reference.file,
                     known == nullptr || known->bytes == 0 ? "of a size that only the hub knows"
                                                           : hub::SizeText(known->bytes));
}

/// A name in place of a file may be a slip, so nothing of a gigabyte comes without a yes. Offline
/// there is nothing to ask: Pull says so.
Result<void> AskToPull(const std::string& typed, const hub::Reference& reference,
                       const hub::Settings& settings) {
  if (YesByFlag() || (CanAsk() && settings.offline)) return {};
  const std::string model = NameAndSize(reference), place = settings.cache.string();
  if (!CanAsk()) {
    return Fail(
        ErrorCode::kNotFound,
        fmt::format("{}: there is no such file or folder; the model of this name ({}) is not in {}",
                    typed, model, place),
        fmt::format("-hf {} downloads it, or -y{}", typed,
                    settings.offline ? ", but not offline (--offline, HF_HUB_OFFLINE)" : ""));
  }
  if (Ask(fmt::format("{} is not here yet: {}. Download it to {}?", typed, model, place)))
    return {};
  return Fail(ErrorCode::kNotFound, fmt::format("{}: not downloaded", typed));
}

}  // namespace

/// A plain path stays as it is. A name of the hub is looked for in the cache first, so that a model
/// that is there needs no network.
Result<std::string> LocalModel(const std::string& path) {
  const auto reference = BITTERN_TRY(ModelNamedBy(path));
  if (!reference) {
    std::error_code ignored;
    const std::string closest = hub::ClosestKnownName(path);
    if (closest.empty() || std::filesystem::exists(path, ignored)) return path;
    return Fail(ErrorCode::kNotFound, fmt::format("{}: there is no such model file", path),
                fmt::format("did you mean the model {}?", closest));
  }
  const hub::Settings settings = BITTERN_TRY(HubSettingsOfUser());
  const auto found = BITTERN_TRY(hub::FindInCache(*reference, settings));
  if (found) return found->path.string();
  if (!path.starts_with(hub::kScheme)) BITTERN_TRY(AskToPull(path, *reference, settings));
  const hub::Pulled pulled = BITTERN_TRY(PullShown(*reference, settings));
  return pulled.path.string();
}

}  // namespace bittern::cli
