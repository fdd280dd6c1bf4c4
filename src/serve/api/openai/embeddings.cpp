// SPDX-License-Identifier: Apache-2.0
// Vectors are written straight into the answer: as a tree of JSON a thousand of them would take
// hundreds of megabytes.
#include "serve/api/openai/embeddings.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/text/base64.hpp"
#include "serve/api/openai/errors.hpp"
#include "serve/api/shared/json_text.hpp"
#include "serve/api/shared/vector_body.hpp"
#include "serve/core/requests.hpp"

namespace bittern::serve {
namespace {

/// "encoding_format": numbers, or little-endian float32 in base64, which most clients ask for.
Result<bool> ReadBase64(FieldReader* fields) {
  std::string format = "float";
  BITTERN_TRY(fields->Text("encoding_format", &format));
  if (format == "float" || format == "base64") return format == "base64";
  return Fail(
      ErrorCode::kInvalidArgument,
      fmt::format("encoding_format: expected \"float\" or \"base64\", found \"{}\"", format));
}

/// "dimensions": the models that run here know no shorter vectors.
Result<void> CheckDimensions(FieldReader* fields, int hidden_size) {
  int dimensions = hidden_size;
  BITTERN_TRY(fields->Int("dimensions", 1, 1 << 24, &dimensions));
  if (dimensions == hidden_size) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("dimensions: expected {}, which this model's vectors have, found {}",
                          hidden_size, dimensions));
}

std::string AnswerOf(const Vectors& made, const std::string& model, bool base64) {
  std::string body = R"({"object":"list","data":[)";
  for (std::size_t i = 0; i < made.vectors.size(); ++i) {
    body +=
        fmt::format(R"({}{{"object":"embedding","index":{},"embedding":)", i == 0 ? "" : ",", i);
    if (base64) {
      body += '"' + Base64(std::as_bytes(std::span(made.vectors[i]))) + '"';
    } else {
      AppendFloats(made.vectors[i], &body);
    }
    body += '}';
  }
  const Json usage = {{"prompt_tokens", made.prompt_tokens}, {"total_tokens", made.prompt_tokens}};
  return body + fmt::format(R"(],"model":{},"usage":{}}})", Dump(Json(model)), Dump(usage));
}

}  // namespace

Result<void> OpenAiEmbeddings(Service* service, const ApiRequest& request,
                              const std::shared_ptr<Exchange>& exchange) {
  VectorCallRequest call;
  auto fields = BITTERN_TRY(OpenVectorBody(*service, request.body, &call));
  call.texts = BITTERN_TRY(request::ReadTexts(&fields, "input", service->target(), false));
  const bool base64 = BITTERN_TRY(ReadBase64(&fields));
  BITTERN_TRY(CheckDimensions(&fields, service->model().model.config().hidden_size));
  fields.Ignore({"model", "user", "input_type"});
  BITTERN_TRY(fields.Finish());
  const auto shape = [model = service->options().model_name, base64](const Vectors& made) {
    return AnswerOf(made, model, base64);
  };
  StartVectorCall(service, std::move(call), shape, OpenAiError, exchange);
  return {};
}

}  // namespace bittern::serve
