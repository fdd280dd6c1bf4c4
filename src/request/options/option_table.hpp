// SPDX-License-Identifier: Apache-2.0
// Every option but the sampler's (sampler_option_table.hpp), once: of loading, sequences and
// engines, generation, conversion, scores, diagnosis and downloads. The C interface, and so Python
// and Node.js, takes all of them by name; the command line makes its flags, ranges and help from
// the rows that have flags.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace bittern::request {

/// The calls that an option is for, as bits.
enum OptionUse : unsigned {
  kForModel = 1,
  kForSequence = 2,
  kForGenerate = 4,
  kForConvert = 8,
  kForPull = 16,
  kForScore = 32,
  kForDoctor = 64,
  kForEmbed = 128,
  kForTrace = 256
};

enum class OptionType { kWhole, kSwitch, kChoice, kText };

struct Option {
  std::string_view name;         ///< key of the C interface: "n_predict"
  std::string_view flags;        ///< on a command line, without dashes: "n,predict"; empty: none
  std::string_view placeholder;  ///< of the value in a help text: "N"
  unsigned uses;                 ///< bits of OptionUse
  OptionType type;
  double least, most;        ///< of kWhole
  std::string_view choices;  ///< of kChoice: separated by spaces
  std::string_view initial;  ///< holds where the option is not set
  bool repeated;             ///< several texts add up
  std::string_view help;     ///< one sentence or more, without a full stop at the end
};

/// All rows, in the order in which bittern_options_describe lists them.
[[nodiscard]] std::span<const Option> OptionTable() noexcept;

/// The row of that name; null if there is none.
[[nodiscard]] const Option* FindOption(std::string_view name) noexcept;

/// True if the text is "on", "1" or "true".
[[nodiscard]] bool IsOn(std::string_view text) noexcept;

/// True if the option takes this text: a number in its range, one of its choices, on or off, any
/// text.
[[nodiscard]] bool Accepts(const Option& option, std::string_view text);

/// The words for what it takes: "a whole number of 0 to 9", "one of f16 f32".
[[nodiscard]] std::string ExpectedText(const Option& option);

}  // namespace bittern::request
