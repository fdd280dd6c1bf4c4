// SPDX-License-Identifier: Apache-2.0
// Puts the parts together: special tokens, then pieces, then merges; or, for SentencePiece models,
// merges alone.
#include "tokenizer/tokenizer.hpp"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "base/text/display.hpp"
#include "base/utf8.hpp"
#include "tokenizer/bpe.hpp"
#include "tokenizer/merge_table.hpp"
#include "tokenizer/pre_resolver.hpp"
#include "tokenizer/pretokenizer.hpp"
#include "tokenizer/sentencepiece.hpp"
#include "tokenizer/special_ids.hpp"
#include "tokenizer/special_tokens.hpp"
#include "tokenizer/vocabulary.hpp"

namespace bittern::tokenizer {

struct Tokenizer::Impl {
  /// Tables that byte-level models need beside the vocabulary.
  struct BytePairs {
    MergeTable merges;
    PreTokenizer pre;
    UnknownToken unknown;
  };

  Vocabulary vocabulary;
  SpecialIds ids;
  std::variant<BytePairs, SentencePieceModel> model;
  SpecialTokens always_parsed;  // user-defined tokens
  SpecialTokens all_special;    // those and control tokens
};

namespace {

/// The family of the tokenizer, by GGUF's tokenizer.ggml.model.
Result<Spelling> ReadModel(const formats::Metadata& metadata) {
  const auto model = BITTERN_TRY(metadata.GetString("tokenizer.ggml.model"));
  if (!model) {
    return Fail(ErrorCode::kCorruptFile,
                "tokenizer.ggml.model is absent: the file has no tokenizer");
  }
  if (*model == "gpt2") return Spelling::kByteAlphabet;
  if (*model == "llama") return Spelling::kUnderline;
  return Fail(ErrorCode::kUnsupported,
              fmt::format("tokenizer.ggml.model is {}; this build supports \"gpt2\" (byte-level "
                          "BPE) and \"llama\" (SentencePiece BPE)",
                          Quoted(*model)));
}

/// A list of strings that must be there; the views point into the metadata.
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

/// The vocabulary, and where the file has them its scores.
struct ScoredVocabulary {
  Vocabulary vocabulary;
  std::vector<float> scores;
};

/// Types and scores must be as many as tokens, if they are there. Without types the names tell.
Result<ScoredVocabulary> ReadVocabulary(const formats::Metadata& metadata, Spelling spelling,
                                        Decisions* decisions) {
  const auto strings = BITTERN_TRY(ReadStrings(metadata, "tokenizer.ggml.tokens"));
  if (strings.size() > static_cast<std::size_t>(std::numeric_limits<TokenId>::max())) {
    return Fail(
        ErrorCode::kUnsupported,
        fmt::format("tokenizer.ggml.tokens has {} entries; ids have 31 bits", strings.size()));
  }
  constexpr std::string_view kTypes = "tokenizer.ggml.token_type";
  constexpr std::string_view kScores = "tokenizer.ggml.scores";
  const auto types = BITTERN_TRY(metadata.GetInts(kTypes));
  auto scores = BITTERN_TRY(metadata.GetFloats(kScores));
  if (types) BITTERN_TRY(CheckCount(kTypes, types->size(), strings.size()));
  if (scores) BITTERN_TRY(CheckCount(kScores, scores->size(), strings.size()));
  if (!types) {
    decisions->push_back({"vocabulary",
                          spelling == Spelling::kByteAlphabet
                              ? "tokens of the form <|...|> are control tokens"
                              : "tokens have the types that LLaMA-2 names so",
                          "tokenizer.ggml.token_type is absent", true});
  }
  auto vocabulary = BITTERN_TRY(
      Vocabulary::Build(strings, types.value_or(std::vector<std::int32_t>()), spelling, decisions));
  return ScoredVocabulary{std::move(vocabulary), std::move(scores).value_or(std::vector<float>())};
}

/// The token for bytes without one. GGUF's own unknown_token_id is not it: converters fill that
/// with <|endoftext|> and the like, which no tokenizer puts into a text.
Result<UnknownToken> ReadUnknown(const formats::Metadata& metadata, const Vocabulary& vocabulary) {
  constexpr std::string_view kUnknown = "bittern.tokenizer.unknown_token_id";
  UnknownToken unknown;
  const auto id = BITTERN_TRY(metadata.GetUint(kUnknown));
  const auto fuses = BITTERN_TRY(metadata.GetBool("bittern.tokenizer.fuse_unknown"));
  unknown.fuses = fuses.value_or(false);
  if (!id) return unknown;
  if (*id >= static_cast<std::uint64_t>(vocabulary.size())) {
    return Fail(ErrorCode::kCorruptFile, fmt::format("{} is {}, but the vocabulary has {} tokens",
                                                     kUnknown, *id, vocabulary.size()));
  }
  unknown.id = static_cast<TokenId>(*id);
  return unknown;
}

/// ASCII, which most text is, takes a short way.
bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const bool ascii = static_cast<unsigned char>(text[0]) < 0x80;
    const Utf8Step step = ascii ? Utf8Step{0, 1, true} : DecodeUtf8(text);
    if (!step.valid) return false;
    text.remove_prefix(step.size);
  }
  return true;
}

