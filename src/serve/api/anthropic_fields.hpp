// SPDX-License-Identifier: Apache-2.0
// A request to /v1/messages, read. Any thread.
#pragma once

#include "serve/api/tools.hpp"

namespace bittern::serve {

struct AnthropicRequest {
  CallRequest call = {};
  ToolReading tools = {};
};

/// Everything but how tokens are drawn: system, messages, tools, output_config. The prompt is in
/// `call.prompts`. Marks all such fields as read. Errors: kInvalidArgument with the field.
[[nodiscard]] Result<void> ReadAnthropic(FieldReader* fields, const Service& service,
                                         AnthropicRequest* request);

}  // namespace bittern::serve
