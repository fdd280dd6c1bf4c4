// SPDX-License-Identifier: Apache-2.0
// The hand-written matcher of LLaMA-3's pattern must cut any text where PCRE2 cuts it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/utf8.hpp"
#include "tokenizer/pcre2_oracle.hpp"
#include "tokenizer/pretokenizer.hpp"

namespace {

using namespace bittern;

/// Valid UTF-8 of characters that both sides know; others become 'x'.
std::string ComparableText(std::string_view bytes, const tokenizer::Comparable& comparable) {
  std::string text;
  while (!bytes.empty()) {
    const Utf8Step step = DecodeUtf8(bytes);
    AppendUtf8(comparable(step.code_point) ? step.code_point : U'x', &text);
    bytes.remove_prefix(step.size);
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const tokenizer::Comparable comparable;
  static const tokenizer::Pcre2Pattern oracle(tokenizer::kLlama3Pattern);
  const std::string text = ComparableText({reinterpret_cast<const char*>(data), size}, comparable);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t piece = tokenizer::FirstLlama3PieceSize(rest);
    if (piece == 0 || piece != oracle.Match(rest)) std::abort();
    rest.remove_prefix(piece);
  }
  return 0;
}
