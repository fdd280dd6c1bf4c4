// SPDX-License-Identifier: Apache-2.0
// The part that requests for vectors have in common. Any thread.
#pragma once

#include "request/fields/field_reader.hpp"
#include "serve/core/vector_call.hpp"

namespace bittern::serve {

/// The reader of a body, whose unread members go to the call unless the server is strict. Sets how
/// vectors are pooled: as the server was told to, else as the model's file says. Errors: those of
/// FieldReader::Open, kUnsupported (the file asks for another pooling).
[[nodiscard]] Result<request::FieldReader> OpenVectorBody(const Service& service, const Json& body,
                                                          VectorCallRequest* call);

}  // namespace bittern::serve
