// SPDX-License-Identifier: Apache-2.0
// Making a certificate: fixed prompts through a model, every value on the way hashed.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "proof/certificate/certificate.hpp"
#include "runtime/session.hpp"

namespace bittern::proof {

/// Tokens after each prompt; an end token does not stop.
inline constexpr int kCertificateTokens = 64;

/// The prompts of every certificate that names no others: prose, UTF-8, code, and a long one.
[[nodiscard]] std::span<const std::string_view> BuiltinPrompts() noexcept;

/// The treatment of the KV cache on the way. Logits do not depend on it.
enum class CacheUse {
  kGrow,       ///< the prompt in chunks, then token by token
  kRecompute,  ///< the finished text once more, in chunks through an emptied cache
  kRewind,     ///< now and then other tokens are run and taken back
};

struct CertifyOptions {
  std::vector<std::string> prompts;      ///< empty: BuiltinPrompts()
  runtime::SessionOptions session = {};  ///< context_length is ignored: as many as are needed
  CacheUse cache = CacheUse::kGrow;
  int background_loads = 0;  ///< sessions that generate from the same model at the same time, 0..64
  std::string version;       ///< of the program, for Certificate::version
  /// A full certificate whose `fed` ids are run in place of the likeliest ones, so that the first
  /// operation that differs is the cause and not what followed from another token. Where nothing
  /// differs these are the same ids. May be null; ignored where the prompts differ.
  const Certificate* expected = nullptr;
  /// Told now and then the share of all tokens that has been run, 0 to 1.
  std::function<void(double)> on_progress = {};
  /// Set by any thread: ends with kCancelled before the next prompt. May be null.
  const std::atomic<bool>* cancel = nullptr;
};

/// Runs all prompts twice: traced, and the way users do, several at a time with every short cut;
/// the tokens of both must be the same (kInternal otherwise). Errors of Session and
/// model::FingerprintOf are passed on. Others: kInvalidArgument (background_loads, an empty
/// prompt), kContextFull (a prompt does not fit with the tokens after it).
[[nodiscard]] Result<Certificate> Certify(const std::shared_ptr<const runtime::LoadedModel>& model,
                                          const CertifyOptions& options);

}  // namespace bittern::proof
