// SPDX-License-Identifier: Apache-2.0
// A share of a batch. A line belongs to a shard by its number and nothing else. The results of a
// shard are a part. The first line of that file, the head, says which shard of which input it is,
// and how it was computed. A result a line follows, each with the number of its line. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/json/json.hpp"
#include "base/result.hpp"

namespace bittern::request {

/// Shard `index` of `count`, from 1. Its lines are those with number = index, index + count, ...
struct Shard {
  static constexpr std::size_t kMost = 1000;  ///< parts that can be open at a time

  std::size_t index = 1, count = 1;

  /// True if the line of that number (from 1) is in it.
  [[nodiscard]] bool Has(std::size_t number) const noexcept {
    return number % count == index % count;
  }
  /// Its lines of an input of `total`.
  [[nodiscard]] std::size_t LinesOf(std::size_t total) const noexcept {
    return total < index ? 0 : (total - index) / count + 1;
  }
  /// "3/8"
  [[nodiscard]] std::string Name() const;
};

/// Reads "I/N", 1 <= I <= N <= Shard::kMost. Error kInvalidArgument.
[[nodiscard]] Result<Shard> ParseShard(std::string_view text);

/// Which results a part has, and what they were made of.
struct PartHead {
  Shard shard;
  std::size_t lines = 0;  ///< of the whole input
  std::string input;      ///< LineSource::hash
  std::string model;      ///< model::Fingerprint::hash
  Json settings;          ///< an object: what a line leaves open
};

/// The head as the first line of a part, with its end.
[[nodiscard]] std::string WritePartHead(const PartHead& head);

/// Reads a line of WritePartHead; nothing if it is another line.
[[nodiscard]] std::optional<PartHead> ReadPartHead(std::string_view line);

/// Names the first thing that one head has otherwise than another, the shards' indices aside:
/// "model: X expected, Y found"; empty: there is none.
[[nodiscard]] std::string DifferenceOf(const PartHead& expected, const PartHead& found);

}  // namespace bittern::request
