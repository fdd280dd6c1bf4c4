// SPDX-License-Identifier: Apache-2.0
// The compiled half of {fmt}, once for the whole program. Debian ships it only as a shared
// library, which a copied binary would miss, or header-only, which costs every file 4 seconds.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template char decimal_point_impl<char>(locale_ref);
template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
#if FMT_VERSION < 90000  // Ubuntu 22.04 has 8.1
template int format_float<double>(double, int, float_specs, buffer<char>&);
template int format_float<long double>(long double, int, float_specs, buffer<char>&);
template int snprintf_float<double>(double, int, float_specs, buffer<char>&);
template int snprintf_float<long double>(long double, int, float_specs, buffer<char>&);
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
#endif
}  // namespace detail
FMT_END_NAMESPACE
