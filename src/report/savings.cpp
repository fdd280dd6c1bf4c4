// SPDX-License-Identifier: Apache-2.0
#include "report/savings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/json.hpp"
#include "model/matrix_layout.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::report {
namespace {

/// At most 1: the last tile of the screen may have rows that are not there.
double Share(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : std::min(1.0, static_cast<double>(part) / static_cast<double>(all));
}

/// Shares of the rows that were read in spite of zero skipping and of the screened head.
struct Shares {
  explicit Shares(const Savings& s)
      : up(Share(s.zeros.up_rows.live, s.zeros.up_rows.all)),
        down(Share(s.zeros.down_columns.live, s.zeros.down_columns.all)),
        after_4_bits(Share(s.screen.tiles_of_bits * quant::kTileRows, s.screen.rows)),
        after_5_bits(Share(s.screen.after_5_bits, s.screen.rows)),
        after_7_bits(Share(s.screen.after_7_bits, s.screen.rows)),
        by_codes(s.screen.after_5_bits == 0) {}

  double up, down;
  double after_4_bits, after_5_bits, after_7_bits;
  bool by_codes;  ///< the head's own weights were scanned, so there is no step between
};

}  // namespace

Savings SavingsOf(const runtime::Session& session) {
  return {session.skip_stats(), session.screen_stats()};
}

/// Lines below the timings; none for what the model does not have.
std::string SavingsLines(const Savings& savings) {
  const Shares shares(savings);
  std::string lines;
  if (savings.zeros.up_rows.all != 0) {
    lines +=
        fmt::format("{:>16} = {:.1f} % of up_proj's rows, {:.1f} % of down_proj's columns read\n",
                    "zeros", 100 * shares.up, 100 * shares.down);
  }
  if (savings.zeros.experts.all != 0) {
    lines += fmt::format("{:>16} = of {} in all layers and passes, {:.1f} % read\n", "experts",
                         savings.zeros.experts.all,
                         100 * Share(savings.zeros.experts.live, savings.zeros.experts.all));
  }
  if (savings.screen.tokens != 0 && shares.by_codes) {
    lines +=
        fmt::format("{:>16} = of {} rows per token, {:.3f} % remained candidates\n", "output head",
                    savings.screen.rows / savings.screen.tokens, 100 * shares.after_7_bits);
  } else if (savings.screen.tokens != 0) {
    lines += fmt::format(
        "{:>16} = of {} rows per token, {:.1f} % remained candidates after 4 bits, {:.2f} % after "
        "5, {:.3f} % after 7\n",
        "output head", savings.screen.rows / savings.screen.tokens, 100 * shares.after_4_bits,
        100 * shares.after_5_bits, 100 * shares.after_7_bits);
  }
  return lines;
}

Json SavingsJson(const Savings& savings) {
  const Shares shares(savings);
  Json json = {{"zeros", nullptr}, {"experts", nullptr}, {"screen", nullptr}};
  if (savings.zeros.experts.all != 0) {
    json["experts"] = {{"all", savings.zeros.experts.all}, {"read", savings.zeros.experts.live}};
  }
  if (savings.zeros.up_rows.all != 0) {
    json["zeros"] = {{"up_rows_read", shares.up}, {"down_columns_read", shares.down}};
  }
  if (savings.screen.tokens != 0) {
    json["screen"] = {{"tokens", savings.screen.tokens},
                      {"rows", savings.screen.rows / savings.screen.tokens},
                      {"after_4_bits", shares.by_codes ? Json() : Json(shares.after_4_bits)},
                      {"after_5_bits", shares.by_codes ? Json() : Json(shares.after_5_bits)},
                      {"after_7_bits", shares.after_7_bits}};
  }
  return json;
}

Json ZerosJson(const runtime::ZeroCounter& zeros) {
  Json rows = Json::MakeArray();
  for (const auto& layer : zeros.layers()) {
    rows.push_back({{"gates", layer.gates},
                    {"zero_gates", layer.zero_gates},
                    {"down_proj_inputs", layer.inputs},
                    {"zero_down_proj_inputs", layer.zero_inputs}});
  }
  return Json{{"layers", rows}};
}

}  // namespace bittern::report
