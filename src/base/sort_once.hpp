// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

namespace bittern {

/// Sorts, and keeps one of equal values.
template <class Value>
void SortOnce(std::vector<Value>* values) {
  std::ranges::sort(*values);
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

}  // namespace bittern
