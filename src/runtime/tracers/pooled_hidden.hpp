// SPDX-License-Identifier: Apache-2.0
// One vector for a text: the final norms of its positions, pooled while a session is traced
// (Session::PrefillRows). Sums are made in double by ascending position, so that the vector is the
// same on every machine. One thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "model/trace.hpp"

namespace bittern::runtime {

/// The positions that count: the last one, the first one, or the mean of all.
enum class Pooling { kLast, kFirst, kMean };

class PooledHidden final : public model::Tracer {
 public:
  PooledHidden(Pooling pooling, int hidden_size)
      : pooling_(pooling),
        row_(static_cast<std::size_t>(hidden_size)),
        sum_(static_cast<std::size_t>(hidden_size)) {}

  /// The values of a token may come in several parts, in order.
  void OnValues(const model::TracePlace& place,
                std::span<const std::byte> bytes) noexcept override {
    if (place.point != model::TracePoint::kFinalNorm) return;
    const std::size_t taken = std::min(bytes.size(), (row_.size() - filled_) * sizeof(float));
    std::memcpy(row_.data() + filled_, bytes.data(), taken);
    filled_ += taken / sizeof(float);
    if (filled_ < row_.size()) return;
    filled_ = 0;
    if (pooling_ == Pooling::kFirst && count_ > 0) return;
    ++count_;
    for (std::size_t i = 0; i < row_.size(); ++i) {
      sum_[i] = pooling_ == Pooling::kMean ? sum_[i] + static_cast<double>(row_[i])
                                           : static_cast<double>(row_[i]);
    }
  }

  /// float[hidden_size]; with `normalize` of length 1, unless all are 0.
  [[nodiscard]] std::vector<float> Finish(bool normalize) const {
    const double divisor =
        pooling_ == Pooling::kMean && count_ > 0 ? static_cast<double>(count_) : 1;
    double squares = 0;
    for (const double value : sum_) squares += value / divisor * (value / divisor);
    const double length = normalize && squares > 0 ? std::sqrt(squares) : 1;
    std::vector<float> pooled;
    for (const double value : sum_) pooled.push_back(static_cast<float>(value / divisor / length));
    return pooled;
  }

 private:
  Pooling pooling_;
  std::vector<float> row_;
  std::vector<double> sum_;
  std::size_t filled_ = 0, count_ = 0;
};

}  // namespace bittern::runtime
