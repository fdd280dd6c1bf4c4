// SPDX-License-Identifier: Apache-2.0
// The version of the numerics contract.
#pragma once

namespace bittern::model {

/// Counts changes of what docs/design/0001-numerics.md writes down: a change of any bit of any
/// logit raises this and makes the golden certificates anew (models/certificates.txt).
inline constexpr int kNumericsVersion = 1;

}  // namespace bittern::model
