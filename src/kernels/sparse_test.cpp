// SPDX-License-Identifier: Apache-2.0
// Every kernel that leaves zeros out and that this CPU can run, against loops over the codes; and
// the tiles made for batches, against the packer of tiles.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "base/guarded_buffer_for_test.hpp"
#include "kernels/registry.hpp"
#include "quant/layouts/skip_layouts.hpp"
#include "quant/layouts/tile16.hpp"

namespace bittern::kernels {
namespace {

using quant::kPanelRows;
using quant::kTileBlock;
using quant::kTileRows;

std::vector<const KernelInfo*> SparseKernels() {
  std::vector<const KernelInfo*> kernels;
  for (const KernelInfo* kernel : AllKernels()) {
    if (kernel->sparse != nullptr) kernels.push_back(kernel);
  }
  return kernels;
}

struct Matrix {
  std::size_t rows, cols;
  std::vector<std::uint8_t> codes;

  /// code < 0: random.
  Matrix(std::size_t r, std::size_t c, int code, std::mt19937* rng) : rows(r), cols(c) {
    codes.resize(rows * cols);
    for (auto& x : codes) x = static_cast<std::uint8_t>(code < 0 ? (*rng)() % 3 : code);
  }
  [[nodiscard]] std::size_t padded_cols() const { return quant::BlocksOfCols(cols) * kTileBlock; }
  [[nodiscard]] std::size_t row_bytes() const { return padded_cols() / 4; }
  [[nodiscard]] std::size_t panels() const { return (rows + kPanelRows - 1) / kPanelRows; }
  [[nodiscard]] std::vector<std::uint8_t> Rows() const {
    std::vector<std::uint8_t> out((rows + kTileRows - 1) / kTileRows * kTileRows * row_bytes());
    for (std::size_t r = 0; r < rows; r += kTileRows) {
      quant::PackRows(codes.data() + r * cols, std::min(kTileRows, rows - r), cols,
                      out.data() + r * row_bytes());
    }
    return out;
  }
  [[nodiscard]] std::vector<std::uint8_t> Columns() const {
    const auto packed = Rows();
    const std::size_t column_bytes = panels() * quant::kPanelLineBytes;
    std::vector<std::uint8_t> out(padded_cols() * column_bytes);
    for (std::size_t p = 0; p < panels(); ++p) {
      quant::PackPanel(packed.data() + p * kPanelRows * row_bytes(),
                       std::min(kPanelRows, rows - p * kPanelRows), quant::BlocksOfCols(cols),
                       out.data() + p * quant::kPanelLineBytes, column_bytes);
    }
    return out;
  }
};

template <class T>
struct GuardedRows : GuardedBuffer<T> {
  explicit GuardedRows(const std::vector<T>& from) : GuardedBuffer<T>(from.size()) {
    std::copy(from.begin(), from.end(), this->data());
  }
};

/// Activations where a share of about `density` / 8 is not zero; value 1000: random.
std::vector<std::int8_t> Acts(std::size_t cols, unsigned density, int value, std::mt19937* rng) {
  std::vector<std::int8_t> act(cols);
  for (auto& a : act) {
    if ((*rng)() % 8 >= density) continue;
    a = static_cast<std::int8_t>(value == 1000 ? static_cast<int>((*rng)() % 256) - 128 : value);
  }
  return act;
}

class Sparse : public testing::TestWithParam<const KernelInfo*> {
 protected:
  void SetUp() override {
    if (!Supports(GetParam()->isa)) GTEST_SKIP() << "this CPU lacks " << GetParam()->name;
  }

