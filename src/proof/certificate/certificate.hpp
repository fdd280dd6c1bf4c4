// SPDX-License-Identifier: Apache-2.0
// The proof of what a model answers, as one line and as a file with a hash for every operation of
// every layer, and the comparison of two.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/load/fingerprint.hpp"

namespace bittern::proof {

/// The results of one prompt. Operations are counted in the order of computing: embedding, the 13
/// of each layer, final_norm, head (model/trace.hpp).
struct PromptCertificate {
  std::string text;
  std::vector<std::int32_t> prompt_ids;
  std::vector<std::int32_t> ids;       ///< the likeliest after the prompt and after each of `fed`
  std::vector<std::int32_t> fed;       ///< what was run after the prompt: `ids` but the last
  std::vector<std::string> positions;  ///< the logits of every position, 16 digits each
  std::vector<std::string> prefill;    ///< each operation, over the prompt's positions
  std::vector<std::string> decode;     ///< the same over the later ones
};

/// All hashes are XXH3-128 in 32 hexadecimal digits (base/hash.hpp) unless another length is said.
struct Certificate {
  std::string model;    ///< model::Fingerprint::hash
  std::string code;     ///< version of the numerics contract, type of the KV cache, prompts
  std::string logits;   ///< float32 of every position of every prompt, in order
  std::string tokens;   ///< ids of every prompt and of what follows it
  std::string version;  ///< of the program; told, never compared
  // The rest is in the file only, not in the line.
  std::vector<model::NamedHash> tensors;  ///< model::Fingerprint::parts
  int num_layers = 0;
  std::vector<PromptCertificate> prompts;

  [[nodiscard]] bool is_full() const noexcept { return !prompts.empty(); }
};

/// "bittern-certificate v1 model=... code=... logits=... tokens=... version=..."
[[nodiscard]] std::string CertificateLine(const Certificate& certificate);
/// The inverse. Error kInvalidArgument says what is missing or malformed.
[[nodiscard]] Result<Certificate> ParseCertificateLine(std::string_view line);

/// The file of a full certificate: JSON, one object.
[[nodiscard]] std::string CertificateJson(const Certificate& certificate);
/// The inverse; also reads a file of lines, where `#` begins a comment: several certificates.
/// Error kCorruptFile.
[[nodiscard]] Result<std::vector<Certificate>> ParseCertificates(std::string_view text);

/// Number of operations of PromptCertificate::prefill for a network.
[[nodiscard]] std::size_t NumOperations(int num_layers) noexcept;
/// "layer 2, down_proj", "embedding", "head".
[[nodiscard]] std::string OperationName(std::size_t operation, int num_layers);

/// Differences of `found`, most telling first; empty: none. If both are full, the first entry names
/// the first tensor, layer and operation that differ.
[[nodiscard]] std::vector<std::string> CompareCertificates(const Certificate& expected,
                                                           const Certificate& found);

}  // namespace bittern::proof
