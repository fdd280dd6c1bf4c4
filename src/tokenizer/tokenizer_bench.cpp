// SPDX-License-Identifier: Apache-2.0
// How fast text is encoded and a vocabulary is built. With BITTERN_SHARED set, on LLaMA-3's
// vocabulary; else on the small one of the tests, which says little about speed.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "tokenizer/test_vocabulary.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::tokenizer {
namespace {

const TestVocabulary& Source() {
  static const TestVocabulary source = Llama3Vocabulary().value_or(SmallVocabulary());
  return source;
}

const Tokenizer& SharedTokenizer() {
  static const Tokenizer tokenizer = Source().Build().value();
  return tokenizer;
}

void Encode(benchmark::State& state, std::string_view unit) {
  constexpr std::size_t kTextBytes = 1 << 20;
  std::string text;
  while (text.size() < kTextBytes) text += unit;
  const Tokenizer& tokenizer = SharedTokenizer();
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.Encode(text));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

BENCHMARK_CAPTURE(Encode, english,
                  "Now these were the sons of David, which were born unto him in Hebron; the "
                  "firstborn Amnon, of Ahinoam the Jezreelitess. ")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Encode, code, "for (int i = 0; i < count; ++i) {\n    total += values[i];\n}\n")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Encode, japanese, "日本語のテキストは空白で区切られない。")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Encode, one_piece, "a")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Encode, bad_bytes, "\xff\xe2\x82")->Unit(benchmark::kMillisecond);

void Load(benchmark::State& state) {
  const formats::Metadata metadata = Source().ToMetadata();
  for (auto _ : state) {
    Decisions decisions;
    benchmark::DoNotOptimize(Tokenizer::FromMetadata(metadata, &decisions));
  }
}
BENCHMARK(Load)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace bittern::tokenizer
