// SPDX-License-Identifier: Apache-2.0
// The file of certificates by which hosts of downloads prove themselves. A libcurl of the system
// knows where the system keeps it. One that is linked in does not, because each distribution has
// another place (BITTERN_HUB_FINDS_CERTIFICATES); on Windows it asks the system. Pure but for
// `is_file`.
#pragma once

#include <functional>
#include <string>

#include "hub/settings.hpp"

namespace bittern::hub {

/// Looks for a file at $SSL_CERT_FILE, then where Debian, Alpine, Arch, Fedora, SUSE, macOS and
/// Termux keep theirs, and returns the first that is there. Empty: none.
[[nodiscard]] std::string FindCertificates(
    const Variables& variables, const std::function<bool(const std::string& path)>& is_file);

/// Words for the message of a host that did not prove itself: which certificates were used or
/// looked for, and how to name others. `ca_file`: the file that was used; empty: the system's, or
/// none where `finds` says that FindCertificates had to look.
[[nodiscard]] std::string CertificateAdvice(const std::string& ca_file, bool finds);

}  // namespace bittern::hub
