// SPDX-License-Identifier: Apache-2.0
// The certificate of a server, by OpenSSL, for TLS 1.2 and 1.3. What goes through a connection is
// in transport.hpp.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"

namespace bittern::serve {

/// A certificate with its key. Immutable; any thread.
class Tls {
 public:
  /// Both files are PEM; the certificate comes first in its file, those that sign it follow.
  /// Errors: kInvalidArgument (a file cannot be read or is no such thing, the key is another
  /// certificate's), kUnsupported (built without CMake's BITTERN_TLS).
  [[nodiscard]] static Result<std::shared_ptr<const Tls>> Load(const std::string& certificate_file,
                                                               const std::string& key_file);
  ~Tls();

  struct Impl;  ///< in the source file
  [[nodiscard]] const Impl& impl() const noexcept { return *impl_; }
  explicit Tls(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace bittern::serve
