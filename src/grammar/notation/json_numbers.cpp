// SPDX-License-Identifier: Apache-2.0
// A decimal is compared digit by digit, so each bound becomes a choice over the first digit that
// differs: of the whole part among texts of one length, then of the fraction.
#include "grammar/notation/json_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace bittern::grammar {
namespace {

constexpr std::size_t kMostWhole = 16, kMostFraction = 16;

CharClass DigitRange(char first, char last) {
  if (first > last) return {};
  return {{static_cast<char32_t>(first), static_cast<char32_t>(last)}};
}

/// A bound on digits: the text, and whether it may be reached.
struct Bound {
  std::string digits;
  bool open = false;
};

class NumberWriter {
 public:
  NumberWriter(Grammar* grammar, bool whole) : g_(*grammar), whole_(whole) {}

  /// Numbers of 0 or more between bounds of 0 or more; none: no bound. Excludes 0 where `no_zero`.
  ExprId Magnitude(const std::optional<Decimal>& least, bool above,
                   const std::optional<Decimal>& most, bool below) {
    const Decimal low = least.value_or(Decimal{});
    std::vector<ExprId> choices;
    const std::size_t longest = most ? most->whole.size() : std::max(kMostWhole, low.whole.size());
    for (std::size_t size = low.whole.size(); size <= longest; ++size) {
      // The whole parts of one length, between digits of that length.
      const bool at_low = size == low.whole.size(), at_high = most && size == most->whole.size();
      std::string first(size, '0');  // not "1" + ...: a false warning of gcc 12
      first[0] = '1';
      if (at_low) first = low.whole;
      const std::string last = at_high ? most->whole : std::string(size, '9');
      if (first > last) continue;
      const bool same = at_low && at_high && first == last;
      if (same) {
        choices.push_back(g_.Sequence(
            {g_.Bytes(first), Fraction(Bound{low.fraction, above}, Bound{most->fraction, below})}));
        continue;
      }
      if (at_low) {
        choices.push_back(
            g_.Sequence({g_.Bytes(first), Fraction(Bound{low.fraction, above}, std::nullopt)}));
      }
      if (at_high) {
        choices.push_back(
            g_.Sequence({g_.Bytes(last), Fraction(std::nullopt, Bound{most->fraction, below})}));
      }
      const ExprId between = Between(first, at_low, last, at_high);
      choices.push_back(g_.Sequence({between, Fraction(std::nullopt, std::nullopt)}));
    }
    return g_.Choice(std::move(choices));
  }

 private:
  ExprId Digits(std::size_t count) {
    return g_.Repeat(g_.Class({{U'0', U'9'}}), static_cast<std::uint32_t>(count),
                     static_cast<std::uint32_t>(count));
  }

  /// Texts of equal length between first and last, without the ends that are `open`.
  ExprId Between(std::string_view first, bool first_open, std::string_view last, bool last_open) {
    if (first.empty()) return first_open || last_open ? g_.Nothing() : g_.Empty();
    const bool all = !first_open && !last_open && first.find_first_not_of('0') == first.npos &&
                     last.find_first_not_of('9') == last.npos;
    if (all) return Digits(first.size());
    const std::string_view first_rest = first.substr(1), last_rest = last.substr(1);
    if (first[0] == last[0]) {
      return g_.Sequence(
          {g_.Bytes(first.substr(0, 1)), Between(first_rest, first_open, last_rest, last_open)});
    }
    const std::string low(first_rest.size(), '0'), high(last_rest.size(), '9');
    std::vector<ExprId> choices = {
        g_.Sequence({g_.Bytes(first.substr(0, 1)), Between(first_rest, first_open, high, false)}),
        g_.Sequence({g_.Bytes(last.substr(0, 1)), Between(low, false, last_rest, last_open)})};
    const CharClass middle =
        DigitRange(static_cast<char>(first[0] + 1), static_cast<char>(last[0] - 1));
    if (!middle.empty()) {
      choices.push_back(g_.Sequence({g_.Class(middle), Digits(first_rest.size())}));
    }
    return g_.Choice(std::move(choices));
  }

  /// The fraction with its point, or none.
  ExprId Fraction(const std::optional<Bound>& least, const std::optional<Bound>& most) {
    const bool zero = (!least || least->digits.empty()) && (!least || !least->open) &&
                      (!most || !most->open || !most->digits.empty());
    // Behind the whole part nothing stands for a fraction of 0.
    const ExprId none = zero ? g_.Empty() : g_.Nothing();
    if (whole_) return none;
    const ExprId digits = FractionDigits(least, most, 0);
    return g_.Choice({none, g_.Sequence({g_.Bytes("."), digits})});
  }

