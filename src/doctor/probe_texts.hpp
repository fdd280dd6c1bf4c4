// SPDX-License-Identifier: Apache-2.0
// The texts that a probe reads. No model of this repository was trained on any of it, so that a
// table of what doctor finds in them says what it finds in models at large: the scripture is from
// chapters that were held out, the questions are those that Pocket never met, the rest was written
// for this file.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace bittern::doctor {

/// Scripture, dictionary, plain prose.
inline constexpr std::size_t kNumPlainTexts = 3;
[[nodiscard]] const std::array<std::string_view, kNumPlainTexts>& ProbeTexts() noexcept;
/// The texts that follow them if more is wanted.
[[nodiscard]] const std::array<std::string_view, kNumPlainTexts>& MoreProbeTexts() noexcept;

struct Question {
  std::string_view question, answer;
};
[[nodiscard]] std::span<const Question> ProbeQuestions() noexcept;

}  // namespace bittern::doctor
