// SPDX-License-Identifier: Apache-2.0
// Every kernel of the coarse scan that this CPU can run, against loops over the codes: random data
// and the extremes that their bounds are written for.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "base/guarded_buffer_for_test.hpp"
#include "kernels/registry.hpp"
#include "quant/layouts/screen_planes.hpp"

namespace bittern::kernels {
namespace {

constexpr std::size_t kRows = 16;

std::vector<const KernelInfo*> ScreenKernels() {
  std::vector<const KernelInfo*> kernels;
  for (const KernelInfo* kernel : AllKernels()) {
    if (kernel->screen != nullptr) kernels.push_back(kernel);
  }
  return kernels;
}

int Byte(std::int8_t code) { return code + 128; }

class Screen : public testing::TestWithParam<const KernelInfo*> {
 protected:
  void SetUp() override {
    if (!Supports(GetParam()->isa)) GTEST_SKIP() << "this CPU lacks " << GetParam()->name;
  }

  void CheckScan(const std::vector<std::int8_t>& codes, std::size_t cols,
                 GuardedBuffer<std::int8_t>& high, GuardedBuffer<std::int8_t>& low,
                 bool several = false) {
    const std::size_t tiles = codes.size() / (kRows * cols);
    const std::size_t bytes = quant::NibbleTileBytes(cols);
    GuardedBuffer<std::uint8_t> planes(tiles * bytes);
    for (std::size_t t = 0; t < tiles; ++t) {
      quant::PackNibbles(codes.data() + t * kRows * cols, cols, planes.data() + t * bytes);
    }
    GuardedBuffer<float> steps(tiles * kRows), estimates(tiles * kRows), best(tiles);
    for (std::size_t r = 0; r < steps.size(); ++r) steps[r] = 1.0f + static_cast<float>(r);
    const auto high_sum = std::accumulate(high.data(), high.data() + cols, std::int32_t{0});
    const auto low_sum = std::accumulate(low.data(), low.data() + cols, std::int32_t{0});
    const ScanArgs args{planes.data(), tiles,        cols, high.data(),      low.data(), high_sum,
                        low_sum,       steps.data(), 0.5f, estimates.data(), best.data()};
    GetParam()->screen->scan(&args);
    for (std::size_t r = 0; r < tiles * kRows; ++r) {
      std::int32_t expected_high = 0, expected_low = 0;
      for (std::size_t c = 0; c < cols; ++c) {
        const int nibble = Byte(codes[r * cols + c]) >> 4;
        expected_high += nibble * high[c];
        expected_low += nibble * low[c];
      }
      const auto h = static_cast<float>(2 * expected_high - 15 * high_sum);
      const auto l = static_cast<float>(2 * expected_low - 15 * low_sum);
      ASSERT_EQ(estimates[r], (256 * h + l) * (0.5f * steps[r])) << cols << " columns, row " << r;
    }
    for (std::size_t t = 0; t < tiles; ++t) {
      ASSERT_EQ(best[t], *std::max_element(estimates.data() + t * kRows,
                                           estimates.data() + (t + 1) * kRows));
    }
    if (several) CheckSeveral(args);
  }

  /// Several vectors that meet the same tiles get what each gets alone.
  void CheckSeveral(const ScanArgs& like) {
    constexpr std::size_t kMost = 6;
    const std::size_t rows = like.num_tiles * kRows;
    std::deque<GuardedBuffer<std::int8_t>> halves;
    std::deque<GuardedBuffer<float>> estimates, best, alone, best_alone;
    std::vector<ScanArgs> args(kMost, like);
    for (std::size_t i = 0; i < kMost; ++i) {
      for (const std::int8_t* half : {like.high, like.low}) {  // the i-th vector begins at i
        std::rotate_copy(half, half + i, half + like.cols, halves.emplace_back(like.cols).data());
      }
      args[i].high = halves[2 * i].data();
      args[i].low = halves[2 * i + 1].data();
      args[i].factor = like.factor + static_cast<float>(i);
      args[i].high_sum += static_cast<std::int32_t>(i);  // taken as it is
    }
    for (const std::size_t count : {6u, 3u, 2u, 1u}) {  // 4 and 2; 3; 2; 1
      estimates.clear();
      best.clear();
      for (std::size_t i = 0; i < count; ++i) {
        args[i].estimates = estimates.emplace_back(rows).data();
        args[i].best = best.emplace_back(like.num_tiles).data();
      }
      GetParam()->screen->scan_several(args.data(), count);
      for (std::size_t i = 0; i < count; ++i) {
        if (count == kMost) {
          ScanArgs one = args[i];
          one.estimates = alone.emplace_back(rows).data();
          one.best = best_alone.emplace_back(like.num_tiles).data();
          GetParam()->screen->scan(&one);
        }
        ASSERT_TRUE(std::equal(alone[i].begin(), alone[i].end(), args[i].estimates))
            << "vector " << i << " of " << count;
        ASSERT_TRUE(std::equal(best_alone[i].begin(), best_alone[i].end(), args[i].best))
            << "vector " << i << " of " << count;
      }
    }
  }

