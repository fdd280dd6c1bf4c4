// SPDX-License-Identifier: Apache-2.0
#include "model/forward/rows.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "model/forward/linear.hpp"

namespace bittern::model {
namespace {

constexpr std::size_t kRowCols = 200, kMostTestRows = 19;

QuantizedActivations Memory() {
  QuantizedActivations memory;
  memory.values = AlignedBuffer<std::int8_t>::Create(24 * 256, "values").value();
  return memory;
}

TEST(QuantizedRows, AFewArePlainAndMoreArePanelsOfEight) {
  for (const std::size_t count : {std::size_t{3}, kMostTestRows}) {
    QuantizedActivations memory = Memory();
    const QuantizedRows rows{memory, count, kRowCols};
    ASSERT_EQ(rows.padded_cols(), 256u);
    EXPECT_EQ(rows.is_decode(), count == 3);
    EXPECT_EQ(rows.has_plain(), count == 3);
    for (std::size_t i = 0; i < count; ++i) {
      std::array<std::int8_t, 256> row;
      row.fill(static_cast<std::int8_t>(i + 1));
      row[4] = static_cast<std::int8_t>(-1 - static_cast<int>(i));
      if (rows.is_decode()) {
        std::memcpy(rows.plain(i), row.data(), row.size());
      } else {
        JoinPanel(row.data(), i, rows);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t c = 0; c < 256; ++c) {
        const int expected = c == 4 ? -1 - static_cast<int>(i) : static_cast<int>(i) + 1;
        ASSERT_EQ(rows.at(i)[c / 4 * rows.step() + c % 4], expected) << i << ", " << c;
      }
    }
  }
}

TEST(QuantizedRows, SomeRowsOfABatchSayWhichTheyAre) {
  QuantizedActivations memory = Memory();
  const std::array<std::uint32_t, 2> tokens = {5, 17};
  const QuantizedRows all{memory, 19, kRowCols}, some{memory, 2, kRowCols, tokens.data()};
  EXPECT_EQ(all.token(1), 1u);
  EXPECT_EQ(some.token(1), 17u);
  EXPECT_TRUE(some.is_decode());
}

}  // namespace
}  // namespace bittern::model
