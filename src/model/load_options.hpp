// SPDX-License-Identifier: Apache-2.0
// A user's choices about weights in memory. Nothing in here changes a bit of any result.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace bittern::model {

enum class MatrixLayout : std::uint8_t;  // matrix_layout.hpp
class Ranks;                             // ranks/ranks.hpp

/// How the output head is computed where only the best logits are wanted
/// (screened_head.hpp).
enum class HeadMode : std::uint8_t {
  kAuto,      ///< screened where the head is large and this CPU has a kernel for it
  kExact,     ///< every row, every time: no copy in memory
  kScreened,  ///< always
};

/// When the copy of a screened head is made.
enum class HeadCopy : std::uint8_t {
  kAtOnce,            ///< while loading
  kBehindFirstToken,  ///< by the second pass that wants the best logits; the first reads the head
};

/// Whether the feed-forward part of a network with squared ReLU leaves out the rows and columns
/// that meet a zero (sparse_up.hpp, sparse_down.hpp).
enum class SkipMode : std::uint8_t {
  kAuto,  ///< where this CPU has a kernel for it
  kOff,
  kOn,
};

/// How batches of more than a few tokens multiply ternary matrices (forward/gemm.cpp).
enum class BatchKernel : std::uint8_t {
  kAuto,    ///< the faster of the two, by vlut_gain
  kTile16,  ///< multiply-adds (kernels::Tile16Ops)
  kVlut,    ///< tables across tokens (kernels::VlutOps)
};

/// How the inputs of ternary matrices are rounded, where a network was trained without: 8, 10 or 16
/// bits in groups of 64 columns. Other networks are computed as they were trained
/// (docs/numerics.md).
enum class Activations : std::uint8_t { kAuto, kInt8, kInt10, kInt16 };

struct LoadOptions {
  /// The layout of ternary matrices (grouped_layout, or the same: of those whose scales differ
  /// along a row). None: runtime::LoadedModel chooses, model::Model takes kTile16.
  std::optional<MatrixLayout> layout = {}, grouped_layout = {};
  HeadMode head = HeadMode::kAuto;
  HeadCopy head_copy = HeadCopy::kAtOnce;
  SkipMode zero_skip = SkipMode::kAuto;
  Activations activations = Activations::kAuto;
  BatchKernel batch_kernel = BatchKernel::kAuto;
  /// VlutOps::gain and grouped_gain as they were measured on this machine; 0: nothing.
  double vlut_gain = 0, grouped_vlut_gain = 0;
  /// Kernels of this instruction set (kernels::SelectKernelsForced); empty: the program's choice
  /// (kernels::ForceIsa), else the best of this CPU.
  std::string isa = {};
  /// Bytes for weights; none: what the system has left. More lie in a file (load/weight_arena.hpp).
  std::optional<std::uint64_t> memory = {};
  std::string overflow_folder = {};
  /// The processes that share the network out (runtime/shared_model.hpp); outlive the model. Null:
  /// this one has all.
  Ranks* ranks = nullptr;
  /// Called with 0..1 after each layer; false ends loading with kCancelled. May be empty.
  std::function<bool(double)> on_progress = {};
};

}  // namespace bittern::model
