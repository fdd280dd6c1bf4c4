// SPDX-License-Identifier: Apache-2.0
// The hashes under which a hub names its files: SHA-256 of large ones (Git LFS), git's blob SHA-1
// of small ones. By OpenSSL, which libcurl brings along and which uses the CPU's instructions for
// them; where it is missing, by our own, which are slower than a disk. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"

namespace bittern::hub {

enum class DigestKind { kSha256, kGitBlob };

class Digest {
 public:
  /// `size`: of the whole file in bytes, which git's hash begins with. Errors: kUnsupported (this
  /// build has no downloads).
  [[nodiscard]] static Result<Digest> Create(DigestKind kind, std::uint64_t size);
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;
  ~Digest();

  void Add(std::span<const std::byte> bytes);
  /// In hexadecimal digits: 64 or 40. Nothing can be added after it.
  [[nodiscard]] std::string Finish();

 private:
  struct State;
  explicit Digest(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace bittern::hub
