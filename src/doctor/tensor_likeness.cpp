// SPDX-License-Identifier: Apache-2.0
// Rows are decoded one after the other on both sides, and counted in ways that give each likely
// cause away: a table of codes against codes, ratios of scales, sums of differences, hashes of
// rows. One thread.
#include "doctor/tensor_likeness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "formats/convert/convert_plan.hpp"
#include "formats/convert/row_order.hpp"
#include "quant/blocks/dequantize.hpp"

namespace bittern::doctor {
namespace {

using formats::Tensor;
using formats::TernarySource;

constexpr double kRoundedScale = 0.004;  // bf16 keeps 8 bits
constexpr double kRoundedValues = 0.02;  // of the size of a tensor, in another plain format
constexpr double kExactly = 1e-3;        // what is left where a change explains a difference

std::uint64_t HashOf(const void* data, std::size_t bytes) {
  return std::hash<std::string_view>()({static_cast<const char*>(data), bytes});
}

/// Decoded rows of one side.
class Rows {
 public:
  static Result<Rows> Create(ComparedFile& file, const Tensor& tensor) {
    Rows rows(tensor);
    rows.source_ = BITTERN_TRY(file.Open(tensor));
    rows.order_ = BITTERN_TRY(file.OrderOf(tensor));
    if (!rows.source_) rows.decode_ = quant::DequantizeRowFor(tensor.format);
    return rows;
  }

  [[nodiscard]] bool ternary() const { return source_.has_value(); }
  [[nodiscard]] bool readable() const { return source_ || decode_ != nullptr; }
  [[nodiscard]] std::size_t rows() const { return tensor_->rows(); }
  [[nodiscard]] std::size_t cols() const { return tensor_->row_elements(); }

  /// Reads one row: codes and scales of a ternary tensor, floats of any other.
  Result<void> Read(std::size_t row) {
    const std::size_t from = order_.empty() ? row : order_[row];
    if (source_) {
      codes_.resize(cols());
      scales_.resize(source_->scales_per_row());
      return source_->ReadRows(from, 1, codes_.data(), scales_.data());
    }
    values_.resize(cols());
    const std::size_t bytes = tensor_->bytes.size() / rows();
    decode_(tensor_->bytes.data() + from * bytes, cols(), values_.data());
    return {};
  }
  [[nodiscard]] const std::vector<std::uint8_t>& codes() const { return codes_; }
  [[nodiscard]] const std::vector<float>& values() const { return values_; }
  [[nodiscard]] float ScaleAt(std::size_t col) const {
    return scales_[col / source_->group_cols()];
  }
  [[nodiscard]] std::size_t group_cols() const { return source_->group_cols(); }
  /// Whether equal bytes are equal weights.
  [[nodiscard]] bool ReadsAs(const Rows& other) const {
    if (order_ != other.order_ || ternary() != other.ternary()) return false;
    return !ternary() || (&source_->codec() == &other.source_->codec() &&
                          source_->multiplier() == other.source_->multiplier() &&
                          source_->is_master() == other.source_->is_master());
  }
  [[nodiscard]] std::uint64_t Hash() const {
    return source_ ? HashOf(codes_.data(), codes_.size())
                   : HashOf(values_.data(), values_.size() * sizeof(float));
  }

