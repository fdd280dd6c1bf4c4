// SPDX-License-Identifier: Apache-2.0
// The proof of a conversion: both files are opened as a run would open them, and every tensor is
// compared row by row: codes and scales of ternary weights, values of others within what the format
// can hold. Threads take tensors one by one.
#include "formats/convert/prove.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/text/display.hpp"
#include "formats/convert/convert_plan.hpp"
#include "formats/convert/row_order.hpp"
#include "formats/ternary_source.hpp"
#include "quant/blocks/dequantize.hpp"

namespace bittern::formats {
namespace {

constexpr std::size_t kRowsAtOnce = 32;

/// A tensor on both sides.
struct Pair {
  const Tensor *in, *out;
  std::optional<TernarySource> in_source, out_source;  // both, for ternary weights
};

/// The result of comparing one pair.
struct Finding {
  Proof part;  // counts of this tensor only
  std::string hash_in, hash_out;
};

/// Rows of one side, in Hugging Face's order.
class RowReader {
 public:
  static Result<RowReader> Create(const Checkpoint& file, const Tensor& tensor,
                                  const TernarySource& source) {
    RowReader reader(source);
    const RowOrder order = BITTERN_TRY(RowOrderOf(file.metadata()));
    if (order != RowOrder::kHalves && HasRowOrder(tensor.name)) {
      const std::size_t head_dim = BITTERN_TRY(HeadDimOf(file.metadata()));
      reader.order_ =
          BITTERN_TRY(RowPermutation(order, RowOrder::kHalves, source.rows(), head_dim));
    }
    return reader;
  }

  /// Reads `count` rows from row `first` (in Hugging Face's order) into the two buffers.
  Result<void> Read(std::size_t first, std::size_t count) {
    codes_.resize(count * source_->cols());
    scales_.resize(count * source_->scales_per_row());
    if (order_.empty()) return source_->ReadRows(first, count, codes_.data(), scales_.data());
    for (std::size_t r = 0; r < count; ++r) {
      BITTERN_TRY(source_->ReadRows(order_[first + r], 1, codes_.data() + r * source_->cols(),
                                    scales_.data() + r * source_->scales_per_row()));
    }
    return {};
  }
  [[nodiscard]] std::span<const std::uint8_t> codes() const { return codes_; }
  /// The scale of a weight of row `row` (of those read), column `col`.
  [[nodiscard]] float ScaleAt(std::size_t row, std::size_t col) const {
    return scales_[row * source_->scales_per_row() + col / source_->group_cols()];
  }
  [[nodiscard]] std::size_t group_cols() const { return source_->group_cols(); }

 private:
  explicit RowReader(const TernarySource& source) : source_(&source) {}
  const TernarySource* source_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint8_t> codes_;
  std::vector<float> scales_;
};

/// Compares two ternary tensors: codes must be equal, scales equal or rounded as the target stores
/// them. Only the first problem is told in words; all are counted.
class PairComparer {
 public:
  PairComparer(const Pair& pair, float (*stored_scale)(float) noexcept)
      : pair_(pair),
        stored_scale_(stored_scale != nullptr ? stored_scale
                                              : pair.out_source->codec().stored_scale) {}

  /// Walks both tensors in blocks of rows, so that memory does not grow with the tensor.
  Result<Finding> Compare(const Checkpoint& in_file, const Checkpoint& out_file) {
    RowReader in = BITTERN_TRY(RowReader::Create(in_file, *pair_.in, *pair_.in_source));
    RowReader out = BITTERN_TRY(RowReader::Create(out_file, *pair_.out, *pair_.out_source));
    const std::size_t rows = pair_.in_source->rows();
    Hash128 hash_in, hash_out;
    for (std::size_t first = 0; first < rows; first += kRowsAtOnce) {
      const std::size_t count = std::min(kRowsAtOnce, rows - first);
      BITTERN_TRY(in.Read(first, count));
      BITTERN_TRY(out.Read(first, count));
      hash_in.Add(std::as_bytes(in.codes()));
      hash_out.Add(std::as_bytes(out.codes()));
      CompareCodes(first, in.codes(), out.codes());
      CompareScales(first, count, in, out);
    }
    finding_.part.tensors = 1;
    finding_.part.weights = rows * pair_.in_source->cols();
    finding_.hash_in = hash_in.Hex();
    finding_.hash_out = hash_out.Hex();
    return std::move(finding_);
  }

