// SPDX-License-Identifier: Apache-2.0
// TYPE:VALUE as people write it on a command line, to a metadata value.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "formats/metadata_draft.hpp"

namespace bittern::formats {

/// Parses `text` as MetaEdit::typed_value describes (meta_edit.hpp) and sets `key` to it. Values
/// must be whole and in range: `u8:256` and `int:12x` are errors. Error kInvalidArgument names
/// what was expected.
[[nodiscard]] Result<void> SetTypedValue(std::string_view key, std::string_view text,
                                         MetadataDraft* draft);

}  // namespace bittern::formats
