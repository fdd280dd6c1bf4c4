// SPDX-License-Identifier: Apache-2.0
// Writes random texts that obey a constraint, with the vocabulary of the model that is named and no
// model at all: for tests/grammar_oracle.py. A line {"kind", "text", "seed", "count", "budget"} of
// standard input gives {"texts", "ids", "whole", "mask_us", "compile_us"} or {"error"};
// {"accepts": [...]} in the place of "count" gives {"accepted": [...]}. With --vocabulary it prints
// {"tokens", "ends"} of the model instead, the bytes of each token in hexadecimal digits.
#include <fmt/format.h>

#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "formats/checkpoint.hpp"
#include "grammar/compiled_grammar.hpp"
#include "grammar/constraint.hpp"
#include "grammar/matcher.hpp"

namespace {

using namespace bittern;
using nlohmann::json;

/// This thread's time: other programs do not count.
double CpuMicroseconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

grammar::ConstraintKind KindOf(const std::string& name) {
  if (name == "json_schema") return grammar::ConstraintKind::kJsonSchema;
  if (name == "json_object") return grammar::ConstraintKind::kJsonObject;
  return name == "regex" ? grammar::ConstraintKind::kRegex : grammar::ConstraintKind::kGbnf;
}

/// Prefers what closes strings and brackets, past the budget almost always.
struct Picker {
  std::mt19937_64 random;

  tokenizer::TokenId Pick(const std::vector<tokenizer::TokenId>& allowed,
                          const grammar::VocabularyTrie& vocabulary, bool hurry) {
    std::vector<double> weights;
    for (const auto id : allowed) {
      const char first = vocabulary.bytes(id)[0];
      const bool closes = first == '"' || first == '}' || first == ']';
      weights.push_back(closes ? (hurry ? 1e9 : 0.1 * static_cast<double>(allowed.size())) : 1.0);
    }
    std::discrete_distribution<std::size_t> pick(weights.begin(), weights.end());
    return allowed[pick(random)];
  }
};

struct Text {
  std::string bytes;
  std::vector<tokenizer::TokenId> ids = {};
  bool whole = false;
};

Result<Text> Write(const std::shared_ptr<grammar::CompiledGrammar>& compiled, std::size_t budget,
                   Picker* picker, std::vector<double>* mask_us) {
  grammar::Matcher matcher(compiled);
  Text text;
  for (std::size_t i = 0; i < 8 * budget; ++i) {
    const double begin = CpuMicroseconds();
    const auto mask = BITTERN_TRY(matcher.Mask());
    mask_us->push_back(CpuMicroseconds() - begin);
    const bool hurry = i > budget;
    if (mask->count == 0 || (mask->may_end && (hurry || picker->random() % 3 == 0))) {
      text.whole = true;
      return text;
    }
    std::vector<tokenizer::TokenId> allowed = mask->few;
    if (allowed.empty()) {
      for (std::size_t id = 0; id < compiled->vocabulary().vocab_size(); ++id) {
        const auto token = static_cast<tokenizer::TokenId>(id);
        if (mask->Allows(token)) allowed.push_back(token);
      }
    }
    if (allowed.size() != mask->count) return Fail(ErrorCode::kInternal, "the count is wrong");
    const auto id = picker->Pick(allowed, compiled->vocabulary(), hurry);
    BITTERN_TRY(matcher.Accept(id));
    text.bytes += compiled->vocabulary().bytes(id);
    text.ids.push_back(id);
  }
  return text;
}

Result<json> RunLine(const json& line, grammar::GrammarCache* cache) {
  const double begin = CpuMicroseconds();
  const auto compiled = BITTERN_TRY(cache->Get({KindOf(line["kind"]), line["text"]}));
  const double compile_us = CpuMicroseconds() - begin;
  if (line.contains("accepts")) {
    json accepted = json::array();
    for (const json& text : line["accepts"]) {
      grammar::Matcher matcher(compiled);
      accepted.push_back(matcher.AcceptBytes(text.get<std::string>()) && matcher.accepting());
    }
    return Result<json>(tl::in_place, json{{"accepted", std::move(accepted)}});
  }
  Picker picker{std::mt19937_64(line["seed"].get<std::uint64_t>())};
  json texts = json::array(), whole = json::array(), ids = json::array();
  std::vector<double> mask_us;
  for (int i = 0; i < line["count"].get<int>(); ++i) {
    const Text text = BITTERN_TRY(Write(compiled, line["budget"], &picker, &mask_us));
    texts.push_back(text.bytes);
    ids.push_back(text.ids);
    whole.push_back(text.whole);
  }
  // In place: g++ 11 doubts whose conversion another return would be.
  return Result<json>(tl::in_place, json{{"texts", std::move(texts)},
                                         {"ids", std::move(ids)},
                                         {"whole", std::move(whole)},
                                         {"mask_us", mask_us},
                                         {"compile_us", compile_us}});
}

/// The vocabulary, for other programs that keep answers to a grammar.
json VocabularyOf(const tokenizer::Tokenizer& tokenizer) {
  json tokens = json::array(), ends = json::array();
  for (tokenizer::TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    std::string hex;
    const bool control = tokenizer.IsControl(id) || tokenizer.IsEndOfGeneration(id);
    for (const char byte : control ? std::string_view() : tokenizer.TokenBytes(id, false)) {
      hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    }
    tokens.push_back(hex);
    if (tokenizer.IsEndOfGeneration(id)) ends.push_back(id);
  }
  return {{"tokens", std::move(tokens)}, {"ends", std::move(ends)}};
}

}  // namespace

int main(int argc, char** argv) {
  const bool vocabulary = argc == 3 && std::string(argv[2]) == "--vocabulary";
  if (argc != 2 && !vocabulary) return 1;
  const auto checkpoint = formats::Checkpoint::Open(argv[1]);
  if (!checkpoint) {
    std::cerr << checkpoint.error().message << "\n";
    return 1;
  }
  Decisions decisions;
  const auto tokenizer = tokenizer::Tokenizer::FromMetadata(checkpoint->metadata(), &decisions);
  if (!tokenizer) {
    std::cerr << tokenizer.error().message << "\n";
    return 1;
  }
  if (vocabulary) {
    std::cout << VocabularyOf(*tokenizer).dump() << std::endl;
    return 0;
  }
  grammar::GrammarCache cache(*tokenizer);
  for (std::string line; std::getline(std::cin, line);) {
    const Result<json> result = RunLine(json::parse(line), &cache);
    const json answer = result ? *result : json{{"error", result.error().message}};
    std::cout << answer.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
  }
}
