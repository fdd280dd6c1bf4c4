// SPDX-License-Identifier: Apache-2.0
// Every float32 kernel that this CPU can run: the same bits as the scalar one on every length and
// on wild values, and the scalar one close to a plain double computation.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "base/float16.hpp"
#include "base/guarded_buffer_for_test.hpp"
#include "kernels/float32/float32_for_test.hpp"
#include "kernels/float32/fma_for_test.hpp"

namespace bittern::kernels {
namespace {

std::vector<std::uint32_t> Bits(const float* p, std::size_t n) {
  std::vector<std::uint32_t> bits(n);
  std::memcpy(bits.data(), p, n * 4);
  return bits;
}

class Float32 : public FloatKernelTest {
 protected:
  /// Runs `call(ops, a, b, out)` with this kernel and the scalar one; their bits must agree.
  template <class Call>
  void ExpectSameBits(Call call) {
    for (bool wild : {false, true}) {
      for (std::size_t n : kLengths) {
        Guarded<float> a(RandomFloats(n, 1, wild)), b(RandomFloats(n, 2, wild));
        GuardedBuffer<float> got(n), want(n);
        call(ops(), a.data(), b.data(), n, got.data());
        call(Scalar(), a.data(), b.data(), n, want.data());
        ASSERT_EQ(Bits(got.data(), n), Bits(want.data(), n)) << "n = " << n << " wild " << wild;
      }
    }
  }
};

TEST_P(Float32, RmsNormBits) {
  ExpectSameBits([](const FloatOps& o, float* a, float* b, std::size_t n, float* out) {
    o.rms_norm(a, b, n, n, 1e-5f, out);
  });
}
TEST_P(Float32, AddBits) {
  ExpectSameBits([](const FloatOps& o, float* a, float* b, std::size_t n, float* out) {
    std::copy_n(a, n, out);
    o.add(out, b, n);
  });
}
TEST_P(Float32, Relu2Bits) {
  ExpectSameBits([](const FloatOps& o, float* a, float* b, std::size_t n, float* out) {
    o.relu2_mul(a, b, n, out);
  });
}
TEST_P(Float32, SiluBits) {
  ExpectSameBits([](const FloatOps& o, float* a, float* b, std::size_t n, float* out) {
    o.silu_mul(a, b, n, out);
  });
}
TEST_P(Float32, GeluBits) {
  ExpectSameBits([](const FloatOps& o, float* a, float* b, std::size_t n, float* out) {
    o.gelu_mul(a, b, n, out);
  });
}
TEST_P(Float32, GeluIsTheFunctionWithTanh) {
  std::vector<float> x, ones, got;
  for (float value = -12; value <= 12; value += 0.01f) x.push_back(value);
  ones.assign(x.size(), 1.0f);
  got.resize(x.size());
  ops().gelu_mul(x.data(), ones.data(), x.size(), got.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = static_cast<double>(x[i]);
    const double want =
        0.5 * v * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
    ASSERT_NEAR(static_cast<double>(got[i]), want, 2e-6) << x[i];
  }
}
TEST_P(Float32, ExpBits) {
  ExpectSameBits(
      [](const FloatOps& o, float* a, float*, std::size_t n, float* out) { o.exp(a, n, out); });
}
TEST_P(Float32, RopeBits) {
  ExpectSameBits([](const FloatOps& o, float* a, float* b, std::size_t n, float* out) {
    std::copy_n(a, n, out);
    if (n % 2 == 0) o.rope(out, b, b + n / 2, n / 2);
  });
}

TEST_P(Float32, SigmoidBits) {
  ExpectSameBits([](const FloatOps& o, float* a, float* b, std::size_t n, float* out) {
    o.sigmoid_mul(a, b, n, out);
  });
}

TEST_P(Float32, ScreenRowsAreWhatTheyAreCalled) {
  std::mt19937 rng(5);
  std::normal_distribution<float> normal(0, 0.02f);
  for (const std::size_t n : {1u, 15u, 16u, 100u, 2560u}) {
    std::vector<float> x(n);
    for (float& v : x) v = normal(rng);
    if (n > 20) x[7] = 1;  // far outside: clamped
    std::vector<std::int8_t> codes(n), scalar_codes(n);
    ScreenRow row, scalar_row;
    ops().screen_row(x.data(), n, codes.data(), &row);
    Scalar().screen_row(x.data(), n, scalar_codes.data(), &scalar_row);
    EXPECT_EQ(codes, scalar_codes);
    EXPECT_EQ(std::memcmp(&row, &scalar_row, sizeof row), 0) << n;
    double norm = 0, rests[3] = {};
    for (std::size_t i = 0; i < n; ++i) {
      const double v = static_cast<double>(x[i]), step = static_cast<double>(row.step);
      norm += v * v;
      const int u = codes[i] + 128;
      const double middles[3] = {(u & 0xf0) - 120.0, (u & 0xf8) - 124.0, (u & 0xfe) - 127.0};
      for (int k = 0; k < 3; ++k) rests[k] += (v - step * middles[k]) * (v - step * middles[k]);
      if (u > 0 && u < 255) {
        EXPECT_LE(std::fabs(v - step * (codes[i] + 0.5)), step * 0.5001);
      }
    }
    EXPECT_NEAR(static_cast<double>(row.norm), std::sqrt(norm), 1e-5 * std::sqrt(norm));
    const float found[3] = {row.rest4, row.rest5, row.rest7};
    for (int k = 0; k < 3; ++k) {
      // The lanes past the end of the row count too: up to half a step of each plane.
      const double least = std::sqrt(rests[k]) * (1 - 1e-4);
      EXPECT_GE(static_cast<double>(found[k]), least) << n << " columns, plane " << k;
      EXPECT_LE(
          static_cast<double>(found[k]),
          std::sqrt(rests[k] + 15 * std::pow(8.5 * static_cast<double>(row.step), 2)) * 1.0001);
    }
  }
}

TEST_P(Float32, RescaleBits) {
  for (std::size_t n : kLengths) {
    constexpr std::size_t kTokens = 3;
    const std::size_t in_stride = n + 2, out_stride = n + 1;
    std::mt19937 rng(4);
    std::vector<std::int32_t> sums((kTokens - 1) * in_stride + n);
    for (auto& s : sums) s = static_cast<std::int32_t>(rng() % 2000001) - 1000000;
    Guarded<std::int32_t> in(sums);
    const std::vector<float> act_scales = {3.7f, 0.3f, 91.0f};
    Guarded<float> row_scales(RandomFloats(n, 6, false));
    for (const bool by_row : {false, true}) {
      GuardedBuffer<float> got((kTokens - 1) * out_stride + n);
      const RescaleArgs args{.sums = in.data(),
                             .sums_stride = in_stride,
                             .num_rows = n,
                             .num_tokens = kTokens,
                             .act_scales = act_scales.data(),
                             .weight_scale = 1.218855f,
                             .row_scales = by_row ? row_scales.data() : nullptr,
                             .out = got.data(),
                             .out_stride = out_stride};
      ops().rescale(&args);
      for (std::size_t i = 0; i < kTokens * n; ++i) {
        const std::size_t token = i / n, row = i % n;
        const float sum = static_cast<float>(sums[token * in_stride + row]);
        ASSERT_EQ(got[token * out_stride + row],
                  sum / act_scales[token] * (by_row ? row_scales.data()[row] : 1.218855f));
      }
    }
  }
}

TEST_P(Float32, HalvesRoundAsWrittenAndSaturate) {
  for (std::size_t n : kLengths) {
    auto values = RandomFloats(n, 5, true);
    values[0] = 1e30f;
    values[n - 1] = -70000.0f;
    Guarded<float> x(values);
    GuardedBuffer<std::uint16_t> got(n);
    ops().store_half(x.data(), n, got.data());
    for (std::size_t i = 0; i < n; ++i) {
      const float clamped = std::fmax(std::fmin(values[i], 65504.0f), -65504.0f);
      ASSERT_EQ(got[i], FloatToHalf(clamped)) << values[i];
    }
  }
}

TEST_P(Float32, DotsOfEveryRowFormatAgreeWithScalar) {
  for (std::size_t n : kLengths) {
    for (std::size_t rows : {1u, 3u, 4u, 9u}) {
      Guarded<float> x(RandomFloats(n, 6, false));
      Guarded<float> weights(RandomFloats(n * rows, 7, false));
      std::vector<std::uint16_t> half(n * rows), bfloat(n * rows);
      for (std::size_t i = 0; i < n * rows; ++i) {
        half[i] = FloatToHalf(weights[i]);
        bfloat[i] = FloatToBfloat(weights[i]);
      }
      half[0] = 0x0001;  // a subnormal
      Guarded<std::uint16_t> half_rows(half), bfloat_rows(bfloat);
      GuardedBuffer<float> got(rows), want(rows);
      const auto check = [&](auto dot, auto* data) {
        dot(ops())(data, rows, n, x.data(), got.data());
        dot(Scalar())(data, rows, n, x.data(), want.data());
        ASSERT_EQ(Bits(got.data(), rows), Bits(want.data(), rows)) << n << " x " << rows;
        double sum = 0, magnitude = 0;
        for (std::size_t i = 0; i < n; ++i) {
          double w = weights[i];
          if (static_cast<const void*>(data) == half_rows.data()) w = HalfToFloat(half[i]);
          if (static_cast<const void*>(data) == bfloat_rows.data()) w = BfloatToFloat(bfloat[i]);
          sum += w * static_cast<double>(x[i]);
          magnitude += std::fabs(w * static_cast<double>(x[i]));
        }
        EXPECT_NEAR(got[0], sum, 1e-6 * magnitude);
      };
      check([](const FloatOps& o) { return o.dot_f32; }, weights.data());
      check([](const FloatOps& o) { return o.dot_f16; }, half_rows.data());
      check([](const FloatOps& o) { return o.dot_bf16; }, bfloat_rows.data());
    }
  }
}

/// One attention problem in both cache types.
struct AttentionCase {
  AttentionCase(std::size_t num_queries, std::size_t num_positions, std::size_t head_dim)
      : queries(num_queries),
        positions(num_positions),
        dim(head_dim),
        padded_dim((head_dim + 15) / 16 * 16),
        padded((num_positions + 15) / 16 * 16),
        q(RandomFloats(queries * dim, 8, false)),
        key_values(RandomFloats(positions * dim, 9, false)),
        value_values(RandomFloats(positions * dim, 10, false)),
        keys(padded * dim),
        values(padded * padded_dim),
        keys16(padded * dim),
        values16(padded * padded_dim),
        keys8(padded * dim),
        values8(padded * padded_dim),
        key_scales(padded),
        value_scales(padded),
        scratch(AttentionScratch(positions + 1, dim)) {
    for (std::size_t p = 0; p < positions; ++p) {
      for (std::size_t d = 0; d < dim; ++d) {
        const std::size_t k = (p / 16 * dim + d) * 16 + p % 16, v = p * padded_dim + d;
        keys[k] = key_values[p * dim + d];
        values[v] = value_values[p * dim + d];
        keys16[k] = FloatToHalf(keys[k]);
        values16[v] = FloatToHalf(values[v]);
        keys8[k] = static_cast<std::int8_t>(std::lround(keys[k] * 25));  // of normal numbers
        values8[v] = static_cast<std::int8_t>(std::lround(values[v] * 25));
      }
    }
  }

