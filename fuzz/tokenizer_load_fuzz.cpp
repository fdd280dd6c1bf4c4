// SPDX-License-Identifier: Apache-2.0
// A hostile vocabulary must be refused or work. The input edits a good one, line by line:
//   'm' text  adds a merge           't' type text  adds a token of that type (a digit)
//   'x' text  is encoded at the end  'r' index text replaces the token at that index (a byte)
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.hpp"
#include "tokenizer/test_vocabulary.hpp"
#include "tokenizer/tokenizer.hpp"

namespace {

using namespace bittern;

void Edit(std::string_view line, tokenizer::TestVocabulary* vocabulary,
          std::vector<std::string>* texts) {
  if (line.size() < 2) return;
  const std::string rest(line.substr(2));
  const auto argument = static_cast<unsigned char>(line[1]);
  switch (line[0]) {
    case 'm':
      vocabulary->merges.emplace_back(line.substr(1));
      break;
    case 't':
      vocabulary->AddToken(rest, argument - '0');
      break;
    case 'r':
      vocabulary->tokens[argument % vocabulary->tokens.size()] = rest;
      break;
    case 'x':
      texts->emplace_back(line.substr(1));
      break;
    default:
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const tokenizer::TestVocabulary good = tokenizer::SmallVocabulary();
  tokenizer::TestVocabulary vocabulary = good;
  std::vector<std::string> texts = {"hello abc<|eot_id|>"};
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    Edit(rest.substr(0, end), &vocabulary, &texts);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto tokenizer = vocabulary.Build();
  if (!tokenizer.has_value()) return 0;
  for (const std::string& text : texts) {
    for (const bool parse_special : {false, true}) {
      const auto ids = tokenizer->Encode(text, {.parse_special = parse_special});
      for (const auto id : ids) {
        if (id < 0 || id >= tokenizer->vocab_size()) std::abort();
      }
      const auto same = tokenizer->Encode(text, {.add_bos = false, .parse_special = parse_special});
      if (tokenizer->Decode(same, true) != ReplaceInvalidUtf8(text)) std::abort();
    }
  }
  return 0;
}
