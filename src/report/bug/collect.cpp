// SPDX-License-Identifier: Apache-2.0
#include "report/bug/collect.hpp"

#include "proof/selftest/summary.hpp"

namespace bittern::report {

Json CollectParts(const CollectOptions& options) {
  const auto& say = options.on_progress;
  Json parts = {{"report", "bittern report v1"}, {"versions", options.versions}};
  say("looking at the machine");
  parts["machine"] = MachinePart(options.word);
  parts["model"] = options.path.empty() ? "built-in" : options.path;
  say("looking at the file");
  if (auto file = options.open()) {
    parts["file"] = FilePart(*file, options.word);
  } else {
    parts["file"] = {{"error", file.error().message}};
  }
  parts["doctor"] = DoctorPart(options.open, options.path, options.num_threads, say);
  parts["selftest"] = proof::SelftestJson(options.selftest());
  say("measuring");
  parts["bench"] = BenchPart(options.open, options.num_threads);
  return parts;
}

std::string CleanReport(Json parts, const PrivateWords& words, bool json) {
  CleanTexts(&parts, words);
  const std::string text = parts.Dump(2) + "\n";
  return json ? text : PartsText(Json::Parse(text, {}).value_or(Json()));
}

}  // namespace bittern::report
