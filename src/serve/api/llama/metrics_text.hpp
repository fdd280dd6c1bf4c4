// SPDX-License-Identifier: Apache-2.0
// Writes metrics in Prometheus' text format 0.0.4. One thread at a time.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "serve/core/histogram.hpp"

namespace bittern::serve {

class MetricsText {
 public:
  /// `help` is a sentence of one line.
  template <class T>
  void Add(std::string_view name, std::string_view type, std::string_view help, T value) {
    Begin(name, type, help);
    text_ += fmt::format("{} {}\n", name, value);
  }
  /// The same figure as "llamacpp:NAME", for dashboards of llama-server, and as "bittern_NAME",
  /// since colons are for rules of recording.
  template <class T>
  void AddBoth(std::string_view name, std::string_view type, std::string_view help, T value) {
    Add(fmt::format("llamacpp:{}", name), type, help, value);
    Add(fmt::format("bittern_{}", name), type, help, value);
  }
  void AddTimes(std::string_view name, std::string_view help, const TimeHistogram& times);
  /// bittern_build_info and process_*: of the whole program.
  void AddProcess(std::string_view version);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  void Begin(std::string_view name, std::string_view type, std::string_view help) {
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  }

  std::string text_;
};

}  // namespace bittern::serve
