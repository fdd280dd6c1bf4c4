// SPDX-License-Identifier: Apache-2.0
// The built-in model is a GGUF file put into read-only data by default_model.S.
#include "cli/options/default_model.hpp"

#include <cstdlib>
#include <span>
#include <utility>

#include "base/os/environment.hpp"
#include "cli/options/local_model.hpp"
#include "cli/options/outputs.hpp"

extern "C" {
extern const std::byte bittern_default_model[];
extern const std::byte bittern_default_model_end[];
}

namespace bittern::cli {

Result<formats::Checkpoint> OpenBuiltinModel() {
  return formats::Checkpoint::OpenBytes({bittern_default_model, bittern_default_model_end},
                                        "built-in " BITTERN_DEFAULT_MODEL_NAME);
}

namespace {

/// No output of the command may be one of the model's files.
Result<formats::Checkpoint> OpenNamed(const std::string& name) {
  const std::string path = BITTERN_TRY(LocalModel(name));
  auto model = BITTERN_TRY(formats::Checkpoint::Open(path));
  BITTERN_TRY(CheckNoOutputIs(model));
  return model;
}

}  // namespace

/// The order is: the flag, $BITTERN_MODEL, the built-in model.
Result<formats::Checkpoint> OpenModelFile(const std::string& path) {
  if (!path.empty()) return OpenNamed(path);
  const char* named = os::Variable("BITTERN_MODEL");
  if (named != nullptr && *named != '\0') {
    return OpenNamed(named).map_error(
        [](Error error) { return Within("$BITTERN_MODEL", std::move(error)); });
  }
  return OpenBuiltinModel();
}

}  // namespace bittern::cli
