// SPDX-License-Identifier: Apache-2.0
#include "eval/job/summary_text.hpp"

#include <fmt/format.h>

namespace bittern::eval {
namespace {

std::string DivergenceText(const Json& kl) {
  const auto number = [&](const char* name) { return kl[name].AsNumber().value_or(0); };
  return fmt::format(
      "KL divergence  {:.6f} +/- {:.6f} nats (median {:.6f}, 99 % below {:.6f}, most {:.6f})\n"
      "same first     {:.2f} % of the tokens\nperplexity     {:.6f} times the base's {:.4f}\n",
      number("mean"), number("error"), number("median"), number("p99"), number("max"),
      100 * number("same_top"), number("perplexity_ratio"), number("base_perplexity"));
}

}  // namespace

std::string SummaryText(const Json& result) {
  const auto number = [&](const char* name) { return result[name].AsNumber().value_or(0); };
  if (!result.contains("perplexity")) {
    return fmt::format("questions {}\nacc       {:.4f} +/- {:.4f}\nacc_norm  {:.4f} +/- {:.4f}\n",
                       CountIn(result, "questions"), number("acc"), number("acc_error"),
                       number("acc_norm"), number("acc_norm_error"));
  }
  std::string text = fmt::format(
      "perplexity     {:.4f} +/- {:.4f}\nbits per byte  {:.4f}\nnats per token {:.4f}\n"
      "first choice   {:.1f} % of the tokens\nscored         {} tokens, {} bytes, in {} windows\n",
      number("perplexity"), number("perplexity_error"), number("bits_per_byte"),
      number("nats_per_token"), 100 * number("top1"), CountIn(result, "tokens"),
      CountIn(result, "bytes"), CountIn(result, "windows"));
  if (result.contains("kl")) text += DivergenceText(result["kl"]);
  return text;
}

}  // namespace bittern::eval
