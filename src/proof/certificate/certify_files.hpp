// SPDX-License-Identifier: Apache-2.0
// Files that a certificate is made from and compared with: prompts, and certificates that are
// expected. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "proof/certificate/certificate.hpp"
#include "proof/certificate/certify.hpp"

namespace bittern::proof {

/// The prompts of a file, one a line, with escapes such as \n read; empty lines are left out.
/// Errors: those of ReadFileText; kInvalidArgument where there is none.
[[nodiscard]] Result<std::vector<std::string>> ReadPromptSet(const std::string& path);

/// A certificate's line as it is, else the certificates of the file of this name. Errors: those of
/// ReadFileText, ParseCertificateLine and ParseCertificates; they name the file.
[[nodiscard]] Result<std::vector<Certificate>> ReadExpectedCertificates(
    const std::string& line_or_path);

/// "grow", "recompute" or "rewind"; nothing for other names.
[[nodiscard]] std::optional<CacheUse> CacheUseByName(std::string_view name) noexcept;

}  // namespace bittern::proof
