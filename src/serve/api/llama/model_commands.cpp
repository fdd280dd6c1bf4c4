// SPDX-License-Identifier: Apache-2.0
#include "serve/api/llama/model_commands.hpp"

#include "serve/api/openai/errors.hpp"

namespace bittern::serve {
namespace {

constexpr const char* kDone = R"({"success":true})";

}  // namespace

/// POST /models/load, with {"model": name}. The first argument of Load shares the exchange: the
/// loading thread drops the wish when its client is gone.
Result<void> LoadModelCommand(Models* models, const std::string& name,
                              const std::shared_ptr<Exchange>& exchange) {
  models->Load(name, {exchange, &exchange->gone()}, [exchange](Result<Models::Lease> lease) {
    if (lease.has_value()) return exchange->Reply({.body = kDone});
    exchange->Reply(OpenAiError(ApiErrorOf(lease.error())));
  });
  return {};
}

/// POST /models/unload, with {"model": name}. A model that is not loaded is no error.
Result<void> UnloadModelCommand(Models* models, const std::string& name,
                                const std::shared_ptr<Exchange>& exchange) {
  BITTERN_TRY(models->Unload(name));
  exchange->Reply({.body = kDone});
  return {};
}

}  // namespace bittern::serve
