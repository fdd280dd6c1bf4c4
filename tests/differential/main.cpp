// SPDX-License-Identifier: Apache-2.0
// odd_model FOLDER: reads descriptions of models, one JSON object a line, from standard input; for
// each makes the model, runs all its variants and answers with one line of JSON. What an oracle
// needs is left in FOLDER: numbers.bin, and logits.bin of the plain way with a float cache.
#include <cstdio>
#include <fstream>
#include <iostream>

#include "odd_model.hpp"
#include "variants.hpp"

namespace bittern::differential {
namespace {

Json Answer(const Json& spec, const std::filesystem::path& folder) {
  OddModel made(spec);
  const std::filesystem::path path = folder / "model.gguf";
  made.WriteModel(path);
  Variants variants(path, spec["prompt"].get<std::vector<runtime::TokenId>>(), spec["generate"],
                    spec["seed"].get<std::uint32_t>());
  const std::vector<std::string> differences = variants.Compare();
  const Outcome& plain = variants.plain();
  std::ofstream(folder / "logits.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(plain.logits.data()),
             static_cast<std::streamsize>(plain.logits.size() * sizeof(float)));
  return {{"differences", differences},
          {"runs", variants.runs()},
          {"error", plain.error},
          {"prompt_error", plain.prompt_error},
          {"substitutes", made.substitutes()},
          {"tensors", made.WriteNumbers(folder / "numbers.bin")}};
}

int Main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: odd_model FOLDER < descriptions\n");
    return 2;
  }
  for (std::string line; std::getline(std::cin, line);) {
    Json answer;
    try {
      answer = Answer(Json::parse(line), argv[1]);
    } catch (const std::exception& error) {  // a wrong description
      answer = {{"broken", error.what()}};
    }
    std::cout << answer.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace bittern::differential

int main(int argc, char** argv) { return bittern::differential::Main(argc, argv); }
