// SPDX-License-Identifier: Apache-2.0
// A request to /v1/messages, read. Any thread.
#pragma once

#include "serve/core/requests.hpp"
#include "serve/core/service.hpp"

namespace bittern::serve {

/// Everything but how tokens are drawn: system, messages, tools, output_config. The prompt is in
/// `request->prompts`. Marks all such fields as read. Errors: kInvalidArgument with the field.
[[nodiscard]] Result<void> ReadAnthropic(FieldReader* fields, const request::Target& target,
                                         TextRequest* request);

}  // namespace bittern::serve
