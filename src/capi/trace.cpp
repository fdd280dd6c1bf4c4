// SPDX-License-Identifier: Apache-2.0
// Traces of the C interface: what each operation of a network computed.
#include "proof/trace/trace.hpp"

#include <fmt/format.h>

#include <memory>

#include "capi/objects.hpp"
#include "capi/options.hpp"
#include "proof/trace/dump.hpp"
#include "proof/trace/summary.hpp"
#include "report/earlier_output.hpp"

namespace bittern::capi {
namespace {

/// Error kInvalidArgument: the folder holds something that is no trace.
Result<void> CheckFolder(const char* folder) {
  const auto foreign = report::ForeignFileIn(report::Holds::kTrace, folder);
  if (foreign.empty()) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("folder: a new folder or one with an earlier trace expected, {} found",
                          foreign.string()));
}

}  // namespace
}  // namespace bittern::capi

using namespace bittern;        // NOLINT: the C function below stands outside of any namespace
using namespace bittern::capi;  // NOLINT

bittern_status bittern_trace(const bittern_model* model, const int32_t* ids, size_t count,
                             const char* folder, const bittern_options* options,
                             bittern_result** result) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedArray(ids, count, "ids"));
    BITTERN_TRY(NeedPointer(result, "result"));
    const Settings settings = BITTERN_TRY(SettingsOf(options));
    if (folder != nullptr) BITTERN_TRY(CheckFolder(folder));
    const runtime::SessionOptions session = SessionOptionsOf(settings);
    const proof::Trace trace =
        BITTERN_TRY(proof::RunTrace(found->loaded, IdSpan(ids, count),
                                    {.kv_type = session.kv_type,
                                     .num_threads = session.num_threads,
                                     .values = folder != nullptr && WantsValues(settings),
                                     .program = "bittern " BITTERN_VERSION}));
    if (folder != nullptr) BITTERN_TRY(proof::WriteDump(trace, folder));
    auto given = std::make_shared<ResultObject>();
    given->text = proof::TraceText(trace);
    Give(std::move(given), result);
    return {};
  });
}
