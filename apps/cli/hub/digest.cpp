// SPDX-License-Identifier: Apache-2.0
#include "cli/hub/digest.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <utility>

namespace bittern::cli::hub {

struct Digest::State {
  struct FreeContext {
    void operator()(EVP_MD_CTX* made) const noexcept { EVP_MD_CTX_free(made); }
  };
  std::unique_ptr<EVP_MD_CTX, FreeContext> context;
};

Digest::Digest(std::unique_ptr<State> state) : state_(std::move(state)) {}
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;
Digest::~Digest() = default;

Result<Digest> Digest::Create(DigestKind kind, std::uint64_t size) {
  auto state = std::make_unique<State>();
  state->context.reset(EVP_MD_CTX_new());
  const EVP_MD* hash = kind == DigestKind::kSha256 ? EVP_sha256() : EVP_sha1();
  if (!state->context || EVP_DigestInit_ex(state->context.get(), hash, nullptr) != 1) {
    return Fail(ErrorCode::kInternal, "OpenSSL could not make a hash");
  }
  Digest digest(std::move(state));
  if (kind == DigestKind::kGitBlob) {
    const std::string begin = fmt::format("blob {}", size) + '\0';
    digest.Add(std::as_bytes(std::span(begin.data(), begin.size())));
  }
  return digest;
}

void Digest::Add(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
}

std::string Digest::Finish() {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned count = 0;
  if (EVP_DigestFinal_ex(state_->context.get(), bytes, &count) != 1) return {};
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

}  // namespace bittern::cli::hub
