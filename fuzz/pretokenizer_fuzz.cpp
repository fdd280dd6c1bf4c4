// SPDX-License-Identifier: Apache-2.0
// Any text must be cut where PCRE2 cuts it, by the rules that the first byte chooses.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.hpp"
#include "formats/pre_rules.hpp"
#include "tokenizer/pretokenizer.hpp"
#include "tokenizer/regex/pcre2_oracle.hpp"

namespace {

using namespace bittern;
using namespace bittern::tokenizer;

/// Valid UTF-8 of characters that both sides know; others become 'x'.
std::string ComparableText(std::string_view bytes, const Comparable& comparable) {
  std::string text;
  while (!bytes.empty()) {
    const Utf8Step step = DecodeUtf8(bytes);
    AppendUtf8(comparable(step.code_point) ? step.code_point : U'x', &text);
    bytes.remove_prefix(step.size);
  }
  return text;
}

struct Rules {
  std::vector<Pass> passes;
  std::vector<Pcre2Pattern> oracles;
};

std::vector<Rules> MakeAllRules() {
  std::vector<Rules> all;
  for (const formats::PreRules& rules : formats::AllPreRules()) {
    Rules made;
    for (const std::string_view pattern : rules.patterns) {
      made.passes.push_back({Regex::Compile(pattern, TextUnit::kUtf8).value()});
      made.oracles.emplace_back(ForPcre2(pattern));
    }
    all.push_back(std::move(made));
  }
  return all;
}

const Comparable& IsComparable() {
  static const Comparable comparable;
  return comparable;
}

const std::vector<Rules>& AllRules() {
  static const std::vector<Rules> all = MakeAllRules();
  return all;
}

}  // namespace

/// All tables are made here, so that their time is not the first input's.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  (void)IsComparable();
  (void)AllRules();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Rules& rules = AllRules()[data[0] % AllRules().size()];
  const std::string text =
      ComparableText({reinterpret_cast<const char*>(data) + 1, size - 1}, IsComparable());
  std::vector<std::string> pieces;
  PieceCutter(rules.passes).ForEachPiece(text, [&](std::string_view piece) {
    pieces.emplace_back(piece);
  });
  if (pieces != OraclePieces(rules.oracles, text)) std::abort();
  return 0;
}
