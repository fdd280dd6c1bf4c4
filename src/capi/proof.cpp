// SPDX-License-Identifier: Apache-2.0
// Certificates and conversions of the C interface.

#include "base/json/json.hpp"
#include "capi/log.hpp"
#include "capi/objects.hpp"
#include "capi/options.hpp"
#include "formats/convert/convert.hpp"
#include "proof/certificate/certify.hpp"
#include "runtime/convert_hints.hpp"

using namespace bittern;        // NOLINT: the C functions below stand outside of any namespace
using namespace bittern::capi;  // NOLINT

/// `progress` runs on this thread; a non-zero answer stops the work.
bittern_status bittern_certify(const bittern_model* model, const bittern_options* options,
                               bittern_progress_fn progress, void* user, bittern_result** result) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedPointer(result, "result"));
    const Settings settings = BITTERN_TRY(SettingsOf(options));
    std::atomic<bool> cancel = false;
    proof::CertifyOptions certify;
    certify.session = SessionOptionsOf(settings);
    certify.version = BITTERN_VERSION;
    certify.cancel = &cancel;
    certify.on_progress = [&](double done) {
      if (progress != nullptr && progress(user, done) != 0) cancel.store(true);
    };
    const auto certificate = BITTERN_TRY(proof::Certify(found->loaded, certify));
    auto given = std::make_shared<ResultObject>();
    given->text = proof::CertificateLine(certificate);
    given->json = proof::CertificateJson(certificate);
    Give(std::move(given), result);
    return {};
  });
}

/// An output whose proof fails is not left behind.
bittern_status bittern_convert(const char* input, const char* output,
                               const bittern_options* options, bittern_progress_fn progress,
                               void* user, bittern_result** result) {
  return Call([&]() -> Result<void> {
    BITTERN_TRY(NeedPointer(input, "input"));
    BITTERN_TRY(NeedPointer(output, "output"));
    BITTERN_TRY(NeedPointer(result, "result"));
    const Settings settings = BITTERN_TRY(SettingsOf(options));
    formats::ConvertOptions convert = BITTERN_TRY(ConvertOptionsOf(settings));
    auto source = BITTERN_TRY(formats::Checkpoint::Open(input));
    for (const std::string& text : OverridesOf(settings)) {
      BITTERN_TRY(source.metadata().Override(text));
    }
    Decisions decisions;
    convert.hints = runtime::HintsFor(source, &decisions);
    LogDecisions(decisions);
    convert.on_progress = [&](double done, std::string_view) {
      return progress == nullptr || progress(user, done) == 0;
    };
    const auto report = BITTERN_TRY(formats::Convert(source, output, convert));
    if (report.proof && !report.proof->ok()) {
      return Fail(ErrorCode::kInternal,
                  std::string(output) +
                      " was not written: the proof failed: " + report.proof->first_problem);
    }
    auto given = std::make_shared<ResultObject>();
    given->json = Json{{"kind", report.kind},
                       {"bytes", report.bytes_written},
                       {"ternary_tensors", report.ternary_tensors},
                       {"ternary_weights", report.ternary_weights},
                       {"plain_tensors", report.plain_tensors},
                       {"notes", report.notes}}
                      .Dump();
    Give(std::move(given), result);
    return {};
  });
}
