// SPDX-License-Identifier: Apache-2.0
// The compiled half of {fmt}, once for the whole program. Debian ships it only as a shared
// library, which a copied binary would miss, or header-only, which costs every file 4 seconds.
// It instantiates the same templates as src/format.cc of {fmt} 8.1 to 12.1.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template char decimal_point_impl<char>(locale_ref);
template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
template void buffer<char>::append(const char*, const char*);
#if FMT_VERSION < 90000
template int format_float<double>(double, int, float_specs, buffer<char>&);
template int format_float<long double>(long double, int, float_specs, buffer<char>&);
template int snprintf_float<double>(double, int, float_specs, buffer<char>&);
template int snprintf_float<long double>(long double, int, float_specs, buffer<char>&);
#endif
#if FMT_VERSION < 120000
template void vformat_to(buffer<char>&, string_view, basic_format_args<format_context>, locale_ref);
#endif
}  // namespace detail
FMT_END_NAMESPACE