  /// `tokens` tokens, the last of which sees all positions; all have the same queries.
  AttentionArgs Args(KvElement element, std::size_t tokens) {
    AttentionArgs args{};
    args.queries = q.data();
    args.out_stride = queries * dim;
    args.keys = keys.data();
    args.values = values.data();
    if (element == KvElement::kF16) {
      args.keys = keys16.data();
      args.values = values16.data();
    } else if (element == KvElement::kI8) {
      args.keys = keys8.data();
      args.values = values8.data();
    }
    for (std::size_t p = 0; p < padded; ++p) {
      key_scales[p] = value_scales[p] = 0.04f + 1e-4f * static_cast<float>(p % 7);
    }
    args.key_scales = key_scales.data();
    args.value_scales = value_scales.data();
    args.scratch = scratch.data();
    args.num_tokens = tokens;
    args.num_queries = queries;
    args.head_dim = dim;
    args.num_positions = positions - tokens + 1;
    args.scale = 1 / std::sqrt(static_cast<float>(dim));
    args.element = element;
    args.window = window;
    return args;
  }

  /// [tokens][queries][dim]
  std::vector<float> Run(const FloatOps& ops, KvElement element, std::size_t tokens = 1) {
    GuardedBuffer<float> out(tokens * queries * dim);
    AttentionArgs args = Args(element, tokens);
    args.out = out.data();
    ops.attention(&args);
    return {out.begin(), out.end()};
  }

