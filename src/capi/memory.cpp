// SPDX-License-Identifier: Apache-2.0
// The memory that sequences will take. The scratch memory is made, counted and given back: nothing
// writes to it, so that it costs address space for a moment and no memory.
#include "base/json/json.hpp"
#include "capi/objects.hpp"
#include "capi/options.hpp"
#include "runtime/session.hpp"

namespace bittern::capi {
namespace {

Json MemoryJson(const ModelObject& model, const runtime::SessionMemory& memory) {
  return {{"context_length", memory.context_length},
          {"pages", memory.pages},
          {"page_bytes", memory.page_bytes},
          {"kv_bytes", memory.pages * memory.page_bytes},
          {"state_bytes", memory.state_bytes},
          {"scratch_bytes", memory.scratch_bytes},
          {"threads", memory.num_threads},
          {"model_bytes", model.loaded->model.tensor_bytes()}};
}

}  // namespace
}  // namespace bittern::capi

using namespace bittern;        // NOLINT: the C function below stands outside of any namespace
using namespace bittern::capi;  // NOLINT

bittern_status bittern_model_memory(const bittern_model* model, const bittern_options* options,
                                    bittern_result** result) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedPointer(result, "result"));
    const Settings settings = BITTERN_TRY(SettingsOf(options));
    const auto memory = BITTERN_TRY(runtime::MemoryOf(*found->loaded, SessionOptionsOf(settings)));
    auto given = std::make_shared<ResultObject>();
    given->json = MemoryJson(*found, memory).Dump();
    Give(std::move(given), result);
    return {};
  });
}
