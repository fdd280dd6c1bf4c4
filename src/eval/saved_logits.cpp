// SPDX-License-Identifier: Apache-2.0
// Numbers lie in the file as this machine has them: little-endian, and rows begin at even
// addresses, since the header and the ids before them are multiples of four bytes.
#include "eval/saved_logits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/portable_math.hpp"
#include "eval/log_sum_exp.hpp"

namespace bittern::eval {
namespace {

constexpr std::string_view kMagic = "_logits_";
constexpr std::size_t kHeaderBytes = 20;
constexpr float kDeepest = 16;  // below the best; what is less probable is cut off
constexpr float kSteps = 65535;
constexpr std::size_t kHeadWords = 4;  // two floats

/// Reads the header: magic, then tokens of a window, size of the vocabulary, number of windows, as
/// i32. The sizes must give exactly the file's length.
Result<SavedShape> ReadShape(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytes || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return Fail(ErrorCode::kCorruptFile, "no file of saved logits: \"_logits_\" expected first");
  }
  SavedShape shape;
  std::memcpy(&shape.window, bytes.data() + 8, 4);
  std::memcpy(&shape.vocab, bytes.data() + 12, 4);
  std::memcpy(&shape.windows, bytes.data() + 16, 4);
  constexpr std::int32_t kMost = 1 << 24;
  const auto fits = [](std::int32_t number, std::int32_t least) {
    return number >= least && number <= kMost;
  };
  if (!fits(shape.window, 2) || !fits(shape.vocab, 1) || !fits(shape.windows, 1)) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("impossible sizes: {} windows of {} tokens, a vocabulary of {}",
                            shape.windows, shape.window, shape.vocab));
  }
  const auto windows = static_cast<std::uint64_t>(shape.windows);
  const std::uint64_t of_window =
      4 * static_cast<std::uint64_t>(shape.window) + 2 * shape.rows() * shape.row_words();
  const std::uint64_t room = bytes.size() - kHeaderBytes;
  if (room / of_window < windows || room != windows * of_window) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("cut off or of another kind: {} windows of {} bytes expected, {} bytes "
                            "found",
                            windows, of_window, room));
  }
  return shape;
}

}  // namespace

std::string SavedHeader(const SavedShape& shape, std::span<const TokenId> tokens) {
  std::string text(kMagic);
  for (const std::int32_t number : {shape.window, shape.vocab, shape.windows}) {
    text.append(reinterpret_cast<const char*>(&number), 4);
  }
  static_assert(sizeof(TokenId) == 4);
  return text.append(reinterpret_cast<const char*>(tokens.data()), 4 * tokens.size());
}

/// A row is scale, least log-probability, then 16 bits a token: log p = least + scale * word.
void PackLogits(std::span<const float> logits, std::span<std::uint16_t> row) noexcept {
  const auto [low, high] = std::ranges::minmax(logits);
  const float least = std::max(low, high - kDeepest);
  const float scale = (high - least) / kSteps;
  const auto least_log = static_cast<float>(least - LogSumExp(logits));
  std::ranges::fill(row, std::uint16_t{0});
  std::memcpy(row.data(), &scale, 4);
  std::memcpy(row.data() + 2, &least_log, 4);
  if (scale <= 0) return;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float steps = std::max(logits[i] - least, 0.0f) / scale;
    row[kHeadWords + i] = static_cast<std::uint16_t>(std::min(steps + 0.5f, kSteps));
  }
}

/// KL of this model from the saved one, in nats. Saved probabilities below e^-16 are left out, as
/// llama-perplexity does.
Divergence DivergenceOf(std::span<const float> logits, TokenId token,
                        std::span<const std::uint16_t> row) noexcept {
  float scale = 0, least = 0;
  std::memcpy(&scale, row.data(), 4);
  std::memcpy(&least, row.data() + 2, 4);
  const auto words = row.subspan(kHeadWords, logits.size());
  const double sum = LogSumExp(logits);
  const auto base = [&](std::size_t i) { return double{least} + double{scale} * words[i]; };
  Divergence found;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double log_p = base(i);
    if (log_p <= -double{kDeepest}) continue;  // too little to count
    found.kl += Exp(log_p) * (log_p - (logits[i] - sum));
  }
  const auto index = static_cast<std::size_t>(token);
  found.base_nats = -base(index);
  found.p_change = Exp(logits[index] - sum) - Exp(base(index));
  const auto top = std::ranges::max_element(logits) - logits.begin();
  const auto base_top = std::ranges::max_element(words) - words.begin();
  // Words round, so that several may be the largest.
  found.same_top = top == base_top || words[static_cast<std::size_t>(top)] ==
                                          words[static_cast<std::size_t>(base_top)];
  return found;
}

Result<SavedLogits> SavedLogits::Open(const std::filesystem::path& path) {
  MappedFile file = BITTERN_TRY(MappedFile::Open(path));
  const SavedShape shape = BITTERN_TRY(ReadShape(file.bytes()).map_error([&](Error error) {
    return Within(path.string(), std::move(error));
  }));
  SavedLogits saved(std::move(file), shape);
  saved.tokens_.resize(static_cast<std::size_t>(shape.window) *
                       static_cast<std::size_t>(shape.windows));
  std::memcpy(saved.tokens_.data(), saved.file_.bytes().data() + kHeaderBytes,
              4 * saved.tokens_.size());
  BITTERN_TRY(saved.CheckUnchanged());
  return saved;
}

std::span<const std::uint16_t> SavedLogits::Row(std::size_t window,
                                                std::size_t row) const noexcept {
  const std::size_t words = shape_.row_words();
  const std::size_t at =
      kHeaderBytes + 4 * tokens_.size() + 2 * words * (window * shape_.rows() + row);
  return {reinterpret_cast<const std::uint16_t*>(file_.bytes().data() + at), words};
}

}  // namespace bittern::eval