 private:
  /// Keeps the first problem only.
  void Problem(std::string text) {
    if (finding_.part.first_problem.empty()) {
      finding_.part.first_problem = fmt::format("{}: {}", Quoted(pair_.in->name), text);
    }
  }

  /// Counts the weights by value (a code is the weight plus 1) and each code that differs.
  void CompareCodes(std::size_t first_row, std::span<const std::uint8_t> in,
                    std::span<const std::uint8_t> out) {
    std::uint64_t counts[4] = {};
    for (const std::uint8_t code : in) ++counts[code & 3];
    finding_.part.minus += counts[0];
    finding_.part.zero += counts[1];
    finding_.part.plus += counts[2];
    if (std::memcmp(in.data(), out.data(), in.size()) == 0) return;
    const std::size_t cols = pair_.in_source->cols();
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (in[i] == out[i]) continue;
      ++finding_.part.wrong_codes;
      Problem(fmt::format("row {}, column {}: weight {} became {}", first_row + i / cols, i % cols,
                          in[i] - 1, out[i] - 1));
    }
  }

  /// Scales are compared where a weight uses them. One that is repeated counts once.
  void CompareScales(std::size_t first_row, std::size_t count, const RowReader& in,
                     const RowReader& out) {
    const std::size_t cols = pair_.in_source->cols();
    const std::size_t group = std::min(in.group_cols(), out.group_cols());
    for (std::size_t r = 0; r < count; ++r) {
      const auto codes = in.codes().subspan(r * cols, cols);
      for (std::size_t col = 0; col < cols; col += group) {
        const auto part = codes.subspan(col, std::min(group, cols - col));
        if (std::ranges::all_of(part, [](std::uint8_t code) { return code == 1; })) continue;
        CompareScale(first_row + r, col, in.ScaleAt(r, col), out.ScaleAt(r, col));
      }
    }
  }

  /// Compares one scale. Neighbours that share a pair of scales are one scale, and count once.
  void CompareScale(std::size_t row, std::size_t col, float in, float out) {
    if (in == last_in_ && out == last_out_) return;
    last_in_ = in;
    last_out_ = out;
    if (out == in || out == stored_scale_(in)) {
      finding_.part.scales.Count(in, out);
      return;
    }
    ++finding_.part.wrong_scales;
    Problem(fmt::format("row {}, column {}: scale {} became {}", row, col, in, out));
  }

  const Pair& pair_;
  float (*stored_scale_)(float) noexcept;
  float last_in_ = 0, last_out_ = 0;
  Finding finding_;
};

/// Bytes of a tensor after which its pages are let go again.
constexpr std::size_t kProofBytes = std::size_t{4} << 20;

/// Compares two plain tensors: byte by byte where the format is the same, else value by value.
class PlainComparer {
 public:
  PlainComparer(const Pair& pair, const Checkpoint& in, const Checkpoint& out)
      : pair_(pair), in_(in), out_(out) {}

  Finding Compare() {
    finding_.part.plain_tensors = 1;
    const auto decode_in = quant::DequantizeRowFor(pair_.in->format);
    const auto decode_out = quant::DequantizeRowFor(pair_.out->format);
    if (pair_.in->format == pair_.out->format || decode_in == nullptr || decode_out == nullptr) {
      CompareBytes();
    } else {
      CompareValues(decode_in, decode_out);
    }
    return std::move(finding_);
  }

 private:
  /// Compares copies piece by piece and lets the pages of both files go.
  void CompareBytes() {
    const auto a = pair_.in->bytes, b = pair_.out->bytes;
    bool equal = a.size() == b.size();
    for (std::size_t at = 0; equal && at < a.size(); at += kProofBytes) {
      const std::size_t count = std::min(kProofBytes, a.size() - at);
      equal = std::memcmp(a.data() + at, b.data() + at, count) == 0;
      in_.Release(a.subspan(at, count));
      out_.Release(b.subspan(at, count));
    }
    if (equal) {
      finding_.part.plain_equal = 1;
    } else {
      finding_.part.first_problem = fmt::format("{}: the copy differs", Quoted(pair_.in->name));
    }
  }

