// SPDX-License-Identifier: Apache-2.0
// xxHash inlined from its header, so that nothing has to be linked.
#include "base/hash.hpp"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace bittern {

struct Hash128::State {
  XXH3_state_t xxh;
};

Hash128::Hash128() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh); }
Hash128::~Hash128() = default;
Hash128::Hash128(Hash128&&) noexcept = default;
Hash128& Hash128::operator=(Hash128&&) noexcept = default;

void Hash128::Add(std::span<const std::byte> bytes) noexcept {
  XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
}

std::string Hash128::Hex() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string HashOf(std::span<const std::byte> bytes) {
  Hash128 hash;
  hash.Add(bytes);
  return hash.Hex();
}

std::string HashOf(std::string_view text) { return HashOf(std::as_bytes(std::span(text))); }

}  // namespace bittern
