// SPDX-License-Identifier: Apache-2.0
// A hostile tokenizer must be refused or work. The first byte says which file the rest is:
//   'j' tokenizer.json   'm' tokenizer.model (SentencePiece or ranks)   'c' tokenizer_config.json
//   'g' generation_config.json   's' special_tokens_map.json   'a' added_tokens.json
// 'c', 'g', 's' and 'a' come with a good tokenizer.json.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/byte_alphabet.hpp"
#include "formats/hf/hf_tokenizer.hpp"
#include "tokenizer/detokenizer.hpp"
#include "tokenizer/tokenizer.hpp"

namespace {

using namespace bittern;

/// A byte-level tokenizer.json of all bytes, one merge and one special token.
std::string GoodJson() {
  std::string vocab;
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string spelling;
    const char as_char = static_cast<char>(byte);
    AppendSpelling({&as_char, 1}, &spelling);
    if (spelling == "\"" || spelling == "\\") spelling.insert(0, "\\");
    vocab += "\"" + spelling + "\":" + std::to_string(byte) + ",";
  }
  return R"({"added_tokens":[{"id":257,"content":"<|end|>","special":true}],"pre_tokenizer":)"
         R"({"type":"ByteLevel","add_prefix_space":false},"model":{"type":"BPE","vocab":{)" +
         vocab + R"("ab":256},"merges":["a b"]}})";
}

std::optional<std::string_view>* FieldOf(char letter, formats::HfTokenizerTexts* texts) {
  switch (letter) {
    case 'm':
      return &texts->tokenizer_model;
    case 'c':
      return &texts->tokenizer_config;
    case 'g':
      return &texts->generation_config;
    case 's':
      return &texts->special_tokens_map;
    case 'a':
      return &texts->added_tokens;
    default:
      return &texts->tokenizer_json;
  }
}

void UseTokenizer(const formats::Metadata& metadata) {
  Decisions decisions;
  const auto tokenizer = tokenizer::Tokenizer::FromMetadata(metadata, &decisions);
  if (!tokenizer) return;
  for (const std::string_view text :
       {"ab <|end|> abab 123", "\xe6\x97\xa5 \xff\xe2\x82\x81x", ""}) {
    for (const bool parse_special : {false, true}) {
      const auto ids = tokenizer->Encode(text, {.add_eos = true, .parse_special = parse_special});
      tokenizer::StreamingDetokenizer stream(*tokenizer, true, true);
      for (const auto id : ids) {
        if (id < 0 || id >= tokenizer->vocab_size()) std::abort();
        (void)stream.Push(id);
      }
      (void)stream.Finish();
      (void)tokenizer->Decode(ids, true);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const std::string good = GoodJson();
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const char letter = static_cast<char>(data[0]);
  formats::HfTokenizerTexts texts;
  if (letter != 'm' && letter != 'j') texts.tokenizer_json = good;
  *FieldOf(letter, &texts) = rest;
  for (const std::uint64_t vocab_size : {std::uint64_t{260}, std::uint64_t{1000}}) {
    formats::Metadata metadata;
    if (!formats::ReadHfTokenizer(texts, Json(), vocab_size, &metadata)) continue;
    UseTokenizer(metadata);
  }
  return 0;
}
