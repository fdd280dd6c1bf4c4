// SPDX-License-Identifier: Apache-2.0
// One vector for a text: the final norms of its positions, pooled as its model wants it. Sums are
// made in double by ascending position, so that the vector is the same on every machine. One
// thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "formats/metadata.hpp"
#include "runtime/pooling.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {

/// "last", "first", "mean".
[[nodiscard]] std::string_view PoolingName(Pooling pooling) noexcept;

/// <architecture>.pooling_type, as llama.cpp counts: 1 mean, 2 first, 3 last; nullopt: it
/// is absent or 0, as in models that were not made for embeddings. Error kUnsupported: another one.
[[nodiscard]] Result<std::optional<Pooling>> PoolingOf(const formats::Metadata& metadata,
                                                       std::string_view architecture);

/// PoolingOf; the last position where the file asks for nothing.
[[nodiscard]] Result<Pooling> DefaultPooling(const formats::Metadata& metadata,
                                             std::string_view architecture);

/// A text's tokens as a model for embeddings is given them: with the tokens in front and behind
/// that its file asks for, and without control tokens inside. Longer texts than `most` tokens
/// (0: no limit) lose the tokens before the one behind where `cut` is set. Error kContextFull
/// otherwise.
[[nodiscard]] Result<std::vector<tokenizer::TokenId>> EncodeForVector(
    std::string_view text, const tokenizer::Tokenizer& tokenizer, int most, bool cut);

class PooledHidden {
 public:
  PooledHidden(Pooling pooling, int hidden_size)
      : pooling_(pooling), sum_(static_cast<std::size_t>(hidden_size)) {}

  /// The final norm of the next position.
  void Add(std::span<const float> row);
  /// Forgets all positions.
  void Reset();
  /// float[hidden_size]; with `normalize` of length 1, unless all are 0.
  [[nodiscard]] std::vector<float> Finish(bool normalize) const;

 private:
  Pooling pooling_;
  std::vector<double> sum_;
  std::size_t count_ = 0;
};

}  // namespace bittern::runtime
