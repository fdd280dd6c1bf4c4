// SPDX-License-Identifier: Apache-2.0
// tokenizer.model of the LLaMA-3 release (tiktoken's form): each line is a token's bytes in base64
// and its rank, which is its id. Two neighbours merge whenever their bytes together are a token,
// the lowest rank first; written as a list of merges, that is every split of every token, in the
// order of ranks.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <unordered_map>

#include "base/byte_alphabet.hpp"
#include "base/text/display.hpp"
#include "formats/hf/hf_vocabulary.hpp"

namespace bittern::formats {
namespace {

constexpr std::size_t kMaxTokenBytes = 256;  // LLaMA-3's longest has 128
// LLaMA-3 has 280,147 merges of 4 MB. A small file can ask for far more: a token of n bytes has up
// to n - 1 splits, each written out.
constexpr std::size_t kMaxMerges = std::size_t{1} << 21;
constexpr std::size_t kMaxMergeBytes = std::size_t{64} << 20;
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The value of each base64 digit, 64 for other characters.
constexpr std::array<std::uint8_t, 256> MakeDigitValues() {
  std::array<std::uint8_t, 256> values{};
  values.fill(64);
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}
constexpr std::array<std::uint8_t, 256> kDigitValues = MakeDigitValues();

/// The bytes that padded base64 stands for; nullopt if it is none.
std::optional<std::string> DecodeBase64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::string bytes;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const std::uint8_t value = kDigitValues[static_cast<unsigned char>(c)];
    if (value == 64) return std::nullopt;
    bits = bits << 6 | value;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xff));
  }
  return bytes;
}

/// One line of the file, decoded.
struct RankedToken {
  std::string bytes;
  std::uint64_t rank;
};

/// Reads "BASE64 RANK"; nullopt for any other line.
std::optional<RankedToken> ParseLine(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  auto bytes = DecodeBase64(line.substr(0, space));
  std::uint64_t rank = 0;
  const char* end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data() + space + 1, end, rank);
  if (!bytes || bytes->empty() || error != std::errc() || stop != end) return std::nullopt;
  return RankedToken{*std::move(bytes), rank};
}

/// Every split of every token into two tokens, by the whole's rank, then the left part's size.
Result<void> MakeMerges(const std::vector<std::string>& tokens, HfVocabulary* vocabulary) {
  std::size_t bytes = 0;
  std::unordered_map<std::string_view, std::size_t> ids;
  for (std::size_t id = 0; id < tokens.size(); ++id) ids.emplace(tokens[id], id);
  for (const std::string& token : tokens) {
    const std::string_view whole = token;
    for (std::size_t cut = 1; cut < whole.size(); ++cut) {
      const auto left = ids.find(whole.substr(0, cut));
      const auto right = ids.find(whole.substr(cut));
      if (left == ids.end() || right == ids.end()) continue;
      vocabulary->merges.push_back(vocabulary->tokens[left->second] + " " +
                                   vocabulary->tokens[right->second]);
      bytes += vocabulary->merges.back().size();
    }
    if (vocabulary->merges.size() > kMaxMerges || bytes > kMaxMergeBytes) {
      return Fail(
          ErrorCode::kCorruptFile,
          fmt::format("at most {} ways of {} bytes to split tokens into two expected, {} of "
                      "{} bytes found up to token {}",
                      kMaxMerges, kMaxMergeBytes, vocabulary->merges.size(), bytes, Quoted(token)));
    }
  }
  return {};
}

/// The names of the 256 special tokens, as the release's tokenizer.py lists them.
std::vector<std::string> SpecialNames() {
  constexpr int kNumSpecials = 256;
  std::vector<std::string> names = {"<|begin_of_text|>", "<|end_of_text|>"};
  int reserved = 0;
  const auto add_reserved = [&names, &reserved] {
    names.push_back(fmt::format("<|reserved_special_token_{}|>", reserved++));
  };
  for (int i = 0; i < 4; ++i) add_reserved();
  names.insert(names.end(), {"<|start_header_id|>", "<|end_header_id|>"});
  add_reserved();
  names.emplace_back("<|eot_id|>");
  while (names.size() < kNumSpecials) add_reserved();
  return names;
}

}  // namespace

bool LooksLikeRankFile(std::string_view bytes) noexcept {
  return ParseLine(bytes.substr(0, bytes.find('\n'))).has_value();
}

/// Ranks must count up from 0, since they are ids. The special tokens follow the last rank.
Result<HfVocabulary> ReadRankFile(std::string_view text) {
  HfVocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = "llama-bpe";
  vocabulary.add_bos = true;
  std::vector<std::string> tokens;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    auto token = ParseLine(line);
    if (!token || token->rank != tokens.size()) {
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("line {}: base64 and the rank {} expected, {} found", number,
                              tokens.size(), Quoted(line)));
    }
    if (token->bytes.size() > kMaxTokenBytes) {
      return Fail(ErrorCode::kCorruptFile,
                  fmt::format("line {}: a token of at most {} bytes expected, {} found", number,
                              kMaxTokenBytes, token->bytes.size()));
    }
    std::string spelled;
    AppendSpelling(token->bytes, &spelled);
    BITTERN_TRY(SetToken(tokens.size(), spelled, token_type::kNormal, &vocabulary));
    tokens.push_back(std::move(token->bytes));
  }
  BITTERN_TRY(MakeMerges(tokens, &vocabulary));
  vocabulary.bos = tokens.size();
  vocabulary.eos = tokens.size() + 1;
  for (const std::string& name : SpecialNames()) {
    BITTERN_TRY(SetToken(vocabulary.tokens.size(), name, token_type::kControl, &vocabulary));
  }
  return vocabulary;
}

}  // namespace bittern::formats