  void CheckRows(const Matrix& m, const std::vector<std::int8_t>& act, unsigned density,
                 std::mt19937* rng) {
    std::vector<std::uint32_t> live;
    for (std::size_t r = 0; r < m.rows; ++r) {
      if ((*rng)() % 8 < density) live.push_back(static_cast<std::uint32_t>(r));
    }
    GuardedRows<std::uint8_t> rows(m.Rows());
    GuardedBuffer<std::int8_t> padded(m.padded_cols());
    for (std::size_t c = 0; c < padded.size(); ++c)
      padded[c] = c < m.cols ? act[c] : std::int8_t{0};
    const auto act_sum = std::accumulate(act.begin(), act.end(), std::int32_t{0});
    GuardedBuffer<std::int32_t> out(live.size());
    const std::size_t num_blocks = m.padded_cols() / kTileBlock;
    GuardedBuffer<std::int8_t> ordered(OrderedActs(num_blocks));
    GetParam()->sparse->order_acts(padded.data(), num_blocks, ordered.data());
    for (const From from : {From::kMemory, From::kBoth, From::kCache}) {
      const RowArgs args{rows.data(),    num_blocks, live.data(), live.size(),
                         ordered.data(), act_sum,    from,        out.data()};
      GetParam()->sparse->gemv_rows(&args);
      for (std::size_t i = 0; i < live.size(); ++i) {
        std::int32_t sum = 0;
        for (std::size_t c = 0; c < m.cols; ++c)
          sum += (m.codes[live[i] * m.cols + c] - 1) * act[c];
        ASSERT_EQ(out[i], sum) << m.cols << " columns, row " << live[i];
        out[i] = ~sum;
      }
    }
  }

  /// Rows of several vectors, each chosen by about density / 8 of them, as gemv_rows gives them.
  void CheckSharedRows(const Matrix& m, const std::vector<std::int8_t>& acts, unsigned density,
                       std::mt19937* rng) {
    const std::size_t vectors = acts.size() / m.cols, num_blocks = m.padded_cols() / kTileBlock;
    const std::size_t stride = OrderedActs(num_blocks);
    std::vector<std::uint8_t> chosen(m.rows);
    for (auto& of_row : chosen) {
      for (std::size_t v = 0; v < vectors; ++v) of_row |= ((*rng)() % 8 < density ? 1u : 0u) << v;
    }
    GuardedRows<std::uint8_t> rows(m.Rows());
    GuardedBuffer<std::int8_t> ordered(vectors * stride);
    std::vector<std::int32_t> act_sums;
    for (std::size_t v = 0; v < vectors; ++v) {
      std::vector<std::int8_t> act(m.padded_cols());
      std::copy_n(acts.data() + v * m.cols, m.cols, act.data());
      act_sums.push_back(std::accumulate(act.begin(), act.end(), std::int32_t{0}));
      GetParam()->sparse->order_acts(act.data(), num_blocks, ordered.data() + v * stride);
    }
    for (const From from : {From::kMemory, From::kBoth, From::kCache}) {
      constexpr std::int32_t kUntouched = 0x5a5a5a5a;
      GuardedBuffer<std::int32_t> out(vectors * m.rows);
      std::fill_n(out.data(), out.size(), kUntouched);
      const SharedRowArgs args{.rows = rows.data(),
                               .num_blocks = num_blocks,
                               .num_rows = m.rows,
                               .chosen = chosen.data(),
                               .acts = ordered.data(),
                               .act_stride = stride,
                               .out_stride = m.rows,
                               .act_sums = act_sums.data(),
                               .from = from,
                               .out = out.data()};
      GetParam()->sparse->gemv_shared_rows(&args);
      std::vector<std::int32_t> expected(out.size(), kUntouched);
      for (std::uint32_t r = 0; r < m.rows; ++r) {
        for (std::size_t v = 0; v < vectors; ++v) {
          if ((chosen[r] >> v & 1) == 0) continue;
          const RowArgs one{rows.data(),
                            num_blocks,
                            &r,
                            1,
                            ordered.data() + v * stride,
                            act_sums[v],
                            from,
                            &expected[v * m.rows + r]};
          GetParam()->sparse->gemv_rows(&one);
        }
      }
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), out.data()))
          << m.cols << " columns, " << vectors << " vectors";
    }
  }

  /// acts: of every token, one after the other; a column is live where any is not zero.
  void CheckColumns(const Matrix& m, const std::vector<std::int8_t>& acts) {
    const std::size_t tokens = acts.size() / m.cols;
    std::vector<std::uint32_t> live;
    for (std::size_t c = 0; c < m.cols; ++c) {
      bool any = false;
      for (std::size_t token = 0; token < tokens; ++token) any |= acts[token * m.cols + c] != 0;
      if (any) live.push_back(static_cast<std::uint32_t>(c));
    }
    GuardedRows<std::uint8_t> columns(m.Columns());
    GuardedBuffer<std::int32_t> sums(tokens * m.panels() * kPanelRows);
    const ColumnArgs args{columns.data(), m.panels(), live.data(), live.size(),
                          acts.data(),    m.cols,     tokens,      sums.data()};
    GetParam()->sparse->gemv_columns(&args);
    for (std::size_t token = 0; token < tokens; ++token) {
      const std::int8_t* act = acts.data() + token * m.cols;
      for (std::size_t r = 0; r < m.rows; ++r) {
        std::int32_t sum = 0;
        for (const std::uint32_t c : live) sum += m.codes[r * m.cols + c] * act[c];
        ASSERT_EQ(sums[token * m.panels() * kPanelRows + r], sum)
            << m.cols << " columns, token " << token << ", row " << r;
      }
    }
  }
};

