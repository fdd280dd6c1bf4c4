// SPDX-License-Identifier: Apache-2.0
#include "base/portable_math.hpp"

#include <bit>
#include <cstdint>
#include <limits>

namespace bittern {
namespace {

// ln 2 and pi/2, each as a head with enough trailing zero bits that head * k is exact for the
// integers k that occur, plus the remainder.
constexpr double kLn2Head = 0x1.62e42feep-1, kLn2Tail = 0x1.a39ef35793c76p-33;
constexpr double kHalfPiHead = 0x1.921fb544p0, kHalfPiMiddle = 0x1.0b4611a6p-34,
                 kHalfPiTail = 0x1.3198a2e037073p-69;

/// Nearest integer, ties to even; |x| < 2^51.
double RoundToInteger(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

/// 2^k for k in [-1022, 1023].
double PowerOfTwo(int k) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

}  // namespace

double Exp(double x) noexcept {
  if (!(x == x)) return x;
  if (x < -745.2) return 0;
  if (x > 709.782) return std::numeric_limits<double>::infinity();
  const double k = RoundToInteger(x * 0x1.71547652b82fep0);
  const double r = (x - k * kLn2Head) - k * kLn2Tail;  // |r| <= ln(2) / 2
  double sum = 1;
  for (int n = 14; n >= 1; --n) sum = 1 + r * sum / n;  // Taylor; r^15/15! < 1e-19
  // Two steps, so that results below the normal range are scaled without overflow of 2^k.
  const int half = static_cast<int>(k) / 2;
  return sum * PowerOfTwo(half) * PowerOfTwo(static_cast<int>(k) - half);
}

double Log(double x) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double mantissa = std::bit_cast<double>((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  // log m = 2 artanh(f), f = (m - 1) / (m + 1), |f| <= 0.1716
  const double f = (mantissa - 1) / (mantissa + 1), square = f * f;
  double sum = 0;
  for (int n = 25; n >= 1; n -= 2) sum = 1.0 / n + square * sum;
  return exponent * kLn2Head + (exponent * kLn2Tail + 2 * f * sum);
}

SinCosResult SinCos(double x) noexcept {
  const double k = RoundToInteger(x * 0x1.45f306dc9c883p-1);
  const double r = ((x - k * kHalfPiHead) - k * kHalfPiMiddle) - k * kHalfPiTail;
  const double square = r * r;
  double sine = 1, cosine = 1;  // Taylor for |r| <= pi/4
  for (int n = 19; n >= 3; n -= 2) sine = 1 - square * sine / (n * (n - 1));
  for (int n = 20; n >= 2; n -= 2) cosine = 1 - square * cosine / (n * (n - 1));
  sine *= r;
  switch (static_cast<std::int64_t>(k) & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

}  // namespace bittern