  /// The fifth bit, of every other tile.
  void CheckBits(const std::vector<std::int8_t>& codes, std::size_t cols,
                 GuardedBuffer<std::int8_t>& high) {
    const std::size_t tiles = codes.size() / (kRows * cols), bytes = quant::BitTileBytes(cols);
    GuardedBuffer<std::uint8_t> planes(tiles * bytes);
    GuardedBuffer<std::uint32_t> live((tiles + 1) / 2);
    for (std::size_t t = 0; t < tiles; ++t) {
      quant::PackBits(codes.data() + t * kRows * cols, cols, planes.data() + t * bytes);
      if (t % 2 == 0) live[t / 2] = static_cast<std::uint32_t>(t);
    }
    GuardedBuffer<float> steps(tiles * kRows), estimates(tiles * kRows);
    for (std::size_t r = 0; r < steps.size(); ++r) {
      steps[r] = 1.0f + static_cast<float>(r);
      estimates[r] = 7.0f - static_cast<float>(r);
    }
    const auto high_sum = std::accumulate(high.data(), high.data() + cols, std::int32_t{0});
    const BitScanArgs args{planes.data(), cols,         live.data(), live.size(),     high.data(),
                           high_sum,      steps.data(), 0.5f,        estimates.data()};
    GetParam()->screen->scan_bits(&args);
    for (std::size_t r = 0; r < tiles * kRows; ++r) {
      std::int32_t sum = 0;
      for (std::size_t c = 0; c < cols; ++c) sum += (Byte(codes[r * cols + c]) >> 3 & 1) * high[c];
      float expected = 7.0f - static_cast<float>(r);
      if (r / kRows % 2 == 0)
        expected += static_cast<float>(2 * sum - high_sum) * (0.5f * steps[r]);
      ASSERT_EQ(estimates[r], expected) << cols << " columns, row " << r;
    }
  }

  /// Five bits with 4, 8 and 16 vectors, the i-th of which begins at element i of `high`.
  void CheckFive(const std::vector<std::int8_t>& codes, std::size_t cols,
                 GuardedBuffer<std::int8_t>& high) {
    const std::size_t tiles = codes.size() / (kRows * cols);
    const std::size_t nibble_bytes = quant::NibbleTileBytes(cols);
    const std::size_t bit_bytes = quant::BitTileBytes(cols);
    GuardedBuffer<std::uint8_t> nibbles(tiles * nibble_bytes), bits(tiles * bit_bytes);
    for (std::size_t t = 0; t < tiles; ++t) {
      quant::PackNibbles(codes.data() + t * kRows * cols, cols, nibbles.data() + t * nibble_bytes);
      quant::PackBits(codes.data() + t * kRows * cols, cols, bits.data() + t * bit_bytes);
    }
    for (const std::size_t vectors : {4u, 8u, 16u}) {
      GuardedBuffer<std::int8_t> acts(cols * vectors);
      GuardedBuffer<std::int32_t> sums(tiles * vectors * kRows);
      for (std::size_t c = 0; c < cols; ++c) {
        for (std::size_t v = 0; v < vectors; ++v) {
          acts[(c / 4 * vectors + v) * 4 + c % 4] = high[(c + v) % cols];
        }
      }
      const FiveScanArgs args{nibbles.data(), bits.data(), tiles,      cols,
                              acts.data(),    vectors,     sums.data()};
      GetParam()->screen->scan_five(&args);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const std::size_t v = i / kRows % vectors, row = i / (vectors * kRows) * kRows + i % kRows;
        std::int32_t expected = 0;
        for (std::size_t c = 0; c < cols; ++c) {
          expected += (Byte(codes[row * cols + c]) >> 3) * high[(c + v) % cols];
        }
        ASSERT_EQ(sums[i], expected) << cols << " columns, row " << row << ", vector " << v;
      }
    }
  }

