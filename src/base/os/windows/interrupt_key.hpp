// SPDX-License-Identifier: Apache-2.0
// Ctrl-C while keys are read one by one. Consoles that send it to the handler all the same exist.
#pragma once

namespace bittern::os {

/// Puts the key Ctrl-C among the keys to be read, if a line is being read. Any thread.
bool InterruptBecomesKey() noexcept;

}  // namespace bittern::os
