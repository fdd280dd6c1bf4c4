// SPDX-License-Identifier: Apache-2.0
#include "../stay_loaded.hpp"

#include <dlfcn.h>

namespace bittern::node {

void StayLoaded() noexcept {
  Dl_info own{};
  if (dladdr(reinterpret_cast<const void*>(&StayLoaded), &own) == 0 || own.dli_fname == nullptr)
    return;
  dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace bittern::node
