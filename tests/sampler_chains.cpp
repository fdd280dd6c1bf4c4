// SPDX-License-Identifier: Apache-2.0
// Runs samplers for tests/sampler_oracle.py, with the vocabulary of a model.
// First it prints the tokens: a list of lists of bytes. Then it answers each line of input.
// In: {"options": fields of a request, "steps": [{"accept": ids, "ids": ..., "logits": ...}]}.
// Out: [{"id", "candidates": [[id, probability]]}] or {"error"}. Missing logits are -infinity.
#include <iostream>
#include <limits>
#include <string>

#include "base/json/json.hpp"
#include "request/generate_fields.hpp"
#include "runtime/loaded_model.hpp"
#include "runtime/sampling/sampler.hpp"

namespace {

using namespace bittern;

Result<Json> RunLine(const Json& line, const tokenizer::Tokenizer& tokenizer) {
  runtime::GenerateOptions options;
  auto fields = BITTERN_TRY(request::FieldReader::Open(line["options"]));
  BITTERN_TRY(request::ReadOptions(&fields, tokenizer, &options));
  BITTERN_TRY(fields.Finish());
  auto sampler = BITTERN_TRY(runtime::Sampler::Create(options.sampler, &tokenizer));
  Json results = Json::MakeArray();
  for (const Json& step : line["steps"].elements()) {
    for (const Json& id : step["accept"].elements()) {
      sampler.Accept(static_cast<runtime::TokenId>(id.AsUint().value_or(0)));
    }
    std::vector<float> logits(static_cast<std::size_t>(tokenizer.vocab_size()),
                              -std::numeric_limits<float>::infinity());
    for (std::size_t i = 0; i < step["ids"].size(); ++i) {
      logits[step["ids"][i].AsUint().value_or(0)] =
          static_cast<float>(step["logits"][i].AsNumber().value_or(0));
    }
    const runtime::TokenId id = BITTERN_TRY(sampler.Sample(logits));
    sampler.Accept(id);
    Json candidates = Json::MakeArray();
    for (const runtime::TokenProbability& candidate : sampler.LastCandidates()) {
      candidates.push_back({candidate.id, candidate.probability});
    }
    results.push_back({{"id", id}, {"candidates", std::move(candidates)}});
  }
  return results;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  const auto model = runtime::LoadedModel::Load(argv[1]);
  if (!model) {
    std::cerr << model.error().message << "\n";
    return 1;
  }
  const tokenizer::Tokenizer& tokenizer = (*model)->tokenizer;
  Json pieces = Json::MakeArray();
  for (runtime::TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    Json bytes = Json::MakeArray();
    for (const char byte : tokenizer.TokenBytes(id, true)) {
      bytes.push_back(static_cast<unsigned char>(byte));
    }
    pieces.push_back(std::move(bytes));
  }
  std::cout << pieces.Dump() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const Json json = Json::Parse(line, {.max_bytes = std::size_t{1} << 30}).value_or(Json());
    const Result<Json> result = RunLine(json, tokenizer);
    const Json answer = result ? *result : Json{{"error", result.error().message}};
    std::cout << answer.Dump() << std::endl;
  }
}
