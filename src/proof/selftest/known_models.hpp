// SPDX-License-Identifier: Apache-2.0
// Models whose answers are known, as rows of data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/checkpoint.hpp"
#include "proof/certificate/certificate.hpp"

namespace bittern::proof {

/// The text of a model that takes the likeliest token each time.
struct KnownText {
  std::string_view prompt;
  bool chat;               ///< said in a conversation, by the model's template
  std::string_view begin;  ///< what the reply begins with
};

struct KnownModel {
  std::string_view name;
  std::uint64_t file_bytes;  ///< with sha256; 0: not known
  std::string_view sha256;   ///< of the file, 64 hexadecimal digits
  Certificate certificate;   ///< its line; empty texts: not known; see models/certificates.txt
  std::vector<KnownText> texts;
  bool relativity_loops;  ///< greedy text after kRelativityPrompt goes in circles
};

/// A prompt after which small models repeat themselves.
inline constexpr std::string_view kRelativityPrompt = "The theory of relativity states that";
/// The text that the official 2B-4T model wrote after it, once; it then went on with the same.
inline constexpr std::string_view kRelativityPassage =
    " The theory of relativity also states that the speed of light is constant and that time and "
    "space are relative.";

[[nodiscard]] const std::vector<KnownModel>& KnownModels();
/// The model whose file this is, byte by byte; null where it is none of these, or not one file.
/// Reads the file where a known one has its size.
[[nodiscard]] const KnownModel* KnownByFile(const formats::Checkpoint& file);
/// Its name; empty where there is none.
[[nodiscard]] std::string NameOfKnownFile(const formats::Checkpoint& file);

/// A text and its tokens in LLaMA-3's vocabulary, without BOS.
struct TokenVector {
  std::string_view text;
  std::vector<std::int32_t> ids;
};
[[nodiscard]] const std::vector<TokenVector>& Llama3Vectors();

/// Texts that every tokenizer has to give back: spaces, line ends, digits, other scripts.
[[nodiscard]] std::span<const std::string_view> RoundTripTexts() noexcept;

}  // namespace bittern::proof
