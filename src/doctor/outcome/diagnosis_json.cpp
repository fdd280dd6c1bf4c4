// SPDX-License-Identifier: Apache-2.0
// The names of fields are an interface: add, never rename.
#include "doctor/outcome/diagnosis_json.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "doctor/facts/tensor_facts.hpp"

namespace bittern::doctor {
namespace {

Json UnlikeJson(const std::vector<Unlike>& unlike) {
  Json list = Json::MakeArray();
  for (const Unlike& one : unlike) list.push_back({{"name", one.name}, {"what", one.what}});
  return list;
}

/// The ternary tensors of each layer.
Json ScalesJson(const formats::Checkpoint& file) {
  std::map<int, Json> layers;
  for (const formats::Tensor& tensor : file.tensors()) {
    const auto scale = ScaleOf(tensor);
    if (!scale || !tensor.name.starts_with("blk.")) continue;
    Json facts = {{"scale", *scale}};
    if (const auto counts = CodeCounts(tensor)) {
      const auto all = static_cast<double>(std::max<std::uint64_t>(tensor.num_elements(), 1));
      facts["zeros"] = static_cast<double>((*counts)[1]) / all;
    }
    std::string kind = KindOf(tensor.name);
    if (kind.ends_with(".weight")) kind.resize(kind.size() - std::string_view(".weight").size());
    layers[std::atoi(tensor.name.c_str() + 4)][kind] = std::move(facts);
  }
  Json list = Json::MakeArray();
  for (auto& [layer, kinds] : layers) {
    list.push_back({{"layer", layer}, {"kinds", std::move(kinds)}});
  }
  return list;
}

}  // namespace

Json DiagnosisJson(const Diagnosis& diagnosis) {
  Json findings = Json::MakeArray();
  for (const Finding& finding : diagnosis.findings) {
    findings.push_back({{"id", finding.id},
                        {"cause", finding.cause},
                        {"evidence", finding.evidence},
                        {"cure", finding.cure},
                        {"curable", finding.curable}});
  }
  Json object = {{"verdict", VerdictName(diagnosis.verdict)},
                 {"summary", diagnosis.summary},
                 {"findings", findings},
                 {"undecided", diagnosis.undecided}};
  if (diagnosis.nats_before) object["nats_before"] = *diagnosis.nats_before;
  if (diagnosis.nats_expected) object["nats_expected"] = *diagnosis.nats_expected;
  if (diagnosis.nats_after) object["nats_after"] = *diagnosis.nats_after;
  if (diagnosis.nats_before) object["nats_of_knowing_nothing"] = diagnosis.uniform;
  object["trials"] = diagnosis.trials;
  object["seconds"] = diagnosis.seconds;
  return object;
}

Json OutcomeJson(const Outcome& found) {
  Json object = {{"path", found.path}};
  object.Update(DiagnosisJson(found.diagnosis));
  if (found.likeness) {
    const Likeness& likeness = *found.likeness;
    object["like"] = {{"path", likeness.path},
                      {"summary", likeness.summary},
                      {"tensors", likeness.tensors},
                      {"equal", likeness.equal},
                      {"unlike", UnlikeJson(likeness.unlike)},
                      {"keys", likeness.keys},
                      {"unlike_keys", UnlikeJson(likeness.unlike_keys)}};
  }
  if (found.fix) {
    const bool written = found.fix->why.empty();
    object["fixed"] = {
        {"path", found.fix->path}, {"written", written}, {"proved", found.fix->ok()}};
    if (!written) object["fixed"]["why"] = found.fix->why;
  }
  return object;
}

Json PageJson(const Outcome& found, const formats::Checkpoint* file, const std::string& advice) {
  Json object = OutcomeJson(found);
  object["advice"] = advice;
  if (file != nullptr) object["scales"] = ScalesJson(*file);
  return object;
}

}  // namespace bittern::doctor