  /// Decodes both sides row by row. A NaN becomes `worst` and stays it, so that Judge refuses it.
  void CompareValues(quant::DequantizeRowFn decode_in, quant::DequantizeRowFn decode_out) {
    const std::size_t rows = pair_.in->rows(), cols = pair_.in->row_elements();
    const std::size_t in_bytes = pair_.in->bytes.size() / rows;
    const std::size_t out_bytes = pair_.out->bytes.size() / rows;
    const std::size_t at_once = std::max<std::size_t>(1, kProofBytes / (in_bytes + out_bytes));
    std::vector<float> a(cols), b(cols);
    double worst = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      decode_in(pair_.in->bytes.data() + r * in_bytes, cols, a.data());
      decode_out(pair_.out->bytes.data() + r * out_bytes, cols, b.data());
      const double error = RowError(a, b);
      worst = error <= worst ? worst : error;
      if ((r + 1) % at_once != 0) continue;
      const std::size_t first = r + 1 - at_once;
      in_.Release(pair_.in->bytes.subspan(first * in_bytes, at_once * in_bytes));
      out_.Release(pair_.out->bytes.subspan(first * out_bytes, at_once * out_bytes));
    }
    Judge(worst);
  }

  /// Largest difference, relative to the largest magnitude of the row. NaN where one is NaN.
  static double RowError(std::span<const float> a, std::span<const float> b) {
    double largest = 0, error = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::fabs(double{a[i]}));
      const double off = std::fabs(double{a[i]} - double{b[i]});
      error = off <= error ? error : off;
    }
    return largest > 0 ? error / largest : error;
  }

  /// Accepts a relative error that the coarsest embedding format may cause; see kMaxPlainError.
  void Judge(double worst) {
    if (worst == 0) {
      finding_.part.plain_equal = 1;
      return;
    }
    finding_.part.largest_plain_error = worst;
    finding_.part.largest_plain_name = pair_.in->name;
    if (worst <= kMaxPlainError) return;  // not so for NaN
    finding_.part.first_problem =
        fmt::format("{}: values differ by {:.3g} of the largest", Quoted(pair_.in->name), worst);
  }

  const Pair& pair_;
  const Checkpoint &in_, &out_;
  Finding finding_;
};

/// Finds the partner of every tensor.
class Pairer {
 public:
  Pairer(const Checkpoint& in, const Checkpoint& out) : in_(in), out_(out) {}

  Result<std::vector<Pair>> Pairs() {
    Decisions ignored;
    auto in_opener = BITTERN_TRY(TernaryOpener::Create(in_, &ignored));
    auto out_opener = BITTERN_TRY(TernaryOpener::Create(out_, &ignored));
    std::vector<Pair> pairs;
    for (const Tensor& tensor : in_.tensors()) {
      if (IsScaleOfProjection(in_, tensor)) continue;
      const Tensor* partner = out_.Find(tensor.name);
      if (partner == nullptr) return Missing(tensor, out_);
      if (partner->shape != tensor.shape) {
        return Fail(ErrorCode::kInternal,
                    fmt::format("{} has another shape in {}", Quoted(tensor.name), out_.path()));
      }
      Pair pair{.in = &tensor, .out = partner, .in_source = {}, .out_source = {}};
      if (IsProjection(tensor.name)) {
        pair.in_source = BITTERN_TRY(in_opener.Open(tensor));
        pair.out_source = BITTERN_TRY(out_opener.Open(*partner));
      }
      pairs.push_back(std::move(pair));
    }
    for (const Tensor& tensor : out_.tensors()) {
      if (in_.Find(tensor.name) == nullptr) return Missing(tensor, in_);
    }
    return pairs;
  }