TEST_P(Sparse, IsExactOnRandomAndExtremeInputs) {
  std::mt19937 rng(1);
  // 6912 and 14336 are the widest rows of real models; 100, 640 and 896 have odd blocks or tails.
  for (const std::size_t cols : {4u, 100u, 640u, 896u, 2560u, 6912u, 14336u}) {
    for (const int code : {-1, 0, 2}) {
      const Matrix m(code < 0 ? 300 : 40, cols, code, &rng);
      for (const int value : {1000, 127, -128}) {
        for (const unsigned density : {0u, 1u, 4u, 8u}) {
          const auto act = Acts(cols, density, value, &rng);
          CheckRows(m, act, density, &rng);
          CheckColumns(m, act);
        }
      }
    }
  }
}

TEST_P(Sparse, SharedRowsAreThoseOfEachVector) {
  std::mt19937 rng(9);
  for (const std::size_t cols : {4u, 100u, 640u, 2560u, 6912u, 16512u}) {
    for (const int code : {-1, 2}) {
      const Matrix m(70, cols, code, &rng);
      for (std::size_t vectors = 1; vectors <= kRowVectors; ++vectors) {
        for (const int value : {1000, 127, -128}) {
          const auto acts = Acts(vectors * cols, 8, value, &rng);
          for (const unsigned density : {0u, 1u, 4u, 8u}) CheckSharedRows(m, acts, density, &rng);
        }
      }
    }
  }
}

TEST_P(Sparse, OnePanelOfOneTokenIsExact) {
  std::mt19937 rng(5);
  for (const std::size_t cols : {4u, 5u, 6u, 7u, 100u, 1300u, 2560u}) {
    for (const std::size_t rows : {kPanelRows, std::size_t{70}}) {
      for (const int code : {-1, 2}) {
        const Matrix m(rows, cols, code, &rng);
        for (const int value : {1000, 127, -128}) {
          for (const unsigned density : {0u, 1u, 3u, 8u}) {
            CheckColumns(m, Acts(cols, density, value, &rng));
          }
        }
      }
    }
  }
}

TEST_P(Sparse, RowsWiderThanAnyAreExact) {
  std::mt19937 rng(6);
  for (const std::size_t cols : {16384u, 16512u, 33000u}) {
    CheckRows(Matrix(70, cols, -1, &rng), Acts(cols, 8, 1000, &rng), 8, &rng);
  }
}

