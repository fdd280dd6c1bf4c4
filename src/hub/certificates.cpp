// SPDX-License-Identifier: Apache-2.0
#include "hub/certificates.hpp"

#include <fmt/format.h>

#include <string_view>

#include "base/text/display.hpp"

namespace bittern::hub {
namespace {

/// A variable and what follows its value; an absolute path where the variable is empty.
struct Place {
  std::string_view variable;
  std::string_view path;
};

constexpr Place kPlaces[] = {
    {"SSL_CERT_FILE", ""},
    {"", "/etc/ssl/certs/ca-certificates.crt"},  // Debian, Alpine, Arch
    {"", "/etc/pki/tls/certs/ca-bundle.crt"},    // Fedora
    {"", "/etc/ssl/ca-bundle.pem"},              // SUSE
    {"", "/etc/ssl/cert.pem"},                   // Alpine, macOS
    {"PREFIX", "/etc/tls/cert.pem"},             // Termux
};

}  // namespace

std::string FindCertificates(const Variables& variables,
                             const std::function<bool(const std::string& path)>& is_file) {
  for (const Place& place : kPlaces) {
    std::string path(place.path);
    if (!place.variable.empty()) {
      const char* value = variables ? variables(std::string(place.variable).c_str()) : nullptr;
      if (value == nullptr || *value == '\0') continue;
      path = value + path;
    }
    if (is_file(path)) return path;
  }
  return {};
}

std::string CertificateAdvice(const std::string& ca_file, bool finds) {
  std::string used = "the certificates are the system's";
  if (!ca_file.empty()) {
    used = "the certificates are those of " + Quoted(ca_file);
  } else if (finds) {
    used = "no file of certificates was found, looked for:";
    for (const Place& place : kPlaces) {
      used += fmt::format("{}{}{}{}", &place == kPlaces ? " " : ", ",
                          place.variable.empty() ? "" : "$", place.variable, place.path);
    }
    used += " (Debian and Alpine: install ca-certificates)";
  }
  return used + "; SSL_CERT_FILE=FILE in the environment names others (PEM)";
}

}  // namespace bittern::hub
