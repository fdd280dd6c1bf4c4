// SPDX-License-Identifier: Apache-2.0
// The names of fields are an interface: add, never rename.
#include "doctor/outcome/diagnosis_json.hpp"

#include "base/json/json.hpp"

namespace bittern::doctor {
namespace {

Json UnlikeJson(const std::vector<Unlike>& unlike) {
  Json list = Json::MakeArray();
  for (const Unlike& one : unlike) list.push_back({{"name", one.name}, {"what", one.what}});
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

}  // namespace bittern::doctor
