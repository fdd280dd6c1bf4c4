// SPDX-License-Identifier: Apache-2.0
// exp, log, sin and cos in a few lines of our own. A C library's versions differ between
// machines in the last bit; these use only +, -, *, / in a written order, so they do not.
#pragma once

namespace bittern {

/// e^x to about 1e-15 relative; 0 below -745, +infinity above 709.78; NaN for NaN.
[[nodiscard]] double Exp(double x) noexcept;

/// Natural logarithm of a positive finite normal x, to about 1e-15 relative.
[[nodiscard]] double Log(double x) noexcept;

struct SinCosResult {
  double sin, cos;
};
/// Sine and cosine of |x| <= 2^20 radians, to about 1e-15 absolute.
[[nodiscard]] SinCosResult SinCos(double x) noexcept;

}  // namespace bittern