 private:
  explicit Rows(const Tensor& tensor) : tensor_(&tensor) {}
  const Tensor* tensor_;
  std::optional<TernarySource> source_;
  quant::DequantizeRowFn decode_ = nullptr;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint8_t> codes_;
  std::vector<float> scales_, values_;
};

bool SameRowsInAnotherOrder(const TensorLikeness& found) {
  std::vector<std::uint64_t> a = found.rows, b = found.other;
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

/// Ternary weights.
class CodeTally {
 public:
  void Add(const Rows& a, const Rows& b) {
    for (std::size_t i = 0; i < a.codes().size(); ++i) ++pairs_[a.codes()[i]][b.codes()[i]];
    const std::size_t group = std::min(a.group_cols(), b.group_cols());
    for (std::size_t col = 0; col < a.cols(); col += group) {
      const double from = b.ScaleAt(col), to = a.ScaleAt(col);
      if (from == 0 || to == 0) continue;  // a group of zeros
      least_ = std::min(least_, to / from);
      most_ = std::max(most_, to / from);
    }
  }

  void Judge(TensorLikeness* found) const {
    found->same_codes = Differing() == 0;
    if (found->same_codes) {
      found->what = ScaleSentence();
    } else if (const auto map = Mapping()) {
      found->what = *map;
    } else if (SameRowsInAnotherOrder(*found)) {
      found->what = "It has the same rows in another order.";
    } else {
      found->what = fmt::format("{:.3g} % of its weights differ.",
                                100.0 * double(Differing()) / double(All()));
    }
    found->equal = found->what.empty();
  }

 private:
  [[nodiscard]] std::uint64_t All() const {
    std::uint64_t all = 0;
    for (const auto& row : pairs_) all += row[0] + row[1] + row[2];
    return all;
  }
  [[nodiscard]] std::uint64_t Differing() const {
    return All() - pairs_[0][0] - pairs_[1][1] - pairs_[2][2];
  }

  /// Every weight here stands for one other weight there.
  [[nodiscard]] std::optional<std::string> Mapping() const {
    std::string text;
    for (int from = 0; from < 3; ++from) {
      int to = -1;
      for (int code = 0; code < 3; ++code) {
        if (pairs_[from][code] == 0) continue;
        if (to >= 0) return std::nullopt;
        to = code;
      }
      if (to >= 0 && to != from) {
        text += fmt::format("{}{} here is {} there", text.empty() ? "" : ", ", from - 1, to - 1);
      }
    }
    return "Its weights mean something else: " + text + ".";
  }

  // One factor for all groups is a scale; a range of them means that groups were scaled apart.
  // Factors that bf16's rounding explains say nothing.
  [[nodiscard]] std::string ScaleSentence() const {
    const bool rounded = least_ >= 1 - kRoundedScale && most_ <= 1 + kRoundedScale;
    if (most_ == 0 || rounded) return "";
    if (most_ <= least_ * (1 + 2 * kRoundedScale)) {
      return fmt::format("Its scale is {:.4g} times the other's.", most_);
    }
    return fmt::format("Its scales are {:.4g} to {:.4g} times the other's.", least_, most_);
  }

  std::uint64_t pairs_[3][3] = {};  // [code here][code there]
  double least_ = std::numeric_limits<double>::infinity(), most_ = 0;
};

/// Other weights.
class ValueTally {
 public:
  void Add(const Rows& a, const Rows& b) {
    for (std::size_t i = 0; i < a.values().size(); ++i) {
      const double x = a.values()[i], y = b.values()[i];
      if (!std::isfinite(x) || !std::isfinite(y)) {
        not_finite_ += std::isfinite(x) ? 0 : 1;
        not_finite_there_ += std::isfinite(y) ? 0 : 1;
        continue;
      }
      ++count_;
      difference_ += x - y;
      differences_ += (x - y) * (x - y);
      squares_ += x * x;
      squares_there_ += y * y;
      products_ += x * y;
    }
  }

  void Judge(bool same_format, TensorLikeness* found) const {
    found->what = Sentence(same_format, *found);
    found->equal = found->what.empty();
  }

 private:
  // Causes are tried in turn, the simplest first: numbers that are not finite, then rounding by
  // another format. A constant was added if the differences hardly vary around their mean. A factor
  // explains the tensor if least squares leave almost nothing. Then rows may have moved. If nothing
  // fits, the distance is told.
  [[nodiscard]] std::string Sentence(bool same_format, const TensorLikeness& found) const {
    if (not_finite_ != not_finite_there_) {
      return fmt::format("{} of its numbers are not finite, {} of the other's.", not_finite_,
                         not_finite_there_);
    }
    const double there = std::max(squares_there_, 1e-30);
    const double distance = std::sqrt(differences_ / there);
    if (differences_ == 0 || (!same_format && distance <= kRoundedValues)) return "";
    const double mean = difference_ / double(count_);
    if (std::abs(mean) > kExactly &&
        differences_ / double(count_) - mean * mean < kExactly * kExactly * mean * mean) {
      return fmt::format("Each of its numbers is {:.4g} {}.", std::abs(mean),
                         mean > 0 ? "more" : "less");
    }
    const double factor = products_ / there;
    const double left = squares_ - 2 * factor * products_ + factor * factor * squares_there_;
    if (left < kExactly * kExactly * squares_ && std::abs(factor - 1) > kExactly) {
      return fmt::format("Its numbers are {:.4g} times the other's.", factor);
    }
    if (SameRowsInAnotherOrder(found)) return "It has the same rows in another order.";
    return fmt::format("Its numbers are {:.3g} % of their size apart.", 100 * distance);
  }

  std::uint64_t count_ = 0, not_finite_ = 0, not_finite_there_ = 0;
  double difference_ = 0, differences_ = 0, squares_ = 0, squares_there_ = 0, products_ = 0;
};

template <class Tally>
Result<void> ReadBoth(Rows& a, Rows& b, Tally* tally, TensorLikeness* found) {
  for (std::size_t r = 0; r < a.rows(); ++r) {
    BITTERN_TRY(a.Read(r));
    BITTERN_TRY(b.Read(r));
    tally->Add(a, b);
    found->rows.push_back(a.Hash());
    found->other.push_back(b.Hash());
  }
  return {};
}

/// True where nothing needs decoding: equal bytes, read in the same way.
bool SameBytes(const Tensor& a, const Tensor& b) {
  return a.format == b.format && a.scale == b.scale && a.places == b.places &&
         a.bytes.size() == b.bytes.size() &&
         std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
}

}  // namespace

Result<ComparedFile> ComparedFile::Create(const formats::Checkpoint& checkpoint) {
  auto decisions = std::make_unique<Decisions>();
  auto opener = BITTERN_TRY(formats::TernaryOpener::Create(checkpoint, decisions.get()));
  return ComparedFile(checkpoint, std::move(decisions), std::move(opener));
}

Result<std::optional<TernarySource>> ComparedFile::Open(const Tensor& tensor) {
  if (!formats::IsProjection(tensor.name)) return std::nullopt;
  return BITTERN_TRY(opener_.Open(tensor));
}

Result<std::vector<std::uint32_t>> ComparedFile::OrderOf(const Tensor& tensor) const {
  using formats::RowOrder;
  const RowOrder order = BITTERN_TRY(formats::RowOrderOf(checkpoint_->metadata()));
  if (order == RowOrder::kHalves || !formats::HasRowOrder(tensor.name)) {
    return std::vector<std::uint32_t>();
  }
  const std::size_t head_dim = BITTERN_TRY(formats::HeadDimOf(checkpoint_->metadata()));
  return formats::RowPermutation(order, RowOrder::kHalves, tensor.rows(), head_dim);
}

Result<TensorLikeness> CompareTensors(ComparedFile& file, const Tensor& tensor, ComparedFile& other,
                                      const Tensor& of_other) {
  TensorLikeness found;
  Rows a = BITTERN_TRY(Rows::Create(file, tensor));
  Rows b = BITTERN_TRY(Rows::Create(other, of_other));
  found.equal = a.ReadsAs(b) && SameBytes(tensor, of_other);
  if (found.equal) return found;
  if (!a.readable() || !b.readable() || a.ternary() != b.ternary()) {
    found.what = "Its bytes differ.";
    return found;
  }
  if (a.ternary()) {
    CodeTally tally;
    BITTERN_TRY(ReadBoth(a, b, &tally, &found));
    tally.Judge(&found);
  } else {
    ValueTally tally;
    BITTERN_TRY(ReadBoth(a, b, &tally, &found));
    tally.Judge(tensor.format == of_other.format, &found);
  }
  return found;
}

Result<std::vector<std::uint64_t>> RowHashes(ComparedFile& file, const Tensor& tensor) {
  std::vector<std::uint64_t> hashes;
  Rows rows = BITTERN_TRY(Rows::Create(file, tensor));
  for (std::size_t r = 0; rows.readable() && r < rows.rows(); ++r) {
    BITTERN_TRY(rows.Read(r));
    hashes.push_back(rows.Hash());
  }
  return hashes;
}

}  // namespace bittern::doctor
