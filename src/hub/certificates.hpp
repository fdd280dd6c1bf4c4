// SPDX-License-Identifier: Apache-2.0
// The file of certificates by which hosts of downloads prove themselves. A libcurl of the system
// knows where the system keeps it; one that is linked in (BITTERN_HUB_LINKED) does not, because
// each distribution has another place. Pure but for `is_file`.
#pragma once

#include <functional>
#include <string>

#include "hub/settings.hpp"

namespace bittern::hub {

/// The first of the places that is a file: $SSL_CERT_FILE, those of Debian, Alpine and Arch,
/// Fedora, SUSE, macOS, then Termux. Empty: none.
[[nodiscard]] std::string FindCertificates(
    const Variables& variables, const std::function<bool(const std::string& path)>& is_file);

/// Words for the message of a host that did not prove itself: which certificates were used or
/// looked for, and how to name others. `ca_file`: the file that was used; empty: the system's, or
/// none where `linked`, whether libcurl is linked in.
[[nodiscard]] std::string CertificateAdvice(const std::string& ca_file, bool linked);

}  // namespace bittern::hub
