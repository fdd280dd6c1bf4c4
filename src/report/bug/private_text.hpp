// SPDX-License-Identifier: Apache-2.0
// Takes out of a text what tells whose machine it came from: folders, and names of users and hosts.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bittern::report {

/// Words that must not stand in a text, and the words that stand there instead.
struct PrivateWords {
  /// Taken out wherever they are: home folders, the model's path. The longer ones first.
  std::vector<std::pair<std::string, std::string>> texts;
  /// Taken out where no letter or digit is beside them: names of users and hosts.
  std::vector<std::pair<std::string, std::string>> words;

  /// The words of this process: its home folder, its user's name, the machine's names. What is
  /// shorter than two letters is let be. `variable` gives the values of environment variables; null
  /// if one is not set.
  [[nodiscard]] static PrivateWords OfThisMachine(
      const std::function<const char*(const char* name)>& variable);
  /// Also this path: only the last part of it stays.
  void AddPath(const std::string& path);
};

/// The text without them. Folders of users (/home/NAME, /Users/NAME, C:\Users\NAME) become "~",
/// whichever user's they are.
[[nodiscard]] std::string WithoutPrivate(std::string text, const PrivateWords& words);

}  // namespace bittern::report