  void CheckRow(const std::int8_t* codes, std::size_t cols, GuardedBuffer<std::int8_t>& high) {
    GuardedBuffer<std::uint8_t> pairs(quant::PairRowBytes(cols));
    quant::PackPairs(codes, cols, pairs.data());
    std::int32_t expected_pairs = 0;
    for (std::size_t c = 0; c < cols; ++c) {
      expected_pairs += (Byte(codes[c]) >> 1 & 3) * high[c];
    }
    ASSERT_EQ(GetParam()->screen->dot_pairs(pairs.data(), cols, high.data()), expected_pairs);
  }
};

TEST_P(Screen, IsExactOnRandomAndExtremeInputs) {
  std::mt19937 rng(1);
  for (const std::size_t cols : {512u, 2560u, 8192u, 16384u}) {
    for (const int code : {1000, -128, 127}) {
      for (const int value : {1000, 127, -128, 0}) {
        std::vector<std::int8_t> codes(3 * kRows * cols);
        for (auto& c : codes) {
          c = static_cast<std::int8_t>(code == 1000 ? static_cast<int>(rng() % 256) - 128 : code);
        }
        GuardedBuffer<std::int8_t> high(cols), low(cols);
        for (auto* half : {&high, &low}) {
          for (std::size_t c = 0; c < cols; ++c) {
            (*half)[c] = static_cast<std::int8_t>(
                value == 1000 ? static_cast<int>(rng() % 256) - 128 : value);
          }
        }
        CheckScan(codes, cols, high, low, cols <= 2560);
        CheckBits(codes, cols, high);
        if (cols <= 2560) CheckFive(codes, cols, high);
        CheckRow(codes.data(), cols, high);
      }
    }
  }
}

TEST_P(Screen, PutsEveryCodeInItsPlace) {
  constexpr std::size_t kCols = 512;
  GuardedBuffer<std::int8_t> high(kCols), low(kCols);
  for (std::size_t c = 0; c < kCols; ++c) {
    high[c] = static_cast<std::int8_t>(c % 251 - 125);
    low[c] = static_cast<std::int8_t>(c % 241 - 120);
  }
  std::vector<std::int8_t> codes(kRows * kCols, -128);
  for (std::size_t place = 0; place < codes.size(); place += 37) {
    codes[place] = 127;
    CheckScan(codes, kCols, high, low);
    CheckBits(codes, kCols, high);
    CheckFive(codes, kCols, high);
    CheckRow(codes.data() + place / kCols * kCols, kCols, high);
    codes[place] = -128;
  }
}

TEST_P(Screen, SurvivorsAreThoseThatMayReachTheThreshold) {
  std::mt19937 rng(4);
  for (const std::size_t n : {1u, 7u, 8u, 15u, 16u, 17u, 100u, 1000u}) {
    GuardedBuffer<float> estimates(n), rests(n), norms(n), steps(n);
    for (auto* values : {&estimates, &rests, &norms, &steps}) {
      for (std::size_t i = 0; i < n; ++i) (*values)[i] = static_cast<float>(rng() % 100);
    }
    if (n > 7) estimates[7] = std::numeric_limits<float>::quiet_NaN();  // nothing rules it out
    for (const float threshold : {-1.0f, 60.0f, 99.0f, 120.0f, 1e9f}) {
      GuardedBuffer<std::uint32_t> ids(n + kRows);
      const SurvivorArgs args{
          estimates.data(), rests.data(), norms.data(), steps.data(), n,         0.5f, 0.25f,
          0.125f,           1.0f,         threshold,    500,          ids.data()};
      const std::size_t count = GetParam()->screen->survivors(&args);
      std::vector<std::uint32_t> expected;
      for (std::size_t i = 0; i < n; ++i) {
        const float most =
            estimates[i] + (rests[i] * 0.5f + (norms[i] * 0.25f + (steps[i] * 0.125f + 1.0f)));
        if (!(most < threshold)) expected.push_back(500 + static_cast<std::uint32_t>(i));
      }
      ASSERT_EQ(std::vector<std::uint32_t>(ids.data(), ids.data() + count), expected) << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Screen, testing::ValuesIn(ScreenKernels()),
                         [](const auto& kernel) { return std::string(kernel.param->name); });

}  // namespace
}  // namespace bittern::kernels
