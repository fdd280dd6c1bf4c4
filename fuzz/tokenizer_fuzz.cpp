// SPDX-License-Identifier: Apache-2.0
// Any bytes, encoded and decoded, must come back as themselves with bad UTF-8 replaced; whole and
// as a stream, and with cuts.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.hpp"
#include "tokenizer/detokenizer.hpp"
#include "tokenizer/test_vocabulary.hpp"
#include "tokenizer/tokenizer.hpp"

namespace {

using namespace bittern;
using tokenizer::TokenId;

void Check(bool holds) {
  if (!holds) std::abort();
}

std::string Streamed(const tokenizer::Tokenizer& tokenizer, std::span<const TokenId> ids,
                     bool render_special) {
  tokenizer::StreamingDetokenizer stream(tokenizer, render_special);
  std::string text;
  for (const TokenId id : ids) {
    const std::string part = stream.Push(id);
    Check(part == ReplaceInvalidUtf8(part));
    text += part;
  }
  return text + stream.Finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const tokenizer::Tokenizer tokenizer = tokenizer::SmallVocabulary().Build().value();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string expected = ReplaceInvalidUtf8(text);

  const auto plain = tokenizer.Encode(text);
  Check(!plain.empty() && plain[0] == tokenizer.bos_id());
  for (std::size_t i = 1; i < plain.size(); ++i) {
    Check(plain[i] >= 0 && plain[i] < tokenizer.vocab_size() && !tokenizer.IsControl(plain[i]));
  }
  Check(tokenizer.Decode(plain) == expected);
  Check(Streamed(tokenizer, plain, false) == expected);

  const auto special = tokenizer.Encode(text, {.add_bos = false, .parse_special = true});
  Check(tokenizer.Decode(special, true) == expected);
  Check(Streamed(tokenizer, special, true) == expected);

  // Cut before some characters.
  std::vector<std::size_t> cuts;
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] % 3 == 0 && (data[i] & 0xC0) != 0x80) cuts.push_back(i);
  }
  const std::vector<tokenizer::ByteRange> all = {{0, size}};
  const auto cut = tokenizer.EncodeTrusted(text, all, /*add_bos=*/false, cuts);
  Check(tokenizer.Decode(cut, true) == expected);

  // Ids that no text gives.
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i + 1 < size; i += 2) ids.push_back(data[i] | (data[i + 1] & 3) << 8);
  Check(Streamed(tokenizer, ids, true) == ReplaceInvalidUtf8(tokenizer.Decode(ids, true)));
  return 0;
}
