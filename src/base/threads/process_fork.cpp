// SPDX-License-Identifier: Apache-2.0
#include "base/threads/process_fork.hpp"

#include <pthread.h>

namespace bittern {

void WatchForks(void (*before)(), void (*in_parent)(), void (*in_child)()) {
  pthread_atfork(before, in_parent, in_child);
}

}  // namespace bittern
