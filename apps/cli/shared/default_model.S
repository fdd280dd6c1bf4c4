// SPDX-License-Identifier: Apache-2.0
// The model that ships, as read-only data between two names; CMake defines BITTERN_DEFAULT_MODEL as
// its path.
#include "base/os/embedded.inc"
        BITTERN_DATA
        .balign 64
        NAME bittern_default_model
        .incbin BITTERN_DEFAULT_MODEL
        NAME bittern_default_model_end
        BITTERN_DATA_END
