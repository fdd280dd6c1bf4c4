// SPDX-License-Identifier: Apache-2.0
// GPT-2's byte alphabet: every byte has one printable code point, so that a vocabulary of byte
// strings can be written as text. Space is U+0120, line feed is U+010A.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace bittern {

/// The code point that stands for each byte. Bytes 0x21-0x7E, 0xA1-0xAC and 0xAE-0xFF stand for
/// themselves; the other 68, in increasing order, are U+0100, U+0101, ... (source: GPT-2).
[[nodiscard]] const std::array<char32_t, 256>& ByteAlphabet() noexcept;

/// Appends the alphabet's spelling of `bytes` to `out`.
void AppendSpelling(std::string_view bytes, std::string* out);

/// Appends the bytes that `spelling` stands for. False, with `out` unchanged, if a character of
/// it is not in the alphabet or it is not UTF-8.
[[nodiscard]] bool AppendSpelledBytes(std::string_view spelling, std::string* out);

}  // namespace bittern
