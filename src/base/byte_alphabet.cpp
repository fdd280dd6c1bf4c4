// SPDX-License-Identifier: Apache-2.0
// Both directions are tables computed at compile time from the rule in the header.
#include "base/byte_alphabet.hpp"

#include <cstdint>

#include "base/utf8.hpp"

namespace bittern {
namespace {

constexpr char32_t kFirstStandIn = 0x100;
constexpr char32_t kNumStandIns = 68;
constexpr char32_t kAlphabetEnd = kFirstStandIn + kNumStandIns;

constexpr bool StandsForItself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/// GPT-2's bytes_to_unicode: printable bytes of Latin-1 stand for themselves, the other 68 get
/// U+0100 and on, in order.
constexpr std::array<char32_t, 256> MakeAlphabet() {
  std::array<char32_t, 256> alphabet{};
  char32_t stand_in = kFirstStandIn;
  for (unsigned byte = 0; byte < 256; ++byte) {
    alphabet[byte] = StandsForItself(byte) ? char32_t{byte} : stand_in++;
  }
  return alphabet;
}

constexpr std::array<char32_t, 256> kAlphabet = MakeAlphabet();

/// The byte of each code point below kAlphabetEnd, -1 where there is none.
constexpr std::array<std::int16_t, kAlphabetEnd> MakeInverse() {
  std::array<std::int16_t, kAlphabetEnd> inverse{};
  inverse.fill(-1);
  for (unsigned byte = 0; byte < 256; ++byte) {
    inverse[kAlphabet[byte]] = static_cast<std::int16_t>(byte);
  }
  return inverse;
}

constexpr std::array<std::int16_t, kAlphabetEnd> kInverse = MakeInverse();
static_assert(kAlphabet[0] == 0x100 && kAlphabet[0xad] == kAlphabetEnd - 1);

}  // namespace

const std::array<char32_t, 256>& ByteAlphabet() noexcept { return kAlphabet; }

void AppendSpelling(std::string_view bytes, std::string* out) {
  for (const char byte : bytes) AppendUtf8(kAlphabet[static_cast<unsigned char>(byte)], out);
}

bool AppendSpelledBytes(std::string_view spelling, std::string* out) {
  const std::size_t size_before = out->size();
  while (!spelling.empty()) {
    const Utf8Step step = DecodeUtf8(spelling);
    const int byte = step.valid && step.code_point < kAlphabetEnd ? kInverse[step.code_point] : -1;
    if (byte < 0) {
      out->resize(size_before);
      return false;
    }
    out->push_back(static_cast<char>(byte));
    spelling.remove_prefix(step.size);
  }
  return true;
}

}  // namespace bittern
