// SPDX-License-Identifier: Apache-2.0
// A client's request for the vectors of texts: each text is a sequence of the engine, a few of them
// at a time, and the answer is given as a whole. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "request/vector_fields.hpp"
#include "runtime/engine/engine.hpp"
#include "serve/core/api_error.hpp"
#include "serve/core/service.hpp"
#include "serve/http/http_server.hpp"

namespace bittern::serve {

struct VectorCallRequest {
  std::vector<std::vector<runtime::TokenId>> texts = {};  ///< checked
  runtime::VectorRequest vector = {};
  request::UnreadFields unread = {};  ///< fields of the body that nothing has read
};

/// Vectors in the order of their texts.
struct Vectors {
  std::vector<std::vector<float>> vectors = {};
  std::size_t prompt_tokens = 0;
  double seconds = 0;  ///< from the request to the last vector
};

/// Makes the body of the answer.
using VectorShape = std::function<std::string(const Vectors&)>;

/// [1.5,-2,...]
void AppendFloats(std::span<const float> floats, std::string* json);

/// Queues the texts and answers through `exchange`, in time, or with an error in the API's shape.
void StartVectorCall(Service* service, VectorCallRequest request, VectorShape shape,
                     ErrorShape error, std::shared_ptr<Exchange> exchange);

}  // namespace bittern::serve
