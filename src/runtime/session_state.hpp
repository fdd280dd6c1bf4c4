// SPDX-License-Identifier: Apache-2.0
// A session's tokens, keys and values as bytes, to go on with in another process. Little-endian:
//   "BTRNSTA1", hash of all that follows (32 hexadecimal digits), hash of the model's shape and
//   name and the KV type (32 digits), u64 bytes of a page, u32 tokens, their i32 ids, the pages.
// A state is input like any other: it may be cut, damaged or made up. One thread at a time with a
// sequence.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/config.hpp"
#include "model/kv_pool.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {

/// How every state begins.
inline constexpr std::string_view kSessionStateMagic = "BTRNSTA1";

/// A state that was read and checked; views into it. Of a recurrent network whose tokens wait to be
/// read, both are empty.
struct SessionState {
  std::vector<tokenizer::TokenId> tokens;
  std::span<const std::byte> pages, recurrent;
};

/// The bytes of a sequence whose positions hold `tokens`.
[[nodiscard]] std::string WriteSessionState(const model::ModelConfig& config,
                                            std::span<const tokenizer::TokenId> tokens,
                                            const model::KvSequence& sequence);

/// Checks everything. Errors: kCorruptFile (no state, damaged), kInvalidArgument (of another model
/// or KV type than `pool`'s).
[[nodiscard]] Result<SessionState> ReadSessionState(std::span<const std::byte> bytes,
                                                    const model::ModelConfig& config,
                                                    const model::KvPool& pool);

/// Puts the state into an empty sequence. REQUIRES: its pages are reserved.
void ReadPages(const SessionState& state, model::KvSequence* sequence);

}  // namespace bittern::runtime