/// Canonical composition, for models whose texts went through it.
std::string NormalizeNfc(std::string_view text) {
  utf8proc_uint8_t* mapped = nullptr;
  constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &mapped, kOptions);
  if (size < 0) return std::string(text);
  std::string out(reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(size));
  std::free(mapped);
  return out;
}

bool IsAscii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// Appends the tokens of text in which no special token is to be recognised.
void AppendText(std::string_view text, const PreTokenizer& pre, const Vocabulary& vocabulary,
                PieceCutter* cutter, BpeMerger* merger, std::vector<TokenId>* ids) {
  std::string normalized;
  if (pre.normalizes_nfc && !IsAscii(text)) {
    normalized = NormalizeNfc(text);
    text = normalized;
  }
  cutter->ForEachPiece(text, [&](std::string_view piece) {
    while (!piece.empty()) {
      const std::string_view part = piece.substr(0, BpeMerger::kMaxPieceBytes);
      const TokenId whole = pre.ignore_merges ? vocabulary.FindText(part) : kNoToken;
      if (whole != kNoToken) {
        ids->push_back(whole);
      } else {
        merger->Append(part, ids);
      }
      piece.remove_prefix(part.size());
    }
  });
}

/// A text made UTF-8, and where its marks have moved.
struct RepairedText {
  std::string text = {};
  std::vector<ByteRange> trusted = {};
  std::vector<std::size_t> cuts = {};
};