TEST_P(Sparse, ColumnsLongerThanAnyAreExact) {
  std::mt19937 rng(8);
  for (const std::size_t rows : {4096u, 4400u, 8200u}) {
    const Matrix m(rows, 70, -1, &rng);
    for (const std::size_t tokens : {1u, 3u}) CheckColumns(m, Acts(tokens * 70, 4, 1000, &rng));
  }
}

TEST_P(Sparse, ColumnsOfAFewTokensAreExact) {
  std::mt19937 rng(3);
  for (const std::size_t cols : {4u, 100u, 700u, 2560u}) {
    const Matrix m(300, cols, -1, &rng);
    for (const std::size_t tokens : {2u, 3u, 4u, 7u}) {
      for (const unsigned density : {0u, 1u, 8u}) {
        CheckColumns(m, Acts(tokens * cols, density, 1000, &rng));
      }
    }
  }
}

TEST_P(Sparse, TilesForBatchesAreThePackersTiles) {
  std::mt19937 rng(2);
  for (const std::size_t cols : {4u, 128u, 640u, 700u}) {
    const Matrix m(300, cols, -1, &rng);
    const std::size_t blocks = quant::BlocksOfCols(cols), tile_bytes = quant::TileBytes(cols);
    GuardedRows<std::uint8_t> rows(m.Rows()), columns(m.Columns());
    for (std::size_t p = 0; p < m.panels(); ++p) {
      GuardedBuffer<std::uint8_t> tiles(16 * tile_bytes), tile(tile_bytes);
      GetParam()->sparse->tiles_of_columns(columns.data() + p * quant::kPanelLineBytes,
                                           m.panels() * quant::kPanelLineBytes, blocks,
                                           tiles.data());
      for (std::size_t t = 0; t < 16; ++t) {
        const std::size_t row = p * kPanelRows + t * kTileRows;
        if (row >= m.rows) break;
        std::vector<std::uint8_t> expected(tile_bytes);
        quant::PackTile(m.codes.data() + row * cols, std::min(kTileRows, m.rows - row), cols,
                        expected.data());
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), tiles.data() + t * tile_bytes))
            << cols << " columns, row " << row;
        GetParam()->sparse->tile_of_rows(rows.data() + row * m.row_bytes(), blocks, tile.data());
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), tile.data()));
      }
    }
  }
}

TEST_P(Sparse, FindsWhatIsNotZeroAndWhatIsPositive) {
  std::mt19937 rng(7);
  for (const std::size_t size : {0u, 1u, 15u, 16u, 17u, 63u, 64u, 65u, 200u, 6912u}) {
    for (const unsigned zeros : {0u, 1u, 2u, 50u}) {  // of 50
      GuardedBuffer<std::int8_t> bytes(size);
      GuardedBuffer<float> floats(size);
      GuardedBuffer<std::uint32_t> found(size + 16);
      std::vector<std::uint32_t> nonzero, positive;
      for (std::size_t i = 0; i < size; ++i) {
        bytes[i] =
            rng() % 50 < zeros ? std::int8_t{0} : static_cast<std::int8_t>(rng() % 255 - 127);
        const float choices[] = {0.0f, -0.0f, -1.0f, 1e-40f, std::nanf(""), 3.0f};
        floats[i] = rng() % 50 < zeros ? -2.0f : choices[rng() % 6];
        if (bytes[i] != 0) nonzero.push_back(static_cast<std::uint32_t>(i));
        if (floats[i] > 0) positive.push_back(static_cast<std::uint32_t>(i) + 1000);
      }
      const SparseOps& ops = *GetParam()->sparse;
      std::size_t count = ops.find_nonzero(bytes.data(), size, found.data());
      EXPECT_EQ(std::vector(found.data(), found.data() + count), nonzero) << size;
      count = ops.find_positive(floats.data(), size, 1000, found.data());
      EXPECT_EQ(std::vector(found.data(), found.data() + count), positive) << size;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Sparse, testing::ValuesIn(SparseKernels()),
                         [](const auto& kernel) { return std::string(kernel.param->name); });

}  // namespace
}  // namespace bittern::kernels
