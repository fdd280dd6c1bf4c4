// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.hpp"

namespace bittern {
namespace {

struct Lead {
  std::size_t size;         // bytes of the character; 0: not a lead byte
  unsigned char low, high;  // range of the second byte (Unicode table 3-7)
};

/// The ranges leave out overlong forms (0xc0, 0xe0, 0xf0), surrogates (0xed) and all above U+10FFFF
/// (0xf4).
constexpr Lead LeadOf(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xc2) return {0, 0, 0};
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte < 0xf0) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte < 0xf4) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

/// How many bytes at the front of `text` agree with the character that its first byte opens.
std::size_t AgreeingBytes(std::string_view text, const Lead& lead) {
  std::size_t count = 1;
  while (count < lead.size && count < text.size()) {
    const auto byte = static_cast<unsigned char>(text[count]);
    const unsigned char low = count == 1 ? lead.low : 0x80;
    const unsigned char high = count == 1 ? lead.high : 0xbf;
    if (byte < low || byte > high) break;
    ++count;
  }
  return count;
}

}  // namespace

/// An invalid sequence is one step as long as its bytes agree with a character (the maximal subpart
/// of Unicode, section 3.9), so each becomes one U+FFFD.
Utf8Step DecodeUtf8(std::string_view text) noexcept {
  const auto first = static_cast<unsigned char>(text[0]);
  const Lead lead = LeadOf(first);
  if (lead.size == 1) return {first, 1, true};
  if (lead.size == 0) return {0xfffd, 1, false};
  const std::size_t agreeing = AgreeingBytes(text, lead);
  if (agreeing < lead.size) return {0xfffd, agreeing, false};
  char32_t code_point = first & (0x7fu >> lead.size);
  for (std::size_t i = 1; i < lead.size; ++i) {
    code_point = code_point << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
  }
  return {code_point, lead.size, true};
}

void AppendUtf8(char32_t code_point, std::string* out) {
  const auto put = [out](char32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xc0 | code_point >> 6);
    put(0x80 | (code_point & 0x3f));
  } else if (code_point < 0x10000) {
    put(0xe0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3f));
    put(0x80 | (code_point & 0x3f));
  } else {
    put(0xf0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3f));
    put(0x80 | (code_point >> 6 & 0x3f));
    put(0x80 | (code_point & 0x3f));
  }
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    if (step.valid) {
      out.append(text.substr(0, step.size));
    } else {
      AppendUtf8(0xfffd, &out);
    }
    text.remove_prefix(step.size);
  }
  return out;
}

bool IsIncompleteUtf8(std::string_view text) noexcept {
  if (text.empty()) return false;
  const Lead lead = LeadOf(static_cast<unsigned char>(text[0]));
  return lead.size > text.size() && AgreeingBytes(text, lead) == text.size();
}

}  // namespace bittern
