// SPDX-License-Identifier: Apache-2.0
// The results of a kernel from fixed inputs: the same for every instruction set, so a kernel is
// right if it gives what its scalar twin gives, to the bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace bittern::proof {

/// The results of one kernel, function by function.
struct KernelResults {
  struct Part {
    std::string function;           ///< "gemv"
    std::size_t size;               ///< bytes of one value
    std::vector<std::byte> values;  ///< one after the other
  };
  std::vector<Part> parts;

  template <class T>
  void Add(std::string function, std::span<const T> values) {
    const auto bytes = std::as_bytes(values);
    parts.push_back({std::move(function), sizeof(T), {bytes.begin(), bytes.end()}});
  }
};

/// The differences, e.g. "gemv: 3 of 48 values differ"; empty: nothing.
[[nodiscard]] std::string CompareResults(const KernelResults& expected, const KernelResults& found);

/// Random numbers that are the same everywhere.
using Random = std::mt19937;
/// Weights as codes 0, 1, 2.
[[nodiscard]] std::vector<std::uint8_t> RandomCodes(std::size_t count, Random* random);
/// All values of int8.
[[nodiscard]] std::vector<std::int8_t> RandomBytes(std::size_t count, Random* random);
/// -2 to 2, every sixteenth one 0.
[[nodiscard]] std::vector<float> RandomFloats(std::size_t count, Random* random);

// Each fills the results of one operation of kernels.def.
void RunTile16(const kernels::Tile16Ops& ops, KernelResults* results);
void RunTile48(const kernels::Tile48Ops& ops, KernelResults* results);
void RunVlut(const kernels::VlutOps& ops, KernelResults* results);
void RunTl1(const kernels::LutOps& ops, KernelResults* results);
void RunTl2(const kernels::LutOps& ops, KernelResults* results);
void RunSparse(const kernels::SparseOps& ops, KernelResults* results);
void RunScreen(const kernels::ScreenOps& ops, KernelResults* results);
void RunFloat32(const kernels::FloatOps& ops, KernelResults* results);

}  // namespace bittern::proof
