// SPDX-License-Identifier: Apache-2.0
// Puts the parts together: special tokens, then pieces, then merges.
#include "tokenizer/tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/utf8.hpp"
#include "formats/display.hpp"
#include "tokenizer/bpe.hpp"
#include "tokenizer/merge_table.hpp"
#include "tokenizer/pre_resolver.hpp"
#include "tokenizer/pretokenizer.hpp"
#include "tokenizer/special_ids.hpp"
#include "tokenizer/special_tokens.hpp"
#include "tokenizer/vocabulary.hpp"

namespace bittern::tokenizer {

struct Tokenizer::Impl {
  Vocabulary vocabulary;
  MergeTable merges;
  SpecialIds ids;
  PreTokenizer pre;
  SpecialTokens always_parsed;  // user-defined tokens
  SpecialTokens all_special;    // those and control tokens
};

namespace {

Result<void> CheckModel(const formats::Metadata& metadata) {
  const auto model = BITTERN_TRY(metadata.GetString("tokenizer.ggml.model"));
  if (!model) {
    return Fail(ErrorCode::kCorruptFile,
                "tokenizer.ggml.model is absent: the file has no tokenizer");
  }
  if (*model != "gpt2") {
    return Fail(
        ErrorCode::kUnsupported,
        fmt::format("tokenizer.ggml.model is {}; this build supports \"gpt2\" (byte-level BPE)",
                    formats::Quoted(*model)));
  }
  return {};
}

Result<std::span<const std::string_view>> ReadStrings(const formats::Metadata& metadata,
                                                      std::string_view key) {
  const auto strings = BITTERN_TRY(metadata.GetStrings(key));
  if (!strings || strings->empty()) {
    return Fail(ErrorCode::kCorruptFile, fmt::format("{} is absent or empty", key));
  }
  return *strings;
}

Result<void> CheckCount(std::string_view key, std::size_t found, std::size_t num_tokens) {
  if (found == num_tokens) return {};
  return Fail(ErrorCode::kCorruptFile,
              fmt::format("{} has {} entries, but there are {} tokens", key, found, num_tokens));
}

Result<Vocabulary> ReadVocabulary(const formats::Metadata& metadata, Decisions* decisions) {
  const auto strings = BITTERN_TRY(ReadStrings(metadata, "tokenizer.ggml.tokens"));
  if (strings.size() > static_cast<std::size_t>(std::numeric_limits<TokenId>::max())) {
    return Fail(
        ErrorCode::kUnsupported,
        fmt::format("tokenizer.ggml.tokens has {} entries; ids have 31 bits", strings.size()));
  }
  constexpr std::string_view kTypes = "tokenizer.ggml.token_type";
  constexpr std::string_view kScores = "tokenizer.ggml.scores";
  const auto types = BITTERN_TRY(metadata.GetInts(kTypes));
  const auto scores = BITTERN_TRY(metadata.GetFloats(kScores));
  if (types) BITTERN_TRY(CheckCount(kTypes, types->size(), strings.size()));
  if (scores) BITTERN_TRY(CheckCount(kScores, scores->size(), strings.size()));
  if (!types) {
    decisions->push_back({"vocabulary", "tokens of the form <|...|> are control tokens",
                          "tokenizer.ggml.token_type is absent", true});
  }
  return Vocabulary::Build(strings, types.value_or(std::vector<std::int32_t>()), decisions);
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const bool ascii = static_cast<unsigned char>(text[0]) < 0x80;
    const Utf8Step step = ascii ? Utf8Step{0, 1, true} : DecodeUtf8(text);
    if (!step.valid) return false;
    text.remove_prefix(step.size);
  }
  return true;
}

std::size_t FirstPieceSize(PreTokenizer pre, std::string_view text) {
  switch (pre) {
    case PreTokenizer::kLlama3:
      return FirstLlama3PieceSize(text);
  }
  return text.size();
}

/// Appends the tokens of text in which no special token is to be recognised.
void AppendText(std::string_view text, PreTokenizer pre, const Vocabulary& vocabulary,
                BpeMerger* merger, std::vector<TokenId>* ids) {
  while (!text.empty()) {
    const std::size_t size = std::min(FirstPieceSize(pre, text), BpeMerger::kMaxPieceBytes);
    const std::string_view piece = text.substr(0, size);
    const TokenId whole = vocabulary.FindText(piece);
    if (whole != kNoToken) {
      ids->push_back(whole);
    } else {
      merger->Append(piece, ids);
    }
    text.remove_prefix(size);
  }
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::FromMetadata(const formats::Metadata& metadata, Decisions* decisions) {
  BITTERN_TRY(CheckModel(metadata));
  Vocabulary vocabulary = BITTERN_TRY(ReadVocabulary(metadata, decisions));
  SpecialIds ids = BITTERN_TRY(ResolveSpecialIds(metadata, vocabulary, decisions));
  const PreTokenizer pre =
      BITTERN_TRY(ResolvePreTokenizer(metadata, vocabulary, ids.bos, decisions));
  const auto merge_strings = BITTERN_TRY(ReadStrings(metadata, "tokenizer.ggml.merges"));
  MergeTable merges = BITTERN_TRY(MergeTable::Build(merge_strings, vocabulary, decisions));
  SpecialTokens always_parsed(vocabulary, /*with_control=*/false);
  SpecialTokens all_special(vocabulary, /*with_control=*/true);
  return Tokenizer(
      std::make_unique<const Impl>(Impl{std::move(vocabulary), std::move(merges), std::move(ids),
                                        pre, std::move(always_parsed), std::move(all_special)}));
}

std::vector<TokenId> Tokenizer::Encode(std::string_view text, const EncodeOptions& options) const {
  std::string repaired;
  if (!IsUtf8(text)) {
    repaired = ReplaceInvalidUtf8(text);
    text = repaired;
  }
  const SpecialTokens& special = options.parse_special ? impl_->all_special : impl_->always_parsed;
  BpeMerger merger(impl_->vocabulary, impl_->merges);
  std::vector<TokenId> ids;
  const auto append_text = [&](std::string_view gap) {
    AppendText(gap, impl_->pre, impl_->vocabulary, &merger, &ids);
  };
  const bool add_bos = options.add_bos && impl_->ids.adds_bos;
  if (add_bos) ids.push_back(impl_->ids.bos);
  std::size_t done = 0;
  while (const auto match = special.Find(text, done)) {
    append_text(text.substr(done, match->offset - done));
    // A prompt that spells BOS out at its start means the one that would be added anyway.
    const bool is_second_bos = add_bos && match->offset == 0 && match->id == impl_->ids.bos;
    if (!is_second_bos) ids.push_back(match->id);
    done = match->offset + match->size;
  }
  append_text(text.substr(done));
  return ids;
}

std::string Tokenizer::Decode(std::span<const TokenId> ids, bool render_special) const {
  std::string bytes;
  for (const TokenId id : ids) bytes += TokenBytes(id, render_special);
  return bytes;
}

std::string_view Tokenizer::TokenBytes(TokenId id, bool render_special) const {
  if (id < 0 || id >= vocab_size()) return {};
  switch (impl_->vocabulary.type(id)) {
    case TokenType::kNormal:
    case TokenType::kByte:
    case TokenType::kUserDefined:
      return impl_->vocabulary.bytes(id);
    case TokenType::kUnknown:
    case TokenType::kControl:
    case TokenType::kUnused:
      break;
  }
  return render_special ? impl_->vocabulary.bytes(id) : std::string_view();
}

std::int32_t Tokenizer::vocab_size() const noexcept { return impl_->vocabulary.size(); }
TokenId Tokenizer::bos_id() const noexcept { return impl_->ids.bos; }
TokenId Tokenizer::eos_id() const noexcept { return impl_->ids.eos; }
bool Tokenizer::adds_bos() const noexcept { return impl_->ids.adds_bos; }

bool Tokenizer::IsEndOfGeneration(TokenId id) const noexcept {
  return std::ranges::binary_search(impl_->ids.end_ids, id);
}

std::span<const TokenId> Tokenizer::end_of_generation_ids() const noexcept {
  return impl_->ids.end_ids;
}

bool Tokenizer::IsControl(TokenId id) const noexcept {
  return id >= 0 && id < vocab_size() && impl_->vocabulary.type(id) == TokenType::kControl;
}

}  // namespace bittern::tokenizer
