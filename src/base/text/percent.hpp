// SPDX-License-Identifier: Apache-2.0
// Percent coding of addresses (RFC 3986, section 2.1). Any thread.
#pragma once

#include <string>
#include <string_view>

namespace bittern {

/// Letters, digits and the characters of `keep` as they are, every other byte as %XX.
[[nodiscard]] std::string PercentEncoded(std::string_view text, std::string_view keep = "-._~");

/// With %xx as the byte it stands for; other text stays.
[[nodiscard]] std::string PercentDecoded(std::string_view text);

}  // namespace bittern
