// SPDX-License-Identifier: Apache-2.0
#include "runtime/pooled_hidden.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/prompt_check.hpp"

namespace bittern::runtime {

std::string_view PoolingName(Pooling pooling) noexcept {
  switch (pooling) {
    case Pooling::kFirst:
      return "first";
    case Pooling::kMean:
      return "mean";
    case Pooling::kLast:
      break;
  }
  return "last";
}

/// The numbers are llama.cpp's enum; 4, a rank, needs a head that these models do not have.
Result<std::optional<Pooling>> PoolingOf(const formats::Metadata& metadata,
                                         std::string_view architecture) {
  const std::string key = fmt::format("{}.pooling_type", architecture);
  const auto value = BITTERN_TRY(metadata.GetUint(key));
  switch (value.value_or(0)) {
    case 0:
      return std::nullopt;
    case 1:
      return Pooling::kMean;
    case 2:
      return Pooling::kFirst;
    case 3:
      return Pooling::kLast;
    default:
      return Fail(
          ErrorCode::kUnsupported,
          fmt::format("metadata key {}: expected 0 (none), 1 (mean), 2 (first) or 3 (last), "
                      "found {}",
                      key, *value));
  }
}

Result<Pooling> DefaultPooling(const formats::Metadata& metadata, std::string_view architecture) {
  return BITTERN_TRY(PoolingOf(metadata, architecture)).value_or(Pooling::kLast);
}

Result<std::vector<tokenizer::TokenId>> EncodeForVector(std::string_view text,
                                                        const tokenizer::Tokenizer& tokenizer,
                                                        int most, bool cut) {
  const ReadText read =
      ReadWithinContext(text, tokenizer, {.add_bos = true, .add_eos = true}, most);
  std::vector<tokenizer::TokenId> ids = read.ids;
  const auto limit = static_cast<std::size_t>(most);
  if (most == 0 || ids.size() <= limit) return ids;
  if (!cut) {
    return Fail(ErrorCode::kContextFull,
                fmt::format("the text has {}{} tokens, but the context holds {}",
                            read.cut ? "at least " : "", ids.size(), most));
  }
  // A token that the file wants behind every text stays; the text before it is cut.
  const bool closed = tokenizer.Encode("", {.add_bos = false, .add_eos = true}).size() == 1;
  const tokenizer::TokenId last = ids.back();
  ids.resize(limit);
  if (closed) ids.back() = last;
  return ids;
}

/// Sums are double and in the order of tokens, which chunks of a prompt do not change.
void PooledHidden::Add(std::span<const float> row) {
  if (pooling_ == Pooling::kFirst && count_ > 0) return;
  ++count_;
  for (std::size_t i = 0; i < sum_.size(); ++i) {
    const auto value = static_cast<double>(row[i]);
    sum_[i] = pooling_ == Pooling::kMean ? sum_[i] + value : value;
  }
}

void PooledHidden::Reset() {
  std::ranges::fill(sum_, 0.0);
  count_ = 0;
}

/// A vector of zeros has no direction and stays as it is.
std::vector<float> PooledHidden::Finish(bool normalize) const {
  const double divisor = pooling_ == Pooling::kMean && count_ > 0 ? static_cast<double>(count_) : 1;
  double squares = 0;
  for (const double value : sum_) squares += value / divisor * (value / divisor);
  const double length = normalize && squares > 0 ? std::sqrt(squares) : 1;
  std::vector<float> pooled;
  pooled.reserve(sum_.size());
  for (const double value : sum_) pooled.push_back(static_cast<float>(value / divisor / length));
  return pooled;
}

}  // namespace bittern::runtime
