// SPDX-License-Identifier: Apache-2.0
// The model that is part of the library, as read-only data between two names; CMake defines
// BITTERN_BUILTIN_MODEL as its path.
#include "base/os/embedded.inc"
        BITTERN_DATA
        .balign 64
        NAME bittern_builtin_model
        .incbin BITTERN_BUILTIN_MODEL
        NAME bittern_builtin_model_end
        BITTERN_DATA_END
