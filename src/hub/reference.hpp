// SPDX-License-Identifier: Apache-2.0
// Names of models on a hub: USER/REPO[@REVISION][:FILE], a short name from known_models.def, or an
// address copied from a browser. Everything that will be part of a path or an address is checked
// here. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace bittern::hub {

/// Stands before a reference where a path to a file could stand as well.
inline constexpr std::string_view kScheme = "hf://";

struct Reference {
  std::string repo;               ///< "USER/REPO"
  std::string revision = "main";  ///< a branch, a tag or a commit
  std::string file = {};          ///< a file's path, or a word of its name as "i2_s"; may be empty
};

/// Error kInvalidArgument says what is wrong and what a name looks like.
[[nodiscard]] Result<Reference> ParseReference(std::string_view text);

/// The reference that `text` is where a path could stand as well: a short name, USER/REPO, an
/// address of the hub. Nothing for what is rather a path: with an end such as ".gguf" and no ':'
/// before it, or a slash at its end.
[[nodiscard]] std::optional<Reference> ReferenceNotPath(std::string_view text);

/// "USER/REPO", with "@REVISION" where it is not main.
[[nodiscard]] std::string RepoText(const Reference& reference);

/// True for a relative path that stays below its folder and can be printed: no empty part, "." or
/// "..", no backslash or control character, at most 512 bytes.
[[nodiscard]] bool IsSafePath(std::string_view path) noexcept;

/// True for an address of a web server, whichever it is.
[[nodiscard]] bool IsAddress(std::string_view text);

/// True for 40 hexadecimal digits.
[[nodiscard]] bool IsCommit(std::string_view text) noexcept;

/// `text` in small letters (ASCII).
[[nodiscard]] std::string Lower(std::string_view text);

}  // namespace bittern::hub
