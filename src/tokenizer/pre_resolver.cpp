// SPDX-License-Identifier: Apache-2.0
// A wrong guess would not be noticed, so anything that is not known by name is refused.
#include "tokenizer/pre_resolver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "formats/display.hpp"

namespace bittern::tokenizer {
namespace {

constexpr std::string_view kKey = "tokenizer.ggml.pre";
constexpr std::array<std::string_view, 3> kLlama3Names = {"llama-bpe", "llama3", "llama-v3"};
constexpr std::string_view kLlama3Bos = "<|begin_of_text|>";

bool HasLlama3Bos(const Vocabulary& vocabulary, TokenId bos) {
  return bos != kNoToken && vocabulary.type(bos) == TokenType::kControl &&
         vocabulary.bytes(bos) == kLlama3Bos;
}

}  // namespace

Result<PreTokenizer> ResolvePreTokenizer(const formats::Metadata& metadata,
                                         const Vocabulary& vocabulary, TokenId bos,
                                         Decisions* decisions) {
  const auto name = BITTERN_TRY(metadata.GetString(kKey));
  if (name) {
    if (std::ranges::find(kLlama3Names, *name) == kLlama3Names.end()) {
      return Fail(ErrorCode::kUnsupported, fmt::format("{} is \"{}\"; this build supports {}", kKey,
                                                       *name, fmt::join(kLlama3Names, ", ")));
    }
    decisions->push_back(
        {"pre-tokenizer", "llama-bpe", fmt::format("{} = {}", kKey, *name), false});
    return PreTokenizer::kLlama3;
  }
  if (!HasLlama3Bos(vocabulary, bos)) {
    return Fail(
        ErrorCode::kUnsupported,
        fmt::format("{} is absent and BOS is not {}, so the pre-tokenizer is unknown; if it "
                    "is LLaMA-3's, say --override-kv {}=str:llama-bpe",
                    kKey, kLlama3Bos, kKey));
  }
  decisions->push_back({"pre-tokenizer", "llama-bpe",
                        fmt::format("{} is absent; BOS is {}", kKey, kLlama3Bos), true});
  return PreTokenizer::kLlama3;
}

}  // namespace bittern::tokenizer
