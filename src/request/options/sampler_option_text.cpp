// SPDX-License-Identifier: Apache-2.0
// A visitor over the types of members, as in sampler_option_json.cpp, for texts.
#include "request/options/sampler_option_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/json/json.hpp"
#include "request/options/option_text.hpp"

namespace bittern::request {
namespace {

using runtime::LogitBias;
using runtime::SamplerOptions;
using runtime::SamplerStep;

constexpr std::string_view kBiasWords = "ID+BIAS or ID-BIAS, as in 15043-1.5 or 15043-inf,";

/// The inverse of runtime::ParseSamplers.
std::string ChainText(const std::vector<SamplerStep>& steps) {
  std::string text;
  for (const SamplerStep step : steps) {
    text += fmt::format("{}{}", text.empty() ? "" : ";", runtime::SamplerStepName(step));
  }
  return text;
}

/// One function for each type of member.
struct TextSetter {
  const SamplerOption& option;
  std::span<const std::string> texts;
  SamplerOptions* to;

  /// A bound that is none still keeps the number within a float: a double may be larger.
  Result<void> operator()(float SamplerOptions::* member) const {
    const auto number = ParseNumber<double>(texts.back());
    const double most = option.most == kAnyNumber ? kMostFloat : option.most;
    const double least = option.least == -kAnyNumber ? -kMostFloat : option.least;
    if (!number || !(*number >= least && *number <= most)) return Wrong();  // NaN, too
    to->*member = static_cast<float>(*number);
    return {};
  }
  Result<void> operator()(int SamplerOptions::* member) const {
    to->*member = static_cast<int>(BITTERN_TRY(Whole()));
    return {};
  }
  Result<void> operator()(std::uint32_t SamplerOptions::* member) const {
    to->*member = static_cast<std::uint32_t>(BITTERN_TRY(Whole()));
    return {};
  }
  Result<void> operator()(std::vector<std::string> SamplerOptions::* member) const {
    (to->*member).clear();
    for (const std::string& text : texts) {
      if (text != "none") (to->*member).push_back(text);
    }
    return {};
  }
  /// Replaces the list, and names the first text that is no bias.
  Result<void> operator()(std::vector<LogitBias> SamplerOptions::* member) const {
    (to->*member).clear();
    for (const std::string& text : texts) {
      const auto bias = BiasOfText(text);
      if (!bias) return WrongText(option.name, kBiasWords, text);
      (to->*member).push_back(*bias);
    }
    return {};
  }
  Result<void> operator()(std::vector<SamplerStep> SamplerOptions::* member) const {
    to->*member = texts.back().empty() ? runtime::DefaultSamplers()
                                       : BITTERN_TRY(runtime::ParseSamplers(texts.back()));
    return {};
  }

  /// The last text as a whole number in the option's range, which fits the member.
  [[nodiscard]] Result<std::int64_t> Whole() const {
    const auto number = ParseNumber<std::int64_t>(texts.back());
    if (!number || static_cast<double>(*number) < option.least ||
        static_cast<double>(*number) > option.most) {
      return Wrong();
    }
    return *number;
  }
  [[nodiscard]] tl::unexpected<Error> Wrong() const {
    return WrongText(option.name, ExpectedText(option), texts.back());
  }
};

/// The value that an untouched struct has, as a text; one function for each type of member.
struct TextOfDefault {
  SamplerOptions options = {};

  std::string operator()(float SamplerOptions::* member) const {
    return fmt::format("{}", options.*member);
  }
  std::string operator()(int SamplerOptions::* member) const {
    return fmt::format("{}", options.*member);
  }
  std::string operator()(std::uint32_t SamplerOptions::* member) const {
    return fmt::format("{}", static_cast<std::int32_t>(options.*member));  // "-1"
  }
  std::string operator()(std::vector<std::string> SamplerOptions::* member) const {
    return (options.*member).empty() ? "" : Json(options.*member).Dump();
  }
  std::string operator()(std::vector<LogitBias> SamplerOptions::*) const { return ""; }
  std::string operator()(std::vector<SamplerStep> SamplerOptions::* member) const {
    return ChainText(options.*member);
  }
};

}  // namespace

/// The number after the sign has none of its own: "15043--1" is no bias.
std::optional<LogitBias> BiasOfText(std::string_view text) {
  const std::size_t sign = text.find_first_of("+-", 1);  // an id below 0 is told as such
  if (sign == std::string_view::npos) return std::nullopt;
  const std::string_view number = text.substr(sign + 1);
  const auto id = ParseNumber<runtime::TokenId>(text.substr(0, sign));
  const auto bias = ParseNumber<float>(number);
  if (!id || !bias || number.starts_with('-') || std::isnan(*bias)) return std::nullopt;
  return LogitBias{*id, text[sign] == '-' ? -*bias : *bias};
}

bool TakesSeveral(const SamplerOption& option) noexcept {
  return std::holds_alternative<std::vector<std::string> SamplerOptions::*>(option.member) ||
         std::holds_alternative<std::vector<LogitBias> SamplerOptions::*>(option.member);
}

Result<void> SetSamplerOption(const SamplerOption& option, std::span<const std::string> texts,
                              SamplerOptions* options) {
  if (texts.empty()) return {};
  SamplerOptions alone;  // so that a message is about this option and no other
  BITTERN_TRY(std::visit(TextSetter{option, texts, &alone}, option.member));
  BITTERN_TRY(runtime::CheckSamplerOptions(alone));
  std::visit([&](auto member) { options->*member = std::move(alone.*member); }, option.member);
  return {};
}

std::string ExpectedText(const SamplerOption& option) {
  if (std::holds_alternative<float SamplerOptions::*>(option.member)) {
    return NumberWords(option.least, option.most == kAnyNumber ? kMostFloat : option.most);
  }
  if (std::holds_alternative<int SamplerOptions::*>(option.member) ||
      std::holds_alternative<std::uint32_t SamplerOptions::*>(option.member)) {
    return WholeNumberWords(option.least, option.most);
  }
  if (std::holds_alternative<std::vector<LogitBias> SamplerOptions::*>(option.member)) {
    return "ID+BIAS or ID-BIAS";
  }
  return "a text";
}

std::string DefaultText(const SamplerOption& option) {
  return std::visit(TextOfDefault{}, option.member);
}

}  // namespace bittern::request
