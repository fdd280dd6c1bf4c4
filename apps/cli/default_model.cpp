// SPDX-License-Identifier: Apache-2.0
// The built-in model is a GGUF file put into read-only data by default_model.S.
#include "cli/default_model.hpp"

#include <cstdlib>
#include <span>
#include <utility>

#include "cli/hub/pull.hpp"

extern "C" {
extern const std::byte bittern_default_model[];
extern const std::byte bittern_default_model_end[];
}

namespace bittern::cli {

Result<formats::Checkpoint> OpenBuiltinModel() {
  return formats::Checkpoint::OpenBytes({bittern_default_model, bittern_default_model_end},
                                        "built-in " BITTERN_DEFAULT_MODEL_NAME);
}

Result<formats::Checkpoint> OpenModelFile(const std::string& path) {
  if (!path.empty()) {
    const std::string local = BITTERN_TRY(hub::LocalModel(path));
    return formats::Checkpoint::Open(local);
  }
  const char* named = std::getenv("BITTERN_MODEL");
  if (named != nullptr && *named != '\0') {
    const std::string local = BITTERN_TRY(hub::LocalModel(named));
    return formats::Checkpoint::Open(local).map_error(
        [](Error error) { return Within("$BITTERN_MODEL", std::move(error)); });
  }
  return OpenBuiltinModel();
}

}  // namespace bittern::cli
