// SPDX-License-Identifier: Apache-2.0
// tokenizer.model of SentencePiece: a protocol buffer, of which four messages matter. Parsed by
// hand, since the wire format is five rules, and a schema compiler would be a dependency.
//
//   ModelProto      1: pieces (repeated)  2: trainer_spec  3: normalizer_spec
//   SentencePiece   1: piece  2: score (float)  3: type (values as tokenizer.ggml.token_type)
//   TrainerSpec     3: model_type (1 unigram, 2 BPE)  24: treat_whitespace_as_suffix
//                   35: byte_fallback  40, 41, 42: ids of unk, bos, eos
//   NormalizerSpec  1: name  2: precompiled_charsmap  3: add_dummy_prefix
//                   4: remove_extra_whitespaces  5: escape_whitespaces
//
// Source: google/sentencepiece, sentencepiece_model.proto.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <utility>

#include "base/bytes.hpp"
#include "base/text/display.hpp"
#include "formats/hf/hf_vocabulary.hpp"

namespace bittern::formats {
namespace {

constexpr std::size_t kMaxPieceBytes = 1024;

tl::unexpected<Error> CorruptPieces(std::string message) {
  return Fail(ErrorCode::kCorruptFile, std::move(message));
}

/// One field off the front of a message: a number, or bytes.
struct Field {
  std::uint64_t number = 0;  ///< the field's tag
  std::uint64_t value = 0;   ///< for varint and fixed types
  std::string_view bytes;    ///< for length-delimited types
};

/// Walks over the fields of a message.
class Message {
 public:
  explicit Message(std::string_view bytes)
      : reader_({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}) {}

  [[nodiscard]] bool done() const { return reader_.remaining() == 0; }

  /// Reads a field by its wire type: 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes.
  Result<Field> Next() {
    const std::uint64_t key = BITTERN_TRY(Varint());
    Field field{.number = key >> 3, .value = 0, .bytes = {}};
    switch (key & 7) {
      case 0:
        field.value = BITTERN_TRY(Varint());
        return field;
      case 1:
        field.value = BITTERN_TRY(reader_.Number<std::uint64_t>("a fixed64 field"));
        return field;
      case 2: {
        const std::uint64_t size = BITTERN_TRY(Varint());
        field.bytes = BITTERN_TRY(reader_.Chars(size, "a field"));
        return field;
      }
      case 5:
        field.value = BITTERN_TRY(reader_.Number<std::uint32_t>("a fixed32 field"));
        return field;
      default:
        return CorruptPieces(fmt::format("not a protocol buffer: wire type {} at offset {}",
                                         key & 7, reader_.position()));
    }
  }

 private:
  /// Seven bits a byte, the lowest first; the top bit says that more follow.
  Result<std::uint64_t> Varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = BITTERN_TRY(reader_.Number<std::uint8_t>("a varint"));
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    return CorruptPieces(
        fmt::format("a varint of more than 10 bytes before offset {}", reader_.position()));
  }

  ByteReader reader_;
};

/// One SentencePiece message; its place in the list is its id.
Result<void> ReadPiece(std::string_view bytes, HfVocabulary* vocabulary) {
  std::string_view piece;
  float score = 0;
  std::uint64_t type = token_type::kNormal;
  for (Message message(bytes); !message.done();) {
    const Field field = BITTERN_TRY(message.Next());
    if (field.number == 1) piece = field.bytes;
    if (field.number == 2) score = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
    if (field.number == 3) type = field.value;
  }
  const std::size_t id = vocabulary->tokens.size();
  if (piece.empty() || piece.size() > kMaxPieceBytes || type < 1 || type > 6 ||
      !std::isfinite(score)) {
    return CorruptPieces(fmt::format(
        "piece {}: 1 to {} bytes, a type of 1 to 6 and a finite score expected, {} bytes, type {} "
        "and score {} found",
        id, kMaxPieceBytes, piece.size(), type, score));
  }
  BITTERN_TRY(SetToken(id, piece, static_cast<std::int32_t>(type), vocabulary));
  vocabulary->scores[id] = score;
  if (type == token_type::kUnknown) vocabulary->unknown = id;
  return {};
}

/// A field whose int32 is an id, -1 where the model has no such token.
std::optional<std::uint64_t> IdOf(const Field& field) {
  const auto id = static_cast<std::int32_t>(field.value);
  return id < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(id));
}

/// Takes BOS and EOS. Refuses models that are not BPE, and spaces at the ends of words.
Result<void> ReadTrainerSpec(std::string_view bytes, HfVocabulary* vocabulary) {
  std::uint64_t model_type = 1;
  // The format's defaults.
  vocabulary->bos = 1;
  vocabulary->eos = 2;
  for (Message message(bytes); !message.done();) {
    const Field field = BITTERN_TRY(message.Next());
    if (field.number == 3) model_type = field.value;
    if (field.number == 41) vocabulary->bos = IdOf(field);
    if (field.number == 42) vocabulary->eos = IdOf(field);
    if (field.number == 24 && field.value != 0) {
      return Fail(ErrorCode::kUnsupported, "treat_whitespace_as_suffix is not supported");
    }
  }
  if (model_type == 2) return {};
  constexpr std::string_view kNames[] = {"?", "unigram", "BPE", "word", "char"};
  return Fail(ErrorCode::kUnsupported,
              fmt::format("a SentencePiece model of type {} is not supported; supported: BPE",
                          model_type < std::size(kNames) ? kNames[model_type] : "?"));
}

/// Takes the leading space. Refuses rules that change a text in ways this tokenizer does not.
Result<void> ReadNormalizerSpec(std::string_view bytes, HfVocabulary* vocabulary) {
  bool removes_spaces = true, escapes_spaces = true;  // the format's defaults
  vocabulary->add_space_prefix = true;
  for (Message message(bytes); !message.done();) {
    const Field field = BITTERN_TRY(message.Next());
    if (field.number == 2 && !field.bytes.empty()) {
      return Fail(ErrorCode::kUnsupported,
                  "normalisation rules (precompiled_charsmap) are not "
                  "supported; supported: identity");
    }
    if (field.number == 3) vocabulary->add_space_prefix = field.value != 0;
    if (field.number == 4) removes_spaces = field.value != 0;
    if (field.number == 5) escapes_spaces = field.value != 0;
  }
  if (removes_spaces) {
    return Fail(ErrorCode::kUnsupported, "remove_extra_whitespaces is not supported");
  }
  if (!escapes_spaces) {
    return Fail(ErrorCode::kUnsupported, "escape_whitespaces false is not supported");
  }
  return {};
}

}  // namespace

/// The specs are read after all pieces: in the file they may stand in any order.
Result<HfVocabulary> ReadSentencePieceModel(std::string_view bytes) {
  HfVocabulary vocabulary;
  vocabulary.model = "llama";
  vocabulary.add_bos = true;  // LLaMA-2's rule; the file does not say
  std::string_view trainer, normalizer;
  for (Message message(bytes); !message.done();) {
    const Field field = BITTERN_TRY(message.Next());
    if (field.number == 1) BITTERN_TRY(ReadPiece(field.bytes, &vocabulary));
    if (field.number == 2) trainer = field.bytes;
    if (field.number == 3) normalizer = field.bytes;
  }
  if (vocabulary.tokens.empty()) return CorruptPieces("no pieces: not a SentencePiece model");
  BITTERN_TRY(ReadTrainerSpec(trainer, &vocabulary));
  BITTERN_TRY(ReadNormalizerSpec(normalizer, &vocabulary));
  return vocabulary;
}

}  // namespace bittern::formats
