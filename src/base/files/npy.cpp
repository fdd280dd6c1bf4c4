// SPDX-License-Identifier: Apache-2.0
#include "base/files/npy.hpp"

#include <fmt/format.h>

namespace bittern {

/// Magic, version, length of the text, text.
std::string NpyHeader(std::size_t rows, std::size_t cols) {
  std::string text =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, cols);
  text.append(63 - (10 + text.size()) % 64, ' ');
  text += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(text.size() & 0xff);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

}  // namespace bittern
