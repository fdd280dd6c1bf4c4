// SPDX-License-Identifier: Apache-2.0
// The metadata of a GGUF file, all of it or one key, and what an edit of it did, as text and as
// JSON. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/json/json.hpp"
#include "formats/convert/meta_edit.hpp"

namespace bittern::report {

/// A line for each key: "KEY  TYPE  VALUE", safe for a terminal.
[[nodiscard]] std::string MetaText(const formats::GgufOutline& outline);
/// {KEY: {"type", "value"}}
[[nodiscard]] Json MetaJson(const formats::GgufOutline& outline);

/// {"key", "type", "value"}
[[nodiscard]] Json MetaEntryJson(const formats::GgufOutline::Entry& entry);

/// Three lines: the output and its change, the hashes of the tensor data before and after.
[[nodiscard]] std::string MetaEditText(std::string_view output, const formats::MetaEdit& edit,
                                       const formats::MetaEditReport& report);
/// {"output", "data_bytes", "hash_before", "hash_after"}
[[nodiscard]] Json MetaEditJson(std::string_view output, const formats::MetaEditReport& report);

}  // namespace bittern::report
