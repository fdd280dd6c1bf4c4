// SPDX-License-Identifier: Apache-2.0
// A range is cut where the length of the encoding changes, then where its ends are not the first
// and the last text with their leading bytes; what is left is one span for each byte.
#include "grammar/automaton/utf8_ranges.hpp"

#include <algorithm>
#include <string>

#include "base/utf8.hpp"

namespace bittern::grammar {
namespace {

/// Appends the sequences of a range whose characters all have encodings of the same length. It cuts
/// off an incomplete beginning or end and calls itself for both pieces.
void AppendSameLength(CharRange range, std::vector<ByteSequence>* sequences) {
  // Bytes behind the first hold six bits each.
  for (int bits = 6; bits <= 18; bits += 6) {
    const char32_t low = (char32_t{1} << bits) - 1;
    if ((range.first & ~low) == (range.last & ~low)) break;
    if ((range.first & low) != 0 && range.first > 0x7f) {
      AppendSameLength({range.first, range.first | low}, sequences);
      return AppendSameLength({(range.first | low) + 1, range.last}, sequences);
    }
    if ((range.last & low) != low && range.last > 0x7f) {
      AppendSameLength({range.first, (range.last & ~low) - 1}, sequences);
      return AppendSameLength({range.last & ~low, range.last}, sequences);
    }
  }
  std::string first, last;
  AppendUtf8(range.first, &first);
  AppendUtf8(range.last, &last);
  ByteSequence sequence{.spans = {}, .size = first.size()};
  for (std::size_t i = 0; i < first.size(); ++i) {
    sequence.spans[i] = {static_cast<std::uint8_t>(first[i]), static_cast<std::uint8_t>(last[i])};
  }
  sequences->push_back(sequence);
}

}  // namespace

void AppendUtf8Sequences(CharRange range, std::vector<ByteSequence>* sequences) {
  // The first characters of each length, and of the surrogates.
  constexpr CharRange kParts[] = {
      {0, 0x7f}, {0x80, 0x7ff}, {0x800, 0xd7ff}, {0xe000, 0xffff}, {0x10000, kLastChar}};
  for (const CharRange& part : kParts) {
    const char32_t first = std::max(range.first, part.first);
    const char32_t last = std::min(range.last, part.last);
    if (first <= last) AppendSameLength({first, last}, sequences);
  }
}

}  // namespace bittern::grammar
