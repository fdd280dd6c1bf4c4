// SPDX-License-Identifier: Apache-2.0
// A hostile regular expression must be refused or find matches that follow each other, in time. The
// first line of the input is the expression, the rest a text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tokenizer/regex/regex.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bittern::tokenizer;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\n'), size);
  const std::string_view text = input.substr(std::min(end + 1, size));
  for (const TextUnit unit : {TextUnit::kUtf8, TextUnit::kByte}) {
    const auto regex = Regex::Compile(input.substr(0, end), unit);
    if (!regex) continue;
    Regex::Scratch scratch;
    std::size_t done = 0;
    regex->ForEachMatch(text, &scratch, [&](std::size_t begin, std::size_t after) {
      if (begin < done || after < begin || after > text.size()) std::abort();
      done = after;
    });
  }
  return 0;
}
