// SPDX-License-Identifier: Apache-2.0
// Text and JSON are made from the same struct.
#include "report/convert_report.hpp"

#include <fmt/format.h>

#include "base/json/json.hpp"
#include "base/text/display.hpp"
#include "report/decisions.hpp"

namespace bittern::report {
namespace {

std::string Megabytes(std::uint64_t bytes) { return fmt::format("{:.1f} MB", double(bytes) / 1e6); }

/// How many scales the target keeps exactly, and the largest relative error of the others.
std::string ScalesText(const formats::ScaleCounts& scales) {
  if (scales.rounded == 0) return fmt::format("all {} exact", scales.exact);
  return fmt::format("{} exact, {} rounded, by {:.2e} at most", scales.exact, scales.rounded,
                     scales.max_relative_error);
}

/// The lines of --prove. Both hashes are shown only where they differ.
std::string ProofText(const formats::Proof& proof) {
  std::string text =
      fmt::format("proof: {} weights in {} tensors (-1 {}, 0 {}, +1 {}): ", proof.weights,
                  proof.tensors, proof.minus, proof.zero, proof.plus);
  text += proof.wrong_codes == 0 ? "all equal" : fmt::format("{} differ", proof.wrong_codes);
  text += proof.wrong_scales == 0 ? fmt::format("; scales: {}\n", ScalesText(proof.scales))
                                  : fmt::format("; scales: {} differ\n", proof.wrong_scales);
  text +=
      fmt::format("proof: {} of {} other tensors equal", proof.plain_equal, proof.plain_tensors);
  if (proof.largest_plain_error > 0) {
    text += fmt::format("; largest error {:.2e} of a row's largest magnitude ({})",
                        proof.largest_plain_error, Printable(proof.largest_plain_name));
  }
  text += fmt::format("\nproof: codes hash {}\n", proof.codes_hash_in);
  if (proof.codes_hash_out != proof.codes_hash_in) {
    text += fmt::format("proof: codes hash {} in the output\n", proof.codes_hash_out);
  }
  return text;
}

Json ScalesJson(const formats::ScaleCounts& scales) {
  return {{"exact", scales.exact},
          {"rounded", scales.rounded},
          {"max_relative_error", scales.max_relative_error}};
}

Json ProofJson(const formats::Proof& proof) {
  Json json = {{"ok", proof.ok()},
               {"tensors", proof.tensors},
               {"weights", proof.weights},
               {"minus_one", proof.minus},
               {"zero", proof.zero},
               {"plus_one", proof.plus},
               {"wrong_codes", proof.wrong_codes},
               {"wrong_scales", proof.wrong_scales},
               {"scales", ScalesJson(proof.scales)},
               {"codes_hash_in", proof.codes_hash_in},
               {"codes_hash_out", proof.codes_hash_out},
               {"other_tensors", proof.plain_tensors},
               {"other_equal", proof.plain_equal},
               {"other_max_error", proof.largest_plain_error}};
  if (!proof.ok()) json["first_problem"] = proof.first_problem;
  return json;
}

}  // namespace

/// Two lines about files and weights, then notes, then the proof.
std::string ConvertText(const ConvertSummary& summary) {
  const formats::ConvertReport& report = summary.report;
  std::string text = fmt::format("{} ({}, {}) -> {} ({}, {}) in {:.1f} s\n", summary.input,
                                 summary.input_kind, Megabytes(summary.input_bytes), summary.output,
                                 report.kind, Megabytes(report.bytes_written), summary.seconds);
  text += fmt::format("{}: {} weights in {} tensors; scales: {}", summary.target,
                      report.ternary_weights, report.ternary_tensors, ScalesText(report.scales));
  text += report.worst_scale.empty() ? "\n" : fmt::format(" ({})\n", Printable(report.worst_scale));
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  if (report.proof) text += ProofText(*report.proof);
  return text;
}

std::string ConvertJson(const ConvertSummary& summary) {
  const formats::ConvertReport& report = summary.report;
  Json json = {{"input", summary.input},
               {"input_kind", summary.input_kind},
               {"input_bytes", summary.input_bytes},
               {"output", summary.output},
               {"output_kind", report.kind},
               {"output_bytes", report.bytes_written},
               {"to", summary.target},
               {"seconds", summary.seconds},
               {"ternary_tensors", report.ternary_tensors},
               {"ternary_weights", report.ternary_weights},
               {"other_tensors", report.plain_tensors},
               {"scales", ScalesJson(report.scales)},
               {"notes", report.notes}};
  json["decisions"] = DecisionsJson(report.decisions);
  if (report.proof) json["proof"] = ProofJson(*report.proof);
  return json.Dump() + "\n";
}

}  // namespace bittern::report
