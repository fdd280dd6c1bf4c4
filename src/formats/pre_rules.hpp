// SPDX-License-Identifier: Apache-2.0
// The pre-tokenizers that GGUF files name, as data.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace bittern::formats {

struct PreRules {
  std::initializer_list<std::string_view> names;     ///< of tokenizer.ggml.pre; the first is ours
  std::initializer_list<std::string_view> patterns;  ///< each cuts the pieces of the one before
  bool ignore_merges = false;   ///< a piece that is a token is taken whole, without merging
  bool normalizes_nfc = false;  ///< the model's own tokenizer composes text first
  bool adds_bos = false;        ///< where the file has no add_bos_token
};

/// All of them. Names are unique.
[[nodiscard]] std::span<const PreRules> AllPreRules() noexcept;

/// nullptr: not known.
[[nodiscard]] const PreRules* FindPreRules(std::string_view name) noexcept;

/// The steps of a tokenizer.json that cut as `rules` do (formats/hf/hf_pipeline.hpp).
[[nodiscard]] std::string StepsOf(const PreRules& rules);

/// `text` as a pattern that matches just that.
[[nodiscard]] std::string EscapeRegex(std::string_view text);

/// A Split step: "Split(<pattern>)", or "Split<words>(<pattern>)". A pipeline's steps are joined by
/// semicolons, so those of the pattern are spelled \x3b.
[[nodiscard]] std::string SplitStep(std::string_view words, std::string_view pattern);

/// GPT-2's pattern, also what Hugging Face's ByteLevel cuts by.
extern const std::string_view kGpt2Pattern;
extern const std::string_view kPunctuationRunsPattern;

}  // namespace bittern::formats