  /// One token, step by step, as threads that share its positions would.
  std::vector<float> RunInSteps(const FloatOps& ops, KvElement element) {
    const AttentionArgs args = Args(element, 1);
    GuardedBuffer<float> scores(queries * padded), mix(queries * padded_dim);
    for (std::size_t begin = 0; begin < padded; begin += 48) {
      ops.attention_scores(&args, begin, std::min(begin + 48, padded), scores.data(), padded);
    }
    for (std::size_t h = 0; h < queries; ++h) {
      ops.attention_weights(&args, positions, scores.data() + h * padded);
    }
    std::vector<float> out(queries * dim);
    for (std::size_t begin = 0; begin < padded; begin += kAttentionBlock) {
      const std::size_t end = std::min(begin + kAttentionBlock, padded);
      ops.attention_mix(&args, scores.data(), padded, begin, end, mix.data());
      for (std::size_t i = 0; i < out.size(); ++i) {
        const float sum = mix[i / dim * padded_dim + i % dim];
        out[i] = begin == 0 ? sum : out[i] + sum;
      }
    }
    return out;
  }

  /// Softmax attention as in the textbook, in double.
  std::vector<double> Expected() {
    std::vector<double> out(queries * dim, 0.0);
    for (std::size_t h = 0; h < queries; ++h) {
      std::vector<double> p(positions);
      double total = 0;
      const std::size_t first = window == 0 || window >= positions ? 0 : positions - window;
      for (std::size_t t = first; t < positions; ++t) {
        double dot = 0;
        for (std::size_t d = 0; d < dim; ++d) {
          dot += static_cast<double>(q[h * dim + d]) * static_cast<double>(key_values[t * dim + d]);
        }
        total += p[t] = std::exp(dot / std::sqrt(static_cast<double>(dim)));
      }
      for (std::size_t t = first; t < positions; ++t) {
        for (std::size_t d = 0; d < dim; ++d) {
          out[h * dim + d] += p[t] / total * static_cast<double>(value_values[t * dim + d]);
        }
      }
    }
    return out;
  }

