// SPDX-License-Identifier: Apache-2.0
// A hostile grammar must be refused or read, in time. The first byte says what kind it is; up to a
// byte of 0 the grammar follows, then a text for it. What a mask allows must be accepted.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/compiled_grammar.hpp"
#include "grammar/constraint.hpp"
#include "grammar/matcher.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bittern::grammar;
  if (size < 2 || size > 4000) return 0;
  static const auto vocabulary = [] {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
    for (const char* text : {"\": ", "\", \"", "\"}", "true", "ab", "é", "{\"", "]]", "10"}) {
      tokens.emplace_back(text);
    }
    return std::make_shared<const VocabularyTrie>(VocabularyTrie::Build(tokens));
  }();
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t end = std::min(input.find('\0'), input.size());
  const ConstraintKind kinds[] = {ConstraintKind::kGbnf, ConstraintKind::kJsonSchema,
                                  ConstraintKind::kRegex};
  const auto grammar = GrammarOf({kinds[data[0] % 3], std::string(input.substr(0, end))});
  if (!grammar) return 0;
  const auto compiled = CompiledGrammar::Create(*grammar, vocabulary);
  if (!compiled) return 0;
  Matcher matcher(*compiled);
  for (const char byte : input.substr(std::min(end + 1, input.size()))) {
    const auto mask = matcher.Mask();
    if (!mask) return 0;
    const auto id = static_cast<std::uint8_t>(byte);
    const bool allowed = (*mask)->Allows(id);
    if (matcher.AcceptBytes({&byte, 1}) != allowed) std::abort();
    if (!allowed) return 0;
  }
  return 0;
}
