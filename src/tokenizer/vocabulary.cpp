// SPDX-License-Identifier: Apache-2.0
// One arena of bytes and one flat hash table, since there are 128,256 tokens to read at every
// start.
#include "tokenizer/vocabulary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "base/byte_alphabet.hpp"

namespace bittern::tokenizer {
namespace {

std::uint32_t HashOf(std::string_view bytes) {
  const std::size_t hash = std::hash<std::string_view>()(bytes);
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

bool LooksLikeControl(std::string_view string) {
  return string.size() > 4 && string.starts_with("<|") && string.ends_with("|>");
}

/// The byte that "<0x0A>" names, -1 for other strings.
int NamedByte(std::string_view string) {
  if (string.size() != 6 || !string.starts_with("<0x") || string[5] != '>') return -1;
  unsigned byte = 0;
  const auto [end, error] = std::from_chars(string.data() + 3, string.data() + 5, byte, 16);
  return error == std::errc() && end == string.data() + 5 ? static_cast<int>(byte) : -1;
}

/// For files without token_type.
TokenType TypeByName(std::string_view string, Spelling spelling) {
  if (spelling == Spelling::kByteAlphabet) {
    return LooksLikeControl(string) ? TokenType::kControl : TokenType::kNormal;
  }
  if (NamedByte(string) >= 0) return TokenType::kByte;
  if (string == "<unk>") return TokenType::kUnknown;
  return string == "<s>" || string == "</s>" ? TokenType::kControl : TokenType::kNormal;
}

/// The type of a token by tokenizer.ggml.token_type (the numbers of llama.cpp's llama_token_type),
/// or by its name in files without types.
Result<TokenType> TypeOf(std::string_view string, std::span<const std::int32_t> types,
                         Spelling spelling, std::size_t id) {
  if (types.empty()) return TypeByName(string, spelling);
  if (types[id] < 0 || types[id] > 6) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("tokenizer.ggml.token_type[{}] is {}, expected 0..6", id, types[id]));
  }
  // 0 is "undefined"; converters that leave it mean ordinary text.
  return types[id] == 0 ? TokenType::kNormal : static_cast<TokenType>(types[id]);
}

/// Texts are searched for control and user-defined tokens at every byte, which takes time up to the
/// longest one's length each.
Result<void> CheckLength(std::string_view string, TokenType type, std::size_t id) {
  constexpr std::size_t kMaxBytes = 1024;
  const bool is_searched = type == TokenType::kControl || type == TokenType::kUserDefined;
  if (!is_searched || string.size() <= kMaxBytes) return {};
  return Fail(ErrorCode::kUnsupported,
              fmt::format("tokenizer.ggml.tokens[{}]: at most {} bytes expected of a control or "
                          "user-defined token, {} found",
                          id, kMaxBytes, string.size()));
}

void Note(Decisions* decisions, std::string choice, std::string reason) {
  decisions->push_back({"vocabulary", std::move(choice), std::move(reason), true});
}

/// False for the 13 bytes that no UTF-8 text has, and real vocabularies often lack.
bool OccursInUtf8(unsigned byte) { return byte != 0xc0 && byte != 0xc1 && byte < 0xf5; }

/// Facts found by Build that a reader of the file should know.
struct Oddities {
  std::size_t unspelled = 0, duplicates = 0;
  TokenId first_unspelled = kNoToken, first_duplicate = kNoToken;

  /// One decision for each kind of oddity, with the first id as an example.
  void Report(Decisions* decisions) const {
    if (unspelled != 0) {
      Note(decisions, fmt::format("{} tokens are only decoded, never encoded", unspelled),
           fmt::format("their strings are not in the byte alphabet (first: id {})",
                       first_unspelled));
    }
    if (duplicates != 0) {
      Note(decisions, fmt::format("the lowest id wins for {} repeated tokens", duplicates),
           fmt::format("the file lists the same string twice (first: id {})", first_duplicate));
    }
  }
};

}  // namespace

