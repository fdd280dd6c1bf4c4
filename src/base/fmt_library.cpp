// SPDX-License-Identifier: Apache-2.0
// The compiled half of {fmt}, once for the whole program. Debian ships it only as a shared
// library, which a copied binary would miss, or header-only, which costs every file 4 seconds.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template char decimal_point_impl<char>(locale_ref);
template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
}  // namespace detail
FMT_END_NAMESPACE
