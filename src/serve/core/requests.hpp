// SPDX-License-Identifier: Apache-2.0
// The reader of requests (src/request) under the names that this folder uses.
#pragma once

#include "request/answer_json.hpp"
#include "request/generate_fields.hpp"
#include "request/prompt_fields.hpp"
#include "request/tool_fields.hpp"

namespace bittern::serve {

using request::CheckConstraint;
using request::ConstraintJson;
using request::FieldOfError;
using request::FieldReader;
using request::FoundCall;
using request::kMostChoices;
using request::kMostLogprobs;
using request::kMostTools;
using request::MessageOf;
using request::NoteUnread;
using request::OptionalConstraint;
using request::OptionsJson;
using request::ParseBody;
using request::ReadConstraintJson;
using request::ReadContent;
using request::ReadFormat;
using request::ReadMessages;
using request::ReadToolAnswer;
using request::TelemetryRequest;
using request::TextRequest;
using request::ToolAnswerParts;
using request::ToolEvent;
using request::ToolReading;
using request::ToolRequest;
using request::ToolStream;
using request::UnreadFields;
using request::WrongField;

}  // namespace bittern::serve
