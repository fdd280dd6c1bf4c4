// SPDX-License-Identifier: Apache-2.0
// The parts of a text that callbacks get, with their tokens. One object a text; it is used by the
// thread that makes the text.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "bittern/bittern.h"
#include "runtime/generate_options.hpp"
#include "runtime/loaded_model.hpp"

namespace bittern::capi {

/// Gathers the tokens of a text until the text callback is called with what they say.
class TextParts {
 public:
  /// `model` outlives it.
  TextParts(const runtime::LoadedModel& model, bittern_text_fn on_text, void* user)
      : model_(model), on_text_(on_text), user_(user) {}

  /// Has `options` tell of each token. `parts` lives as long as they do. Nothing where there is no
  /// callback.
  static void Watch(const std::shared_ptr<TextParts>& parts, runtime::GenerateOptions* options);
  /// The callback as the layers below call it; empty where there is none.
  [[nodiscard]] static std::function<bool(std::string_view)> Callback(
      const std::shared_ptr<TextParts>& parts);

  /// The part that this thread's callback has been given; null outside of one.
  [[nodiscard]] static const TextParts* Current() noexcept;
  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  [[nodiscard]] const std::vector<runtime::TokenId>& ids() const noexcept { return ids_; }
  /// {"logprobs": [...]}, or {} where they were not asked for.
  [[nodiscard]] std::string JsonText() const;

 private:
  bool Show(std::string_view text);

  const runtime::LoadedModel& model_;
  bittern_text_fn on_text_;
  void* user_;
  std::string_view text_;  // during the callback
  std::vector<runtime::TokenId> ids_;
  std::vector<runtime::TokenLogprobs> logprobs_;
  bool has_logprobs_ = false;
};

}  // namespace bittern::capi
