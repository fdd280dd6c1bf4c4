// SPDX-License-Identifier: Apache-2.0
// Continues a text in C++: the likeliest next tokens, then a streamed text, from one model.
#include <algorithm>
#include <bittern/bittern.hpp>
#include <iostream>

int main() try {
  namespace bt = bittern::api;
  auto model = bt::Model::BuiltIn().value();
  auto prompt = model.Tokenize("A tern is").value();
  auto sequence = bt::Sequence::Create(model).value();
  sequence.Eval(prompt.ids()).value();
  const auto logits = sequence.Logits().value();
  const auto best = static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
  std::cout << "likeliest:" << model.Detokenize({&best, 1}).value().text() << "\n";
  const auto options = bt::Options::Of({{"n_predict", "20"}, {"temperature", "0"}}).value();
  static_cast<void>(sequence
                        .Generate(options,
                                  [](std::string_view text) {
                                    std::cout << text << std::flush;
                                    return true;
                                  })
                        .value());
  std::cout << "\n";
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
