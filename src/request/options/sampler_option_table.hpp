// SPDX-License-Identifier: Apache-2.0
// Every option of the sampler, once. The readers and writers of all front ends walk this table, so
// that an option has one name, one range and one default wherever it is set.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/sampling/options.hpp"

namespace bittern::request {

/// Stands for "no bound" of a number.
inline constexpr double kAnyNumber = 3e38;

using SamplerMember = std::variant<float runtime::SamplerOptions::*, int runtime::SamplerOptions::*,
                                   std::uint32_t runtime::SamplerOptions::*,
                                   std::vector<std::string> runtime::SamplerOptions::*,
                                   std::vector<runtime::LogitBias> runtime::SamplerOptions::*,
                                   std::vector<runtime::SamplerStep> runtime::SamplerOptions::*>;

struct SamplerOption {
  std::string_view name;         ///< field of a request and key of the C interface: "top_n_sigma"
  std::string_view flags;        ///< on a command line, without dashes: "top-nsigma,top-n-sigma"
  std::string_view placeholder;  ///< of the value in a help text: "N"
  SamplerMember member;
  /// The range of a number. Narrower ranges, with words of their own, are CheckSamplerOptions' to
  /// refuse.
  double least, most;
  bool common;            ///< one of the few that most people set
  std::string_view help;  ///< one line; another option in it is "{name}" (HelpOf)
};

/// All rows, in the order in which receipts list them.
[[nodiscard]] std::span<const SamplerOption> SamplerOptionTable() noexcept;

/// The row of that name; null if there is none.
[[nodiscard]] const SamplerOption* FindSamplerOption(std::string_view name) noexcept;

/// The help with each "{name}" in it as `spelling` spells that option.
[[nodiscard]] std::string HelpOf(
    const SamplerOption& option,
    const std::function<std::string(const SamplerOption& other)>& spelling);

}  // namespace bittern::request
