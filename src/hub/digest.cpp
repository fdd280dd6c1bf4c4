// SPDX-License-Identifier: Apache-2.0
// OpenSSL's library is loaded when the first hash is made, as libcurl is (http_curl.cpp): so no
// program that links this layer needs it. Its functions are declared here as its manual has them.
// BITTERN_HUB_LINKED: it is linked in.
#include "hub/digest.hpp"

#include <fmt/format.h>
#if !defined(BITTERN_HUB_LINKED)
#include <dlfcn.h>
#endif

#include <array>
#include <utility>

#include "base/sha256.hpp"
#include "hub/sha1.hpp"

// clang-format off
#define BITTERN_CRYPTO_FUNCTIONS(X)                                             \
  X(void*, MD_CTX_new, ())                                                      \
  X(void, MD_CTX_free, (void* context))                                         \
  X(const void*, sha256, ())                                                    \
  X(const void*, sha1, ())                                                      \
  X(int, DigestInit_ex, (void* context, const void* kind, void* engine))        \
  X(int, DigestUpdate, (void* context, const void* bytes, std::size_t size))    \
  X(int, DigestFinal_ex, (void* context, unsigned char* bytes, unsigned* count))
// clang-format on

#if defined(BITTERN_HUB_LINKED)
extern "C" {
#define BITTERN_CRYPTO_DECLARE(type, name, parameters) type EVP_##name parameters;
BITTERN_CRYPTO_FUNCTIONS(BITTERN_CRYPTO_DECLARE)
#undef BITTERN_CRYPTO_DECLARE
}
#endif

namespace bittern::hub {
namespace {

/// Functions of libcrypto, under their names without the prefix EVP_; null without the library.
struct Crypto {
#define BITTERN_CRYPTO_MEMBER(type, name, parameters) type(*name) parameters = nullptr;
  BITTERN_CRYPTO_FUNCTIONS(BITTERN_CRYPTO_MEMBER)
#undef BITTERN_CRYPTO_MEMBER
};

#if defined(BITTERN_HUB_LINKED)
Crypto LoadCrypto() {
  Crypto crypto;
#define BITTERN_CRYPTO_TAKE(type, name, parameters) crypto.name = &EVP_##name;
  BITTERN_CRYPTO_FUNCTIONS(BITTERN_CRYPTO_TAKE)
#undef BITTERN_CRYPTO_TAKE
  return crypto;
}
#else
Crypto LoadCrypto() {
  void* handle = nullptr;
  for (const char* const name : {"libcrypto.so.3", "libcrypto.so.1.1"}) {
    if (handle == nullptr) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) return {};
  Crypto crypto;
  bool whole = true;
#define BITTERN_CRYPTO_LOAD(type, name, parameters)                                   \
  crypto.name = reinterpret_cast<decltype(crypto.name)>(dlsym(handle, "EVP_" #name)); \
  whole = whole && crypto.name != nullptr;
  BITTERN_CRYPTO_FUNCTIONS(BITTERN_CRYPTO_LOAD)
#undef BITTERN_CRYPTO_LOAD
  return whole ? crypto : Crypto();
}
#endif

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
