// SPDX-License-Identifier: Apache-2.0
// The GGUF reader on arbitrary bytes: it must return, and all that it returns must be usable. The
// editor's reader, which does not look at tensor types, must take whatever the other one takes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "formats/convert/meta_edit.hpp"
#include "formats/file_kind.hpp"
#include "formats/gguf/gguf_reader.hpp"
#include "formats/gguf/gguf_split.hpp"
#include "formats/gguf/gguf_touch_for_test.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto contents = bittern::formats::ParseGguf(bytes);
  const auto outline = bittern::formats::ReadGgufOutline(bytes);
  if (contents && !outline) std::abort();
  if (!outline && outline.error().message.empty()) std::abort();
  if (!contents) {
    if (contents.error().message.empty()) std::abort();  // every refusal has a reason
    if (bittern::formats::RefuseFile(bytes).message.empty()) std::abort();
    return 0;
  }
  const auto split = bittern::formats::ReadSplitPart(contents->metadata);
  if (split && *split) {
    const auto paths = bittern::formats::SplitPartPaths("m-00001-of-00002.gguf", **split);
    if (paths && paths->size() != (*split)->count) std::abort();
  }
  static volatile std::uint64_t sink;
  sink = sink + bittern::formats::TouchEverything(*contents);
  return 0;
}
