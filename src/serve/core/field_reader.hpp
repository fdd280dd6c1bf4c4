// SPDX-License-Identifier: Apache-2.0
// The reader of requests (request/field_reader.hpp) under the names that this folder uses.
#pragma once

#include "request/field_reader.hpp"

namespace bittern::serve {

using request::FieldOfError;
using request::FieldReader;
using request::ParseBody;
using request::WrongField;

}  // namespace bittern::serve
