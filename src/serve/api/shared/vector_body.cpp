// SPDX-License-Identifier: Apache-2.0
#include "serve/api/shared/vector_body.hpp"

#include "runtime/pooled_hidden.hpp"

namespace bittern::serve {

Result<request::FieldReader> OpenVectorBody(const Service& service, const Json& body,
                                            VectorCallRequest* call) {
  const ServiceOptions& options = service.options();
  const model::Model& model = service.model().model;
  const auto of_file = BITTERN_TRY(
      runtime::DefaultPooling(model.checkpoint().metadata(), model.config().architecture));
  call->vector.pooling = options.pooling.value_or(of_file);
  return request::FieldReader::Open(body, {}, options.strict ? nullptr : &call->unread);
}

}  // namespace bittern::serve
