// SPDX-License-Identifier: Apache-2.0
// Flags of llama.cpp, bitnet.cpp and their relatives that Bittern does not have. Scripts and habits
// bring them along, so each gets an answer: those that change no result are taken and ignored, the
// others are refused with the way to get what they do.
#pragma once

#include <span>
#include <string_view>

namespace bittern::cli {

enum class ForeignKind {
  kIgnored,  ///< changes speed, memory or messages elsewhere; the result here is the same
  kRefused,  ///< changes the result, or asks for something that is not here
};

/// The word after the flag.
enum class ForeignValue {
  kNone,
  kOne,
  kSwitch,  ///< on, off, auto, 0 or 1 may follow
};

/// A row of the table. Lists are separated by spaces.
struct ForeignFlag {
  std::string_view names;  ///< of one meaning: "-tb --threads-batch"
  ForeignKind kind;
  ForeignValue value;
  std::string_view commands = {};  ///< where this row holds; empty: where a model runs
  std::string_view sentence = {};  ///< for kRefused: what to do instead; else a remark
  /// Values with which the flag changes nothing, so that it is ignored: "0 0.0".
  std::string_view harmless = {};

  /// True for a value of `harmless`.
  [[nodiscard]] bool IsHarmless(std::string_view text) const noexcept;
};

/// True if `list`, whose parts stand between spaces, has `word`.
[[nodiscard]] bool HasWord(std::string_view list, std::string_view word) noexcept;

/// All rows; the first one that fits a name and a command holds.
[[nodiscard]] std::span<const ForeignFlag> ForeignFlags() noexcept;

/// The row for a flag as it is typed ("-fa") after `command`, which runs a model or not; null where
/// there is none.
[[nodiscard]] const ForeignFlag* FindForeignFlag(std::string_view flag, std::string_view command,
                                                 bool runs_model) noexcept;

/// True for on, off, auto, 0, 1, true, false and the like.
[[nodiscard]] bool IsSwitchWord(std::string_view word) noexcept;

}  // namespace bittern::cli
