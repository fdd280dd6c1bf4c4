// SPDX-License-Identifier: Apache-2.0
// OpenSSL's library is loaded when the first hash is made, as libcurl is (http_curl.cpp): so no
// program that links this layer needs it. Its functions are declared here as its manual has them.
#include "hub/digest.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/sha256.hpp"
#include "hub/sha1.hpp"

namespace bittern::hub {
namespace {

/// Functions of libcrypto, under their names without the prefix EVP_; null without the library.
struct Crypto {
  void* (*MD_CTX_new)() = nullptr;
  void (*MD_CTX_free)(void* context) = nullptr;
  const void* (*sha256)() = nullptr;
  const void* (*sha1)() = nullptr;
  int (*DigestInit_ex)(void* context, const void* kind, void* engine) = nullptr;
  int (*DigestUpdate)(void* context, const void* bytes, std::size_t size) = nullptr;
  int (*DigestFinal_ex)(void* context, unsigned char* bytes, unsigned* count) = nullptr;
};

Crypto LoadCrypto() {
  void* handle = nullptr;
  for (const char* const name : {"libcrypto.so.3", "libcrypto.so.1.1"}) {
    if (handle == nullptr) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) return {};
  Crypto crypto;
  bool whole = true;
  const auto load = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(handle, name));
    whole = whole && *function != nullptr;
  };
  load("EVP_MD_CTX_new", &crypto.MD_CTX_new);
  load("EVP_MD_CTX_free", &crypto.MD_CTX_free);
  load("EVP_sha256", &crypto.sha256);
  load("EVP_sha1", &crypto.sha1);
  load("EVP_DigestInit_ex", &crypto.DigestInit_ex);
  load("EVP_DigestUpdate", &crypto.DigestUpdate);
  load("EVP_DigestFinal_ex", &crypto.DigestFinal_ex);
  return whole ? crypto : Crypto();
}

/// Loaded once; any thread.
const Crypto& LoadedCrypto() {
  static const Crypto crypto = LoadCrypto();
  return crypto;
}

}  // namespace

/// OpenSSL's context where there is one, else one of our own hashes.
struct Digest::State {
  struct FreeContext {
    void operator()(void* made) const noexcept { LoadedCrypto().MD_CTX_free(made); }
  };
  explicit State(DigestKind wanted) : kind(wanted) {
    const Crypto& crypto = LoadedCrypto();
    if (crypto.MD_CTX_new == nullptr) return;
    context.reset(crypto.MD_CTX_new());
    const void* hash = kind == DigestKind::kSha256 ? crypto.sha256() : crypto.sha1();
    if (context && crypto.DigestInit_ex(context.get(), hash, nullptr) != 1) context.reset();
  }
  DigestKind kind;
  std::unique_ptr<void, FreeContext> context;
  Sha256 sha256;
  Sha1 sha1;
};

Digest::Digest(std::unique_ptr<State> state) : state_(std::move(state)) {}
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;
Digest::~Digest() = default;

Result<Digest> Digest::Create(DigestKind kind, std::uint64_t size) {
  Digest digest(std::make_unique<State>(kind));
  if (kind == DigestKind::kGitBlob) {
    const std::string begin = fmt::format("blob {}", size) + '\0';
    digest.Add(std::as_bytes(std::span(begin.data(), begin.size())));
  }
  return digest;
}

void Digest::Add(std::span<const std::byte> bytes) {
  if (state_->context) {
    LoadedCrypto().DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
  } else if (state_->kind == DigestKind::kSha256) {
    state_->sha256.Add(bytes);
  } else {
    state_->sha1.Add(bytes);
  }
}

std::string Digest::Finish() {
  if (!state_->context) {
    return state_->kind == DigestKind::kSha256 ? state_->sha256.Hex() : state_->sha1.Hex();
  }
  std::array<unsigned char, 64> bytes;  // OpenSSL's longest hash
  unsigned count = 0;
  if (LoadedCrypto().DigestFinal_ex(state_->context.get(), bytes.data(), &count) != 1) return {};
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

}  // namespace bittern::hub
