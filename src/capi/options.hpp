// SPDX-License-Identifier: Apache-2.0
// Settings of the C interface by key, and the options of the layers below that they become. Sets
// are read under one lock of the process, since another thread may change them.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "capi/handles.hpp"
#include "eval/job/job.hpp"
#include "formats/convert/convert.hpp"
#include "hub/settings.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/loaded_model.hpp"
#include "runtime/pooling.hpp"
#include "runtime/session.hpp"

namespace bittern::capi {

/// Values by key; a key that may be repeated has several.
using Settings = std::map<std::string, std::vector<std::string>, std::less<>>;

class OptionsObject : public Object {
 public:
  static constexpr int kKind = 1;
  static constexpr const char* kWhat = "options";
  OptionsObject() : Object(kKind) {}

  /// Errors: kNotFound (no such key), kInvalidArgument (not a value of it).
  [[nodiscard]] Result<void> Set(std::string_view key, std::string_view value);
  [[nodiscard]] Settings settings() const;

 private:
  Settings settings_;  // under ProcessMutex<Settings>
};

/// The settings of a handle; none for NULL.
[[nodiscard]] Result<Settings> SettingsOf(const void* options);

/// Kernel, overrides and the like; `cache` is made where layout_cache names a file, and is pointed
/// at.
[[nodiscard]] Result<runtime::LoadOptions> LoadOptionsOf(
    const Settings& settings, std::unique_ptr<runtime::LayoutCache>* cache);
[[nodiscard]] runtime::SessionOptions SessionOptionsOf(const Settings& settings);
[[nodiscard]] runtime::EngineOptions EngineOptionsOf(const Settings& settings);
/// Windows and questions of a score.
[[nodiscard]] eval::JobOptions ScoreSettingsOf(const Settings& settings);
struct DoctorSettings {
  std::string fix, like;
  bool overwrite = false;
  int num_threads = 0;
};
[[nodiscard]] DoctorSettings DoctorSettingsOf(const Settings& settings);
struct EmbedSettings {
  std::optional<runtime::Pooling> pooling = {};  ///< none: as the model says
  bool normalize = false;
};
[[nodiscard]] EmbedSettings EmbedSettingsOf(const Settings& settings);
/// True if receipt=on.
[[nodiscard]] bool WantsReceipt(const Settings& settings);
/// True if hidden=on.
[[nodiscard]] bool WantsHidden(const Settings& settings);
/// True if values=on.
[[nodiscard]] bool WantsValues(const Settings& settings);
/// The sampler options of the settings; the model file's recommendation fills gaps. `model` may be
/// null.
[[nodiscard]] Result<runtime::GenerateOptions> GenerateOptionsOf(const Settings& settings,
                                                                 const runtime::LoadedModel* model);
/// Error kInvalidArgument: `to` is missing, a tiling is none.
[[nodiscard]] Result<formats::ConvertOptions> ConvertOptionsOf(const Settings& settings);
/// The settings of kind "pull".
struct PullOptions {
  hub::Given given;
  bool update = true;  ///< ask the hub also where the cache has the model
};
[[nodiscard]] PullOptions PullOptionsOf(const Settings& settings);
/// "key=type:value" texts: override_kv, i2s_layout and tl_tiling.
[[nodiscard]] std::vector<std::string> OverridesOf(const Settings& settings);

}  // namespace bittern::capi