/// Repairs piece by piece from mark to mark, so that each mark's new place is known and no
/// replacement character reaches over one.
RepairedText Repair(std::string_view text, std::span<const ByteRange> trusted,
                    std::span<const std::size_t> cuts) {
  RepairedText repaired;
  std::size_t done = 0;
  const auto move_to = [&](std::size_t byte) {
    repaired.text += ReplaceInvalidUtf8(text.substr(done, byte - done));
    done = byte;
    return repaired.text.size();
  };
  auto cut = cuts.begin();
  const auto reach = [&](std::size_t byte) {
    for (; cut != cuts.end() && *cut <= byte; ++cut) repaired.cuts.push_back(move_to(*cut));
    return move_to(byte);
  };
  for (const ByteRange& range : trusted) {
    const std::size_t begin = reach(range.begin);
    repaired.trusted.push_back({begin, reach(range.end)});
  }
  reach(text.size());
  return repaired;
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

/// `finish` comes last, since it moves the vocabulary: models and tables refer to it while they
/// are built.
Result<Tokenizer> Tokenizer::FromMetadata(const formats::Metadata& metadata, Decisions* decisions) {
  const Spelling spelling = BITTERN_TRY(ReadModel(metadata));
  auto read = BITTERN_TRY(ReadVocabulary(metadata, spelling, decisions));
  Vocabulary& vocabulary = read.vocabulary;
  SpecialIds ids = BITTERN_TRY(ResolveSpecialIds(metadata, vocabulary, spelling, decisions));
  const auto finish = [&ids, &vocabulary](auto model, bool splits_at_user_defined) {
    SpecialTokens always_parsed(vocabulary, splits_at_user_defined, /*with_control=*/false);
    SpecialTokens all_special(vocabulary, splits_at_user_defined, /*with_control=*/true);
    return Tokenizer(
        std::make_unique<const Impl>(Impl{std::move(vocabulary), std::move(ids), std::move(model),
                                          std::move(always_parsed), std::move(all_special)}));
  };
  if (spelling == Spelling::kUnderline) {
    BITTERN_TRY(ResolveAddedEnds(metadata, /*default_bos=*/true, &ids, decisions));
    auto model = BITTERN_TRY(SentencePieceModel::Build(metadata, read.scores, vocabulary));
    return finish(std::move(model), false);
  }
  PreTokenizer pre = BITTERN_TRY(ResolvePreTokenizer(metadata, vocabulary, ids.bos, decisions));
  BITTERN_TRY(ResolveAddedEnds(metadata, pre.adds_bos, &ids, decisions));
  const auto merge_strings = BITTERN_TRY(ReadStrings(metadata, "tokenizer.ggml.merges"));
  MergeTable merges = BITTERN_TRY(MergeTable::Build(merge_strings, vocabulary, decisions));
  const UnknownToken unknown = BITTERN_TRY(ReadUnknown(metadata, vocabulary));
  return finish(Impl::BytePairs{std::move(merges), std::move(pre), unknown}, true);
}

/// Encodes the stretches between special tokens. A stretch is cut at each of `cuts`, so that no
/// merge crosses one.
template <class Find>
std::vector<TokenId> Tokenizer::EncodeAround(std::string_view text,
                                             std::span<const std::size_t> cuts,
                                             const EncodeOptions& options, const Find& find,
                                             EncodeLoss* loss) const {
  EncodeLoss unread;
  if (loss == nullptr) loss = &unread;
  std::vector<TokenId> ids;
  const auto* pairs = std::get_if<Impl::BytePairs>(&impl_->model);
  std::optional<BpeMerger> merger;
  std::optional<PieceCutter> cutter;
  if (pairs != nullptr) {
    merger.emplace(impl_->vocabulary, pairs->merges, pairs->unknown, loss);
    cutter.emplace(pairs->pre.passes);
  }
  auto cut = cuts.begin();
  const auto append_text = [&](std::size_t begin, std::size_t end) {
    for (bool is_first = true; begin < end; is_first = false) {
      bool at_cut = false;
      for (; cut != cuts.end() && *cut <= begin; ++cut) at_cut = *cut == begin;
      const std::size_t stop = cut == cuts.end() ? end : std::min(*cut, end);
      const std::string_view part = text.substr(begin, stop - begin);
      // A model says its space itself, where a text that it is given gets one.
      const bool has_space = at_cut && part.starts_with(' ');
      if (pairs != nullptr) {
        AppendText(part, pairs->pre, impl_->vocabulary, &*cutter, &*merger, &ids);
      } else {
        std::get<SentencePieceModel>(impl_->model)
            .Append(part, is_first && !has_space, impl_->vocabulary, &ids, loss);
      }
      begin = stop;
    }
  };
  const bool add_bos = options.add_bos && impl_->ids.adds_bos;
  if (add_bos) ids.push_back(impl_->ids.bos);
  std::size_t done = 0;
  while (const auto match = find(done)) {
    append_text(done, match->offset);
    // A prompt that spells BOS out at its start means the one that would be added anyway.
    const bool is_second_bos = add_bos && match->offset == 0 && match->id == impl_->ids.bos;
    if (!is_second_bos) ids.push_back(match->id);
    done = match->offset + match->size;
  }
  append_text(done, text.size());
  if (options.add_eos && impl_->ids.adds_eos) ids.push_back(impl_->ids.eos);
  return ids;
}

std::vector<TokenId> Tokenizer::Encode(std::string_view text, const EncodeOptions& options,
                                       EncodeLoss* loss) const {
  std::string repaired;
  if (!IsUtf8(text)) {
    repaired = ReplaceInvalidUtf8(text);
    text = repaired;
  }
  const SpecialTokens& special = options.parse_special ? impl_->all_special : impl_->always_parsed;
  return EncodeAround(
      text, {}, options, [&](std::size_t from) { return special.Find(text, from); }, loss);
}

/// The next special token is the nearer one of two: any inside trusted bytes, or a user-defined one
/// anywhere. The longer one wins at the same byte.
std::vector<TokenId> Tokenizer::EncodeTrusted(std::string_view text,
                                              std::span<const ByteRange> trusted, bool add_bos,
                                              std::span<const std::size_t> cuts,
                                              EncodeLoss* loss) const {
  if (!IsUtf8(text)) {
    const RepairedText repaired = Repair(text, trusted, cuts);
    return EncodeTrusted(repaired.text, repaired.trusted, add_bos, repaired.cuts, loss);
  }
  using Match = std::optional<SpecialTokens::Match>;
  Match in_trusted, anywhere;  // the next of each kind, as far as they are known
  std::size_t range = 0;
  const auto next_trusted = [&](std::size_t from) -> Match {
    for (; range < trusted.size(); ++range) {
      const std::string_view until = text.substr(0, trusted[range].end);
      const Match match = impl_->all_special.Find(until, std::max(from, trusted[range].begin));
      if (match) return match;
    }
    return std::nullopt;
  };
  bool first = true;
  const auto find = [&](std::size_t from) {
    if (first || (in_trusted && in_trusted->offset < from)) in_trusted = next_trusted(from);
    if (first || (anywhere && anywhere->offset < from)) {
      anywhere = impl_->always_parsed.Find(text, from);
    }
    first = false;
    if (!in_trusted || !anywhere) return in_trusted ? in_trusted : anywhere;
    if (in_trusted->offset != anywhere->offset) {
      return in_trusted->offset < anywhere->offset ? in_trusted : anywhere;
    }
    return in_trusted->size >= anywhere->size ? in_trusted : anywhere;
  };
  return EncodeAround(text, cuts, {.add_bos = add_bos}, find, loss);
}

void EncodeLoss::Add(std::string_view bytes, bool is_unknown) {
  if (num_bytes == 0) first = bytes;
  num_bytes += bytes.size();
  became_unknown = became_unknown || is_unknown;
}

std::string Tokenizer::Decode(std::span<const TokenId> ids, bool render_special) const {
  std::string bytes;
  for (const TokenId id : ids) bytes += TokenBytes(id, render_special);
  if (strips_leading_space() && bytes.starts_with(' ')) bytes.erase(0, 1);
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

std::size_t Tokenizer::longest_token() const noexcept {
  std::size_t longest = 1;
  for (TokenId id = 0; id < vocab_size(); ++id) {
    longest = std::max(longest, TokenBytes(id, /*render_special=*/true).size());
  }
  return longest;
}

std::int32_t Tokenizer::vocab_size() const noexcept { return impl_->vocabulary.size(); }
TokenId Tokenizer::bos_id() const noexcept { return impl_->ids.bos; }
TokenId Tokenizer::eos_id() const noexcept { return impl_->ids.eos; }
bool Tokenizer::adds_bos() const noexcept { return impl_->ids.adds_bos; }

bool Tokenizer::adds_eos() const noexcept { return impl_->ids.adds_eos; }

bool Tokenizer::strips_leading_space() const noexcept {
  const auto* model = std::get_if<SentencePieceModel>(&impl_->model);
  return model != nullptr && model->adds_space_prefix();
}

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
