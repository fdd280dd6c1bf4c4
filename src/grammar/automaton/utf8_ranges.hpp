// SPDX-License-Identifier: Apache-2.0
// Ranges of characters as ranges of bytes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "grammar/automaton/grammar.hpp"

namespace bittern::grammar {

struct ByteSpan {
  std::uint8_t low, high;
};
/// size spans, one after the other: all UTF-8 texts whose bytes lie in them.
struct ByteSequence {
  std::array<ByteSpan, 4> spans;
  std::size_t size;
};

/// Sequences that together are the characters of a range, each once; none for surrogates.
void AppendUtf8Sequences(CharRange range, std::vector<ByteSequence>* sequences);

}  // namespace bittern::grammar
