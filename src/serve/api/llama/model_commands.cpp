// SPDX-License-Identifier: Apache-2.0
#include "serve/api/llama/model_commands.hpp"

#include "serve/api/openai/errors.hpp"

namespace bittern::serve {
namespace {

constexpr const char* kDone = R"({"success":true})";

}  // namespace

Result<void> LoadModelCommand(Models* models, const std::string& name,
                              const std::shared_ptr<Exchange>& exchange) {
  models->Load(name, {exchange, &exchange->gone()}, [exchange](Result<Models::Lease> lease) {
    if (lease.has_value()) return exchange->Reply({.body = kDone});
    exchange->Reply(OpenAiError(ApiErrorOf(lease.error())));
  });
  return {};
}

Result<void> UnloadModelCommand(Models* models, const std::string& name,
                                const std::shared_ptr<Exchange>& exchange) {
  BITTERN_TRY(models->Unload(name));
  exchange->Reply({.body = kDone});
  return {};
}

}  // namespace bittern::serve