 private:
  static tl::unexpected<Error> Missing(const Tensor& tensor, const Checkpoint& file) {
    return Fail(ErrorCode::kInternal,
                fmt::format("{} is missing in {}", Quoted(tensor.name), file.path()));
  }
  const Checkpoint &in_, &out_;
};

/// Adds the counts of one tensor to those of all. Pairs come in the order of their size, so the
/// first problem is that of the largest tensor.
void Join(const Proof& part, Proof* all) {
  all->tensors += part.tensors;
  all->weights += part.weights;
  all->minus += part.minus;
  all->zero += part.zero;
  all->plus += part.plus;
  all->wrong_codes += part.wrong_codes;
  all->wrong_scales += part.wrong_scales;
  all->scales += part.scales;
  all->plain_tensors += part.plain_tensors;
  all->plain_equal += part.plain_equal;
  if (part.largest_plain_error > all->largest_plain_error) {
    all->largest_plain_error = part.largest_plain_error;
    all->largest_plain_name = part.largest_plain_name;
  }
  if (all->first_problem.empty()) all->first_problem = part.first_problem;
}

/// One hash for all tensors: that of the lines "name rows cols hash", by name.
std::string CombinedHash(const std::map<std::string, std::string>& lines) {
  Hash128 hash;
  for (const auto& [name, line] : lines) {
    const std::string text = name + " " + line + "\n";
    hash.Add(std::as_bytes(std::span(text)));
  }
  return hash.Hex();
}

/// Compares one pair on any thread of the pool, and lets the pages of both tensors go.
Result<Finding> ComparePair(const Pair& pair, const Checkpoint& in, const Checkpoint& out,
                            float (*stored_scale)(float) noexcept) {
  try {
    auto finding = pair.in_source ? PairComparer(pair, stored_scale).Compare(in, out)
                                  : Result<Finding>(PlainComparer(pair, in, out).Compare());
    in.Release(*pair.in);
    out.Release(*pair.out);
    if (finding) return finding;
    return tl::unexpected(
        Within(fmt::format("tensor {}", Quoted(pair.in->name)), std::move(finding).error()));
  } catch (const std::bad_alloc&) {  // a thread of the pool must not throw
    return Fail(ErrorCode::kOutOfMemory, "not enough memory to compare a tensor");
  }
}

}  // namespace

Result<Proof> Prove(const Checkpoint& in, const Checkpoint& out,
                    float (*stored_scale)(float) noexcept, ThreadPool& pool,
                    const std::function<bool(double)>& keep_going) {
  std::vector<Pair> pairs = BITTERN_TRY(Pairer(in, out).Pairs());
  // Large ones first, so that no thread is left alone with the embedding.
  std::ranges::sort(pairs, std::greater(), [](const Pair& p) { return p.in->num_elements(); });
  std::vector<std::optional<Result<Finding>>> findings(pairs.size());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  pool.Run([&](Team& team) {
    while (!stop.load()) {
      const std::size_t i = next.fetch_add(1);
      if (i >= pairs.size()) return;
      findings[i] = ComparePair(pairs[i], in, out, stored_scale);
      const bool asked = team.index() == 0 && keep_going;
      if (asked && !keep_going(double(i) / double(pairs.size()))) stop.store(true);
    }
  });
  // Only the caller's thread may ask, and it may have had little to do; so once more at the end.
  if (stop.load() || (keep_going && !keep_going(1))) {
    return Fail(ErrorCode::kCancelled, "interrupted; nothing was written");
  }
  Proof proof;
  std::map<std::string, std::string> lines_in, lines_out;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Finding finding = BITTERN_TRY(std::move(*findings[i]));
    Join(finding.part, &proof);
    if (!pairs[i].in_source) continue;
    const std::string shape =
        fmt::format("{} {} ", pairs[i].in_source->rows(), pairs[i].in_source->cols());
    lines_in[pairs[i].in->name] = shape + finding.hash_in;
    lines_out[pairs[i].in->name] = shape + finding.hash_out;
  }
  proof.codes_hash_in = CombinedHash(lines_in);
  proof.codes_hash_out = CombinedHash(lines_out);
  return proof;
}

}  // namespace bittern::formats
