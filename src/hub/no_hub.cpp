// SPDX-License-Identifier: Apache-2.0
// In place of http_curl.cpp and digest.cpp in builds without libcurl (BITTERN_HUB=OFF): downloads
// say what is missing; what lies in the cache can still be listed and used.
#include "hub/digest.hpp"
#include "hub/http.hpp"

namespace bittern::hub {
namespace {

tl::unexpected<Error> Missing() {
  return Fail(
      ErrorCode::kUnsupported,
      "this build of bittern cannot download (it was made without libcurl): use another, or "
      "build with -DBITTERN_HUB=ON, or fetch the file yourself and name it with model=FILE");
}

}  // namespace

struct Digest::State {};
Digest::Digest(std::unique_ptr<State> state) : state_(std::move(state)) {}
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;
Digest::~Digest() = default;
Result<Digest> Digest::Create(DigestKind /*kind*/, std::uint64_t /*size*/) { return Missing(); }
void Digest::Add(std::span<const std::byte> /*bytes*/) {}
std::string Digest::Finish() { return {}; }

Result<std::unique_ptr<HttpClient>> HttpClient::Create(std::chrono::seconds /*stall*/,
                                                       const std::string& /*ca_file*/) {
  return Missing();
}
Result<std::string> ResolveUrl(const std::string& /*base*/, const std::string& /*location*/) {
  return Missing();
}
std::string OriginOf(const std::string& /*url*/) { return {}; }

}  // namespace bittern::hub
