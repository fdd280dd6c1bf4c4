// SPDX-License-Identifier: Apache-2.0
// One number of the numerics contract that rooms without kernels need, too.
#pragma once

#include <stddef.h>

namespace bittern::kernels {

/// Positions are summed in blocks of this many, then the blocks' sums in order, so that positions
/// can be split over threads without changing a bit. Also the positions of a page of the cache.
inline constexpr size_t kAttentionBlock = 256;

}  // namespace bittern::kernels
