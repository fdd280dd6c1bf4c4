// SPDX-License-Identifier: Apache-2.0
// The value half of the GGUF reader: one typed metadata value off the front of a ByteReader.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "formats/metadata.hpp"

namespace bittern::formats {

/// A u64 length and that many bytes, at most `limit`. `what` names the text in errors.
[[nodiscard]] Result<std::string_view> ReadGgufString(ByteReader& reader, std::uint64_t limit,
                                                      std::string_view what);

/// A u32 type id and a value of that type. Errors kCorruptFile, kUnsupported (nested arrays) say
/// offset, expected and found; the caller adds the key.
[[nodiscard]] Result<MetaValue> ReadGgufValue(ByteReader& reader);

}  // namespace bittern::formats
