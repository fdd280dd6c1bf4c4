// SPDX-License-Identifier: Apache-2.0
// The number of a token in its vocabulary.
#pragma once

#include <cstdint>

namespace bittern::tokenizer {

using TokenId = std::int32_t;

}  // namespace bittern::tokenizer