Result<Vocabulary> Vocabulary::Build(std::span<const std::string_view> strings,
                                     std::span<const std::int32_t> types, Spelling spelling,
                                     Decisions* decisions) {
  Vocabulary vocabulary;
  vocabulary.byte_tokens_.fill(kNoToken);
  vocabulary.slots_.resize(std::bit_ceil(strings.size() * 2 + 1));
  vocabulary.types_.reserve(strings.size());
  vocabulary.ends_.reserve(strings.size() + 1);
  vocabulary.ends_.push_back(0);
  Oddities oddities;
  for (std::size_t i = 0; i < strings.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const TokenType type = BITTERN_TRY(TypeOf(strings[i], types, spelling, i));
    BITTERN_TRY(CheckLength(strings[i], type, i));
    const bool is_text = type == TokenType::kNormal || type == TokenType::kByte ||
                         (type == TokenType::kUserDefined && spelling == Spelling::kUnderline);
    const bool is_spelled = is_text && vocabulary.AppendText(id, strings[i], type, spelling);
    if (!is_spelled) vocabulary.bytes_.append(strings[i]);
    if (vocabulary.bytes_.size() > std::numeric_limits<std::uint32_t>::max()) {
      return Fail(ErrorCode::kUnsupported, "tokenizer.ggml.tokens holds 4 GiB of text or more");
    }
    vocabulary.ends_.push_back(static_cast<std::uint32_t>(vocabulary.bytes_.size()));
    vocabulary.types_.push_back(type);
    if (is_text && !is_spelled && oddities.unspelled++ == 0) oddities.first_unspelled = id;
    const bool is_found =
        is_spelled && (spelling == Spelling::kByteAlphabet || type == TokenType::kNormal);
    if (is_found && !vocabulary.IndexText(id) && oddities.duplicates++ == 0) {
      oddities.first_duplicate = id;
    }
  }
  BITTERN_TRY(vocabulary.FillByteTokens(spelling, decisions));
  oddities.Report(decisions);
  return vocabulary;
}

/// Linear probing; the table has more than twice as many slots as tokens, so a free one comes soon.
std::size_t Vocabulary::FindSlot(std::string_view wanted, std::uint32_t hash) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash & mask;
  while (slots_[i].id != kNoToken && (slots_[i].hash != hash || bytes(slots_[i].id) != wanted)) {
    i = (i + 1) & mask;
  }
  return i;
}

bool Vocabulary::IndexText(TokenId id) {
  const std::string_view token = bytes(id);
  if (token.empty()) return true;  // decodes to nothing; nothing becomes it
  const std::uint32_t hash = HashOf(token);
  Slot& slot = slots_[FindSlot(token, hash)];
  if (slot.id != kNoToken) return false;
  slot = {hash, id};
  return true;
}

bool Vocabulary::AppendText(TokenId id, std::string_view string, TokenType type,
                            Spelling spelling) {
  if (spelling == Spelling::kByteAlphabet) return AppendSpelledBytes(string, &bytes_);
  if (type == TokenType::kByte) {
    const int byte = NamedByte(string);
    if (byte < 0) return false;
    bytes_.push_back(static_cast<char>(byte));
    TokenId& token = byte_tokens_[static_cast<std::size_t>(byte)];
    if (token == kNoToken) token = id;
    return true;
  }
  constexpr std::string_view kUnderline = "\u2581";
  while (!string.empty()) {
    const std::size_t at = std::min(string.find(kUnderline), string.size());
    bytes_ += string.substr(0, at);
    string.remove_prefix(at);
    if (string.empty()) break;
    bytes_ += ' ';
    string.remove_prefix(kUnderline.size());
  }
  return true;
}

/// Checks the tokens of single bytes, from which every text can be built. SentencePiece has all
/// 256 or none; a byte-level vocabulary may lack some, with a note.
Result<void> Vocabulary::FillByteTokens(Spelling spelling, Decisions* decisions) {
  if (spelling == Spelling::kUnderline) {
    const auto missing = std::ranges::count(byte_tokens_, kNoToken);
    if (missing == 0 || missing == 256) return {};
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("tokenizer.ggml.tokens has byte tokens (<0x00> to <0xFF>) for {} of "
                            "256 bytes; all or none expected",
                            256 - missing));
  }
  std::vector<unsigned> missing;
  for (unsigned byte = 0; byte < byte_tokens_.size(); ++byte) {
    const char as_char = static_cast<char>(byte);
    byte_tokens_[byte] = FindText({&as_char, 1});
    if (byte_tokens_[byte] == kNoToken && OccursInUtf8(byte)) missing.push_back(byte);
  }
  if (missing.empty()) return {};
  if (std::ranges::count(byte_tokens_, kNoToken) == 256) {
    return Fail(ErrorCode::kCorruptFile,
                "tokenizer.ggml.tokens has no token for any single byte; a byte-level vocabulary "
                "needs them");
  }
  Note(decisions, fmt::format("{} bytes have no token", missing.size()),
       fmt::format("the file lists none for 0x{:02x}{}; a text loses them", missing[0],
                   missing.size() > 1 ? " and others" : ""));
  return {};
}

TokenId Vocabulary::FindText(std::string_view wanted) const noexcept {
  return slots_[FindSlot(wanted, HashOf(wanted))].id;
}

TokenId Vocabulary::FindControl(std::string_view name) const noexcept {
  for (TokenId id = 0; id < size(); ++id) {
    if (type(id) == TokenType::kControl && bytes(id) == name) return id;
  }
  return kNoToken;
}

}  // namespace bittern::tokenizer
