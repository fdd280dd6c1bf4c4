// SPDX-License-Identifier: Apache-2.0
#include "serve/api/llama/embedding.hpp"

#include <fmt/format.h>

#include <utility>

#include "serve/api/openai/errors.hpp"
#include "serve/api/shared/vector_body.hpp"
#include "serve/core/requests.hpp"

namespace bittern::serve {
namespace {

/// "embd_normalize": -1 leaves vectors as they are, 2 gives them the length 1.
Result<bool> ReadNormalize(FieldReader* fields) {
  constexpr int kNone = -1, kEuclid = 2;
  int norm = kEuclid;
  BITTERN_TRY(fields->Int("embd_normalize", -1, 1 << 20, &norm));
  if (norm == kNone || norm == kEuclid) return norm == kEuclid;
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("embd_normalize: expected -1 (none) or 2 (length 1), found {}", norm));
}

/// [{"index": 0, "embedding": [[...]]}, ...]: a list around each vector, as for models without
/// pooling, which have several.
std::string AnswerOf(const Vectors& made) {
  std::string body = "[";
  for (std::size_t i = 0; i < made.vectors.size(); ++i) {
    body += fmt::format(R"({}{{"index":{},"embedding":[)", i == 0 ? "" : ",", i);
    AppendFloats(made.vectors[i], &body);
    body += "]}";
  }
  return body + "]";
}

}  // namespace

Result<void> LlamaEmbedding(Service* service, const ApiRequest& request,
                            const std::shared_ptr<Exchange>& exchange) {
  VectorCallRequest call;
  auto fields = BITTERN_TRY(OpenVectorBody(*service, request.body, &call));
  call.vector.normalize = BITTERN_TRY(ReadNormalize(&fields));
  const bool content = fields.Has("content");
  call.texts = BITTERN_TRY(
      request::ReadTexts(&fields, content ? "content" : "input", service->target(), false));
  fields.Ignore({"model"});
  BITTERN_TRY(fields.Finish());
  StartVectorCall(service, std::move(call), AnswerOf, OpenAiError, exchange);
  return {};
}

}  // namespace bittern::serve
