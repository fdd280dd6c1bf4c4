// SPDX-License-Identifier: Apache-2.0
#include "../stay_loaded.hpp"

#include <windows.h>

namespace bittern::node {

void StayLoaded() noexcept {
  HMODULE own = nullptr;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                     reinterpret_cast<LPCWSTR>(&StayLoaded), &own);
}

}  // namespace bittern::node
