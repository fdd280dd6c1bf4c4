// SPDX-License-Identifier: Apache-2.0
// Features of an ARM CPU beyond ARMv8.0. Unlike x86 it cannot be asked without the operating
// system, so the question is here, with the other system calls.
#pragma once

namespace bittern {

struct ArmFeatures {
  bool dot_product;  ///< sdot and udot
  bool int8_matrix;  ///< smmla and usmmla
};

/// The features that the system reports of this CPU; all false on other architectures and unknown
/// systems.
[[nodiscard]] ArmFeatures DetectArmFeatures() noexcept;

}  // namespace bittern
