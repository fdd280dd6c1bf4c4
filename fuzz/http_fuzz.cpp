// SPDX-License-Identifier: Apache-2.0
// A hostile request must be refused, or end, at the same byte however its bytes are cut, and keep
// within its limits.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "serve/http/request_reader.hpp"

namespace {

constexpr std::size_t kMostOther = 4096, kMostBody = 4096;

std::size_t PutAll(bittern::serve::RequestReader* reader, std::string_view bytes,
                   std::size_t step) {
  std::size_t used = 0;
  while (used < bytes.size() && !reader->done() && !reader->refusal()) {
    used += reader->Put(bytes.substr(used, step));
  }
  return used;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using bittern::serve::RequestReader;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  RequestReader whole(kMostOther, kMostBody), cut(kMostOther, kMostBody);
  const std::size_t used = PutAll(&whole, input, size);
  if (PutAll(&cut, input, 1) != used || cut.done() != whole.done() ||
      cut.refusal().has_value() != whole.refusal().has_value() || cut.body() != whole.body()) {
    std::abort();
  }
  if (whole.body().size() > kMostBody || used > kMostOther + 6 * kMostBody + 16) std::abort();
  return 0;
}
