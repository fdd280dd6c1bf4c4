// SPDX-License-Identifier: Apache-2.0
// All parts of a report of a problem in one object, and the object as a file.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "proof/selftest/selftest.hpp"
#include "report/bug/parts.hpp"

namespace bittern::report {

struct CollectOptions {
  Json versions;        ///< of the program and what it is made of
  std::string path;     ///< of the model; empty: the built-in one
  doctor::Opener open;  ///< opens it
  int num_threads = 0;  ///< 0: one per physical core
  Wording word;         ///< of options in sentences
  std::function<proof::SelftestReport()> selftest;
  std::function<void(std::string_view what)> on_progress;
};

/// {"report", "versions", "machine", "model", "file", "doctor", "selftest", "bench"}. Takes up to
/// two minutes with a large model. One thread calls.
[[nodiscard]] Json CollectParts(const CollectOptions& options);

/// The parts without private words, as JSON or as PartsText. Texts that are not UTF-8 are mended.
[[nodiscard]] std::string CleanReport(Json parts, const PrivateWords& words, bool json);

}  // namespace bittern::report
