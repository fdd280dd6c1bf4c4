// SPDX-License-Identifier: Apache-2.0
// Files looked at without being loaded for use: inspect and doctor.
#include "doctor/outcome/examine.hpp"

#include <memory>

#include "capi/objects.hpp"
#include "capi/options.hpp"
#include "doctor/outcome/diagnosis_json.hpp"
#include "proof/selftest/known_models.hpp"
#include "report/inspect/report.hpp"

namespace bittern::capi {
namespace {

/// Opens a model with the metadata that the settings give in place of the file's.
Result<formats::Checkpoint> OpenWith(const std::string& path, const Settings& settings) {
  auto checkpoint = BITTERN_TRY(formats::Checkpoint::Open(path));
  for (const std::string& text : OverridesOf(settings)) {
    BITTERN_TRY(checkpoint.metadata().Override(text));
  }
  return checkpoint;
}

void GiveJson(const Json& json, bittern_result** result) {
  auto given = std::make_shared<ResultObject>();
  given->json = json.Dump();
  Give(std::move(given), result);
}

}  // namespace
}  // namespace bittern::capi

using namespace bittern;        // NOLINT: the C functions below stand outside of any namespace
using namespace bittern::capi;  // NOLINT

/// The check for changes comes last: a file that changed meanwhile is reported as that.
bittern_status bittern_inspect(const char* path, const bittern_options* options,
                               bittern_result** result) {
  return Call([&]() -> Result<void> {
    BITTERN_TRY(NeedPointer(path, "path"));
    BITTERN_TRY(NeedPointer(result, "result"));
    const Settings settings = BITTERN_TRY(SettingsOf(options));
    const auto checkpoint = BITTERN_TRY(OpenWith(path, settings));
    const Json json = report::InspectJson(report::MakeInspectReport(checkpoint, true));
    BITTERN_TRY(checkpoint.CheckUnchanged());
    GiveJson(json, result);
    return {};
  });
}

bittern_status bittern_doctor(const char* path, const bittern_options* options,
                              bittern_result** result) {
  return Call([&]() -> Result<void> {
    BITTERN_TRY(NeedPointer(path, "path"));
    BITTERN_TRY(NeedPointer(result, "result"));
    const Settings settings = BITTERN_TRY(SettingsOf(options));
    const DoctorSettings wanted = DoctorSettingsOf(settings);
    const doctor::Opener open = [&] { return OpenWith(path, settings); };
    BITTERN_TRY(doctor::CheckFolder(path, open));
    doctor::ExamineOptions examine{
        .name = path,
        .fixed = wanted.fix,
        .overwrite = wanted.overwrite,
        .diagnose = {.num_threads = wanted.num_threads, .identify = proof::NameOfKnownFile}};
    if (!wanted.like.empty()) {
      examine.like = [&] { return formats::Checkpoint::Open(wanted.like); };
    }
    const auto found = BITTERN_TRY(doctor::Examine(open, examine));
    GiveJson(doctor::OutcomeJson(found), result);
    return {};
  });
}
