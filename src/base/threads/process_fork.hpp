// SPDX-License-Identifier: Apache-2.0
// Locks that live through fork(). The child has one thread, so a lock that another thread of the
// parent held at that moment would stay locked there for ever.
#pragma once

namespace bittern {

/// Has each fork() call `before` in the parent, then `in_parent` and `in_child`, in the thread that
/// forks: to take locks and to give them up in both. Functions that were added later are called
/// earlier before and later after. They are never removed, but where the library is unloaded. Any
/// thread.
void WatchForks(void (*before)(), void (*in_parent)(), void (*in_child)());

}  // namespace bittern
