// SPDX-License-Identifier: Apache-2.0
// A statement of doctor's about a file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/facts/reading.hpp"

namespace bittern::doctor {

enum class Verdict {
  kHealthy,       ///< nothing is wrong: this is known, not only not refuted
  kNothingFound,  ///< nothing was found, which is less than that nothing is wrong
  kCurable,       ///< something is wrong, and what puts it right is known
  kIncurable,     ///< something is lost; only another copy of the file helps
  kUnsupported,   ///< the file may be whole; it is of a kind that is not read
  kCannotTell,    ///< no reading makes sense: random weights, or a fault that is not known
};
[[nodiscard]] std::string_view VerdictName(Verdict verdict) noexcept;

/// One thing that is wrong, in plain sentences.
struct Finding {
  std::string id;        ///< "i2s_layout", "truncated", ...: for programs
  std::string cause;     ///< what is wrong
  std::string evidence;  ///< how that shows
  std::string cure;      ///< what to do
  bool curable = false;
};

/// An error's message as a sentence: with a full stop unless it ends with a mark of its own.
[[nodiscard]] inline std::string AsSentence(std::string text) {
  if (!text.empty() && text.find_last_of(".?!") != text.size() - 1) text += '.';
  return text;
}

/// A finding with the edits that put it right.
struct Cure {
  Finding finding;
  std::vector<Edit> edits;
};

/// A layer's attention or feed-forward part.
struct Part {
  int layer = 0;
  bool attention = false;
  friend bool operator==(const Part&, const Part&) = default;
};

/// A possible fault. Hypotheses of one factor exclude each other.
struct Hypothesis {
  std::string factor;
  std::string cause, cure;
  Edit edit;
  /// Wrong, it leaves no sense at all: not tried where the text is predicted well.
  bool destructive = false;
  /// The file itself speaks for it: any gain is enough.
  bool likely = false;
  /// About single matrices: there are too many of them for pairs.
  bool alone = false;
  /// Its subject, if that is not the whole model.
  std::vector<Part> parts = {};
};

}  // namespace bittern::doctor