  std::size_t queries, positions, dim, padded_dim, padded;
  std::size_t window = 0;
  Guarded<float> q;
  std::vector<float> key_values, value_values;
  GuardedBuffer<float> keys, values;
  GuardedBuffer<std::uint16_t> keys16, values16;
  GuardedBuffer<std::int8_t> keys8, values8;
  GuardedBuffer<float> key_scales, value_scales;
  GuardedBuffer<float> scratch;
};

constexpr KvElement kElements[] = {KvElement::kF32, KvElement::kF16, KvElement::kI8};

TEST_P(Float32, AttentionAgreesWithScalarAndWithTheTextbook) {
  for (std::size_t queries : {1u, 2u, 3u, 4u, 5u, 8u}) {
    for (std::size_t positions : {1u, 15u, 16u, 17u, 255u, 256u, 257u, 700u}) {
      for (std::size_t dim : {64u, 128u, 40u}) {
        if (queries > 4 && positions > 300) continue;  // the scalar twin is slow
        AttentionCase c(queries, positions, dim);
        constexpr std::size_t kWindows[] = {0, 1, 40, 256, 512};
        c.window = kWindows[(positions + queries + dim / 8) % 5];
        for (const KvElement element : kElements) {
          const auto got = c.Run(ops(), element), want = c.Run(Scalar(), element);
          ASSERT_EQ(Bits(got.data(), got.size()), Bits(want.data(), want.size()))
              << queries << " x " << positions << " x " << dim;
        }
        if (queries != 1) continue;
        const auto expected = c.Expected();
        const double distance[] = {2e-6, 5e-3,
                                   0.2};  // int8 steps of 0.04, scales off by up to 1.5%
        for (std::size_t e = 0; e < 3; ++e) {
          const auto got = c.Run(ops(), kElements[e]);
          for (std::size_t i = 0; i < got.size(); ++i) {
            EXPECT_NEAR(static_cast<double>(got[i]), expected[i],
                        distance[e] * (1 + std::fabs(expected[i])));
          }
        }
      }
    }
  }
}

void ExpectTokensTogether(const FloatOps& ops, std::size_t queries, std::size_t positions,
                          std::size_t tokens) {
  const std::size_t dim = 64, size = queries * dim;
  AttentionCase c(queries, positions, dim);
  c.window = positions % 2 == 0 ? 0 : 20;
  for (const KvElement element : kElements) {
    c.positions = positions;
    c.padded = (positions + 15) / 16 * 16;
    const auto together = c.Run(ops, element, tokens);
    for (std::size_t t = 0; t < tokens; ++t) {
      c.positions = positions - tokens + 1 + t;
      c.padded = (c.positions + 15) / 16 * 16;
      const auto one = c.Run(ops, element);
      ASSERT_EQ(Bits(together.data() + t * size, size), Bits(one.data(), size));
      const auto steps = c.RunInSteps(ops, element);
      ASSERT_EQ(Bits(steps.data(), size), Bits(one.data(), size));
    }
  }
}

TEST_P(Float32, AttentionOfTokensTogetherAndInStepsIsThatOfEach) {
  for (std::size_t queries : {1u, 4u, 5u}) {
    for (std::size_t positions : {4u, 17u, 34u, 259u, 530u}) {
      ExpectTokensTogether(ops(), queries, positions, 3);
    }
  }
  // As many rows as a call may have.
  for (std::size_t positions : {33u, 39u, 52u, 261u}) {
    ExpectTokensTogether(ops(), 4, positions, kMostAttentionRows / 4);
    ExpectTokensTogether(ops(), 1, positions, kMostAttentionRows);
  }
}

TEST_P(Float32, PositionsBeforeTheWindowChangeNoBit) {
  for (const std::size_t window : {1u, 16u, 17u, 250u, 512u}) {
    AttentionCase c(2, 700, 64);
    c.window = window;
    for (const KvElement element : kElements) {
      const auto before = c.Run(ops(), element, 3);
      AttentionCase other(2, 700, 64);
      other.window = window;
      const std::size_t unseen = 700 - 2 - window;  // by the first of the three tokens
      for (std::size_t p = 0; p < unseen; ++p) {
        for (std::size_t d = 0; d < 64; ++d) {
          const std::size_t k = (p / 16 * 64 + d) * 16 + p % 16, v = p * 64 + d;
          other.keys[k] = other.values[v] = 1000;
          other.keys16[k] = other.values16[v] = FloatToHalf(1000);
          other.keys8[k] = other.values8[v] = 127;
        }
      }
      const auto after = other.Run(ops(), element, 3);
      EXPECT_EQ(Bits(before.data(), before.size()), Bits(after.data(), after.size())) << window;
      other.window = window + 1;  // one position more, which was changed
      const auto more = other.Run(ops(), element, 3);
      EXPECT_NE(Bits(before.data(), before.size()), Bits(more.data(), more.size())) << window;
    }
  }
}

TEST_P(Float32, RmsNormRopeAndExpAreWhatTheyAreCalled) {
  const auto x = RandomFloats(2560, 11, false), w = RandomFloats(2560, 12, false);
  std::vector<float> out(2560);
  ops().rms_norm(x.data(), w.data(), 2560, 2560, 1e-5f, out.data());
  double square = 0;
  for (float v : x) square += static_cast<double>(v) * static_cast<double>(v);
  const double rms = std::sqrt(square / 2560 + 1e-5);
  for (std::size_t i = 0; i < 2560; ++i) {
    EXPECT_NEAR(out[i], x[i] / rms * static_cast<double>(w[i]),
                1e-6 * std::fabs(w[i] * x[i]) + 1e-9);
  }
  // A literal vector: (1, 2) turned by 90 degrees is (-2, 1), and pairs are halves apart.
  float pair[4] = {1, 5, 2, 6};
  const float cosine[2] = {0, 1}, sine[2] = {1, 0};
  ops().rope(pair, cosine, sine, 2);
  EXPECT_EQ(pair[0], -2);
  EXPECT_EQ(pair[2], 1);
  EXPECT_EQ(pair[1], 5);
  EXPECT_EQ(pair[3], 6);
  for (float v = -87; v < 88; v += 0.37f) {
    float e = 0;
    ops().exp(&v, 1, &e);
    EXPECT_NEAR(e / std::exp(static_cast<double>(v)), 1.0, 3e-7) << v;
  }
  for (auto [in, expected] : {std::pair{-88.0f, 0.0f}, {0.0f, 1.0f}, {-INFINITY, 0.0f}}) {
    float e = 1;
    ops().exp(&in, 1, &e);
    EXPECT_EQ(e, expected);
  }
}

/// One lane of fma(a, b, fma(c, d, 0)) as dot_f32 of two elements 16 apart.
float FusedTwice(const FloatOps& ops, const float (&a)[2], const float (&b)[2]) {
  float rows[32] = {}, x[32] = {}, got = 0;
  rows[0] = a[0], rows[16] = a[1];
  x[0] = b[0], x[16] = b[1];
  ops.dot_f32(rows, 1, 32, x, &got);
  return got;
}

TEST_P(Float32, FusedMultiplyAddIsLibmFma) {
  std::mt19937 rng(13);
  for (int i = 0; i < 300000; ++i) {
    float a[2], b[2];
    for (float* p : {&a[0], &a[1], &b[0], &b[1]}) {
      std::uint32_t bits = rng();
      if (i % 3 == 0) bits = (bits & 0x807fffffu) | (120u + rng() % 16) << 23;  // cancellation
      if (i % 3 == 1) bits = (bits & 0x80ffffffu) | (56u + rng() % 8) << 23;    // subnormal results
      if ((bits >> 23 & 0xff) == 0xff) bits &= 0xbfffffffu;
      *p = std::bit_cast<float>(bits);
    }
    if (i % 5 == 0) b[1] = -b[0], a[1] = std::nextafterf(a[0], 0);
    const float want = Fma(a[1], b[1], Fma(a[0], b[0], 0.0f));
    if (std::isnan(want)) continue;
    ASSERT_EQ(FusedTwice(ops(), a, b), want + 0.0f)
        << a[0] << " " << b[0] << " " << a[1] << " " << b[1];
  }
}

TEST_P(Float32, FusedMultiplyAddRoundsOnceNextToTies) {
  // The addend 2^-126 + 2^-149 (or the like for normal numbers) plus half a last place plus or
  // minus a product too small for a double to keep: two roundings would go to the even neighbour.
  struct Tie {
    float addend, factor_a, factor_b;
  };
  for (const Tie tie : {Tie{0x1p-126f, 0x1.000002p-75f, 0x1.fffffep-76f},
                        Tie{0x1.000002p-126f, 0x1.000002p-75f, 0x1.fffffcp-76f},
                        Tie{0x1p0f, 0x1.000002p-12f, 0x1.fffffcp-13f},
                        Tie{0x1.000002p0f, 0x1.000002p-12f, 0x1.fffffcp-13f},
                        Tie{0x1.000002p0f, 0x1.000002p-12f, 0x1.fffffep-13f}}) {
    for (const float sign : {1.0f, -1.0f}) {
      for (const float other : {1.0f, -1.0f}) {
        const float a[2] = {sign * tie.addend, tie.factor_a}, b[2] = {1, other * tie.factor_b};
        EXPECT_EQ(FusedTwice(ops(), a, b), Fma(a[1], b[1], a[0]))
            << a[0] << " + " << a[1] << " * " << b[1];
      }
    }
  }
}

TEST_P(Float32, EveryHalfIsReadAsItsValue) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float one = 1, want = HalfToFloat(half);
    if (!std::isfinite(want)) continue;
    float got = 0;
    ops().dot_f16(&half, 1, 1, &one, &got);
    ASSERT_EQ(got, want) << bits;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Float32, testing::ValuesIn(FloatKernels()), FloatKernelName);

}  // namespace
}  // namespace bittern::kernels
