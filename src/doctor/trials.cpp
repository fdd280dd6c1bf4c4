// SPDX-License-Identifier: Apache-2.0
#include "doctor/trials.hpp"

namespace bittern::doctor {

std::optional<Probe> Trials::Run(const std::vector<Edit>& further, ProbeOptions options) {
  std::vector<Edit> edits = edits_;
  edits.insert(edits.end(), further.begin(), further.end());
  auto file = OpenReading(open_, edits);
  if (!file) {
    last_error_ = file.error().message;
    return std::nullopt;
  }
  ++count_;
  options.num_threads = num_threads_;
  auto probe = RunProbe(*std::move(file), options);
  if (probe) return *std::move(probe);
  last_error_ = probe.error().message;
  return std::nullopt;
}

}  // namespace bittern::doctor