  /// One digit or more of a fraction, the first `place` of which are those of the bounds left.
  ExprId FractionDigits(const std::optional<Bound>& least, const std::optional<Bound>& most,
                        std::size_t place) {
    if (place == kMostFraction) return g_.Nothing();
    const bool has_low = least && place < least->digits.size();
    const bool has_high = most.has_value();
    const char low = has_low ? least->digits[place] : '0';
    const char high = has_high && place < most->digits.size() ? most->digits[place]
                      : has_high                              ? '0'
                                                              : '9';
    if (low > high) return g_.Nothing();
    const auto left = static_cast<std::uint32_t>(kMostFraction - place - 1);
    const ExprId any = g_.Repeat(g_.Class({{U'0', U'9'}}), 0, left);
    // Beyond a lower bound's digits, zeros only do not exceed it.
    const bool low_matters = least && (has_low || least->open);
    const bool high_matters = has_high;
    if (!low_matters && !high_matters) return g_.Sequence({g_.Class({{U'0', U'9'}}), any});
    std::vector<ExprId> choices;
    for (char digit = low; digit <= high; ++digit) {
      const bool on_low = low_matters && digit == low, on_high = high_matters && digit == high;
      const ExprId read = g_.Bytes({&digit, 1});
      if (!on_low && !on_high) {
        choices.push_back(g_.Sequence({read, any}));
        continue;
      }
      const auto next_low = on_low ? least : std::nullopt,
                 next_high = on_high ? most : std::nullopt;
      const bool low_reached = !on_low || (place + 1 >= least->digits.size() && !least->open);
      const bool high_kept = !on_high || place + 1 < most->digits.size() || !most->open;
      if (low_reached && high_kept) choices.push_back(read);
      choices.push_back(g_.Sequence({read, FractionDigits(next_low, next_high, place + 1)}));
    }
    return g_.Choice(std::move(choices));
  }

  Grammar& g_;
  bool whole_;
};

Decimal Negated(Decimal value) {
  value.negative = !value.negative && !value.is_zero();
  return value;
}

}  // namespace

std::optional<Decimal> Decimal::Parse(std::string_view text) {
  Decimal result;
  if (text.starts_with('-')) {
    result.negative = true;
    text.remove_prefix(1);
  }
  int exponent = 0;
  if (const std::size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view digits = text.substr(e + 1);
    const bool minus = digits.starts_with('-');
    if (minus || digits.starts_with('+')) digits.remove_prefix(1);
    if (digits.size() > 3) return std::nullopt;
    for (const char c : digits) exponent = exponent * 10 + (c - '0');
    if (minus) exponent = -exponent;
    text = text.substr(0, e);
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string digits(text.substr(0, point));
  int scale = static_cast<int>(point) + exponent;  // digits before the point
  if (point < text.size()) digits += text.substr(point + 1);
  if (scale > 40 || scale < -40) return std::nullopt;
  while (scale > static_cast<int>(digits.size())) digits += '0';
  while (scale < 1) digits.insert(digits.begin(), '0'), ++scale;
  result.whole = digits.substr(0, static_cast<std::size_t>(scale));
  result.fraction = digits.substr(static_cast<std::size_t>(scale));
  result.whole.erase(0, std::min(result.whole.find_first_not_of('0'), result.whole.size() - 1));
  while (result.fraction.ends_with('0')) result.fraction.pop_back();
  if (result.whole.size() > 18 || result.fraction.size() >= kMostFraction) return std::nullopt;
  if (result.is_zero()) result.negative = false;
  return result;
}

ExprId BoundedNumber(const NumberBounds& bounds, Grammar* grammar) {
  NumberWriter writer(grammar, bounds.whole);
  std::vector<ExprId> choices;
  const bool may_be_positive = !bounds.most || !bounds.most->negative;
  const bool may_be_negative = !bounds.least || bounds.least->negative;
  if (may_be_positive) {
    const bool from_zero = !bounds.least || bounds.least->negative;
    choices.push_back(writer.Magnitude(from_zero ? std::nullopt : bounds.least,
                                       !from_zero && bounds.above_least, bounds.most,
                                       bounds.below_most));
  }
  if (may_be_negative) {
    const bool to_zero = !bounds.most || !bounds.most->negative;
    // -0 is not written: magnitudes above 0 only.
    const auto most = bounds.least ? std::optional(Negated(*bounds.least)) : std::nullopt;
    const auto least = to_zero ? std::optional(Decimal{}) : std::optional(Negated(*bounds.most));
    choices.push_back(grammar->Sequence(
        {grammar->Bytes("-"),
         writer.Magnitude(least, to_zero || bounds.below_most, most, bounds.above_least)}));
  }
  return grammar->Choice(std::move(choices));
}

ExprId MultiplesOf(std::uint32_t step, bool negative, Grammar* grammar) {
  // 15 digits are exact in a double, which is what most readers of JSON take; large steps would
  // need too many rules for so many.
  const std::uint32_t digits = std::clamp(6000 / step, 6u, 15u);
  Grammar& g = *grammar;
  // By remainder: what may follow while `left` digits may, if anything.
  std::vector<std::optional<ExprId>> rest(step);
  rest[0] = g.Empty();
  const auto behind = [&](std::uint32_t remainder, std::uint32_t first, bool may_end) {
    std::vector<ExprId> next;
    if (may_end) next.push_back(g.Empty());
    for (std::uint32_t digit = first; digit < 10; ++digit) {
      const auto& after = rest[(remainder * 10 + digit) % step];
      const char text = static_cast<char>('0' + digit);
      if (after) next.push_back(g.Sequence({g.Bytes({&text, 1}), *after}));
    }
    return next;
  };
  for (std::uint32_t left = 1; left < digits; ++left) {
    std::vector<std::optional<ExprId>> longer(step);
    for (std::uint32_t r = 0; r < step; ++r) {
      std::vector<ExprId> next = behind(r, 0, r == 0);
      if (next.empty()) continue;
      const RuleId rule = g.AddRule(fmt::format("mod-{}-{}", r, left));
      g.Define(rule, g.Choice(std::move(next)));
      longer[r] = g.Call(rule);
    }
    rest = std::move(longer);
  }
  std::vector<ExprId> signed_parts = {g.Choice(behind(0, 1, false))};
  if (negative) signed_parts.insert(signed_parts.begin(), g.Optional(g.Bytes("-")));
  return g.Choice({g.Bytes("0"), g.Sequence(std::move(signed_parts))});
}

}  // namespace bittern::grammar
