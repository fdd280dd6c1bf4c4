// SPDX-License-Identifier: Apache-2.0
// Bytes as text (RFC 4648, sec. 4). Pure; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace bittern {

/// With '=' behind, to a multiple of four characters.
[[nodiscard]] std::string Base64(std::span<const std::byte> bytes);

}  // namespace bittern
