// SPDX-License-Identifier: Apache-2.0
// Everything is checked before a page is written: magic, hash, identity, sizes, ids.
#include "runtime/session_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/bytes.hpp"
#include "base/hash.hpp"

namespace bittern::runtime {
namespace {

using tokenizer::TokenId;

constexpr std::string_view kStateMagic = kSessionStateMagic;
constexpr std::size_t kHashDigits = 32;

/// The facts that two models must share for one to go on where the other stopped.
std::string Identity(const model::ModelConfig& c, model::KvType type) {
  const std::string shape = fmt::format(
      "{}|{}|{} {} {} {} {} {} {} {}|{}|{}", c.architecture, c.name, c.hidden_size,
      c.intermediate_size, c.num_layers, c.num_heads, c.num_kv_heads, c.head_dim, c.vocab_size,
      static_cast<int>(c.activation), c.rope_theta, static_cast<int>(type));
  return HashOf(shape);
}

template <class T>
void AppendNumber(T value, std::string* out) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out->append(bytes, sizeof(T));
}

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

/// The state, all numbers little-endian: magic (8 bytes), hash of all that follows (32 hexadecimal
/// digits), identity (32), bytes of a page (u64), tokens (u32), their ids (i32 each), the pages,
/// the recurrent state where the network has one (float32). Pages and state are left out where some
/// of the tokens wait to be read again, and where ranks share the network out.
std::string WriteSessionState(const model::ModelConfig& config, std::span<const TokenId> tokens,
                              const model::KvSequence& sequence) {
  const model::KvPool& pool = sequence.pool();
  const bool parted = pool.log() != nullptr;  // other ranks have other heads of the pages
  const bool waits = parted || static_cast<std::size_t>(sequence.length()) != tokens.size();
  const auto num_pages = waits ? 0 : static_cast<std::size_t>(model::PagesFor(sequence.length()));
  std::string state(kStateMagic);
  state.append(kHashDigits, '0');  // of what follows, once it is there
  state += Identity(config, pool.type());
  AppendNumber<std::uint64_t>(pool.page_bytes(), &state);
  AppendNumber(static_cast<std::uint32_t>(tokens.size()), &state);
  for (const TokenId id : tokens) AppendNumber<std::int32_t>(id, &state);
  const std::size_t begin = state.size();
  const std::span<const float> kept = num_pages == 0 ? std::span<const float>() : sequence.state();
  const std::span<const std::byte> recurrent = std::as_bytes(kept);
  state.resize(begin + num_pages * pool.page_bytes() + recurrent.size());
  const std::span<std::byte> pages = std::as_writable_bytes(std::span(state)).subspan(begin);
  std::ranges::copy(recurrent, pages.last(recurrent.size()).begin());
  for (std::size_t i = 0; i < num_pages; ++i) {
    pool.SavePage(sequence.pages()[i], pages.subspan(i * pool.page_bytes(), pool.page_bytes()));
  }
  const std::size_t hashed = kStateMagic.size() + kHashDigits;
  state.replace(kStateMagic.size(), kHashDigits,
                HashOf(std::as_bytes(std::span(state)).subspan(hashed)));
  return state;
}

/// `pages` of the result points into `bytes`, so `bytes` must stay until ReadPages.
Result<SessionState> ReadSessionState(std::span<const std::byte> bytes,
                                      const model::ModelConfig& config, const model::KvPool& pool) {
  ByteReader reader(bytes);
  if (bytes.size() < kStateMagic.size() + kHashDigits || !AsText(bytes).starts_with(kStateMagic)) {
    return Fail(ErrorCode::kCorruptFile, "no state of a sequence: it does not begin with BTRNSTA1");
  }
  BITTERN_TRY(reader.Bytes(kStateMagic.size(), "magic"));
  const auto hash = BITTERN_TRY(reader.Bytes(kHashDigits, "hash"));
  if (HashOf(bytes.subspan(reader.position())) != AsText(hash)) {
    return Fail(ErrorCode::kCorruptFile, "the state of the sequence is damaged: its hash differs");
  }
  const auto identity = BITTERN_TRY(reader.Bytes(kHashDigits, "identity"));
  if (AsText(identity) != Identity(config, pool.type())) {
    return Fail(ErrorCode::kInvalidArgument,
                "the state belongs to another model, or to another type of keys and values");
  }
  SessionState state;
  const auto page_bytes = BITTERN_TRY(reader.Number<std::uint64_t>("page bytes"));
  const auto count = BITTERN_TRY(reader.Number<std::uint32_t>("tokens"));
  const auto ids = BITTERN_TRY(reader.Bytes(std::uint64_t{count} * sizeof(TokenId), "tokens"));
  state.tokens.resize(count);
  if (count > 0) std::memcpy(state.tokens.data(), ids.data(), ids.size());
  for (const TokenId id : state.tokens) {
    if (id >= 0 && id < config.vocab_size) continue;
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("the state has token id {}, outside the vocabulary (0..{})", id,
                            config.vocab_size - 1));
  }
  const std::uint64_t num_pages =
      count / model::kPagePositions + (count % model::kPagePositions != 0);
  const std::uint64_t recurrent = count == 0 ? 0 : pool.state_size() * sizeof(float);
  if ((recurrent != 0 || pool.log() != nullptr) && reader.remaining() == 0) return state;
  if (page_bytes != pool.page_bytes() || reader.remaining() != num_pages * page_bytes + recurrent) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("the state has {} bytes of keys and values, {} expected",
                            reader.remaining(), num_pages * pool.page_bytes() + recurrent));
  }
  state.pages = BITTERN_TRY(reader.Bytes(num_pages * page_bytes, "pages"));
  state.recurrent = BITTERN_TRY(reader.Bytes(recurrent, "recurrent state"));
  return state;
}

/// Copies the pages into those that the sequence has reserved. Cannot fail: all was checked before.
void ReadPages(const SessionState& state, model::KvSequence* sequence) {
  if (state.pages.empty() && sequence->pool().log() != nullptr) return;
  const std::size_t page_bytes = sequence->pool().page_bytes();
  const std::size_t num_pages = state.pages.size() / page_bytes;
  for (std::size_t i = 0; i < num_pages; ++i) {
    sequence->pool().RestorePage(sequence->pages()[i],
                                 state.pages.subspan(i * page_bytes, page_bytes));
  }
  if (sequence->recurrent()) {
    if (state.recurrent.empty()) return;
    std::ranges::copy(state.recurrent, std::as_writable_bytes(sequence->state()).begin());
  }
  sequence->Extend(static_cast<int>(state.tokens.size()));
}

}  // namespace bittern::runtime
