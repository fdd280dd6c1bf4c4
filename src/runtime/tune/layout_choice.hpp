// SPDX-License-Identifier: Apache-2.0
// Tile16 or Tile48 for a model's ternary matrices: less arithmetic or fewer bytes. Which decodes
// faster depends on how a machine's memory and cores compare, so it is measured, once a machine.
// No choice changes a bit of any result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "base/threads/thread_pool.hpp"
#include "formats/checkpoint.hpp"
#include "model/matrix_layout.hpp"

namespace bittern::kernels {
struct Kernels;
}

namespace bittern::runtime {

/// Under which a choice stands among LoadedModel::decisions.
inline constexpr std::string_view kLayoutSubject = "layout of ternary matrices",
                                  kGroupedLayoutSubject = "layout of those with scales of groups";

struct LayoutChoice {
  model::MatrixLayout layout = model::MatrixLayout::kTile16;
  std::string reason;
};

/// The matrices that a layout is chosen for: those with one scale a row, or with several along it.
enum class ScaleKind : std::uint8_t { kOfRows, kOfGroups };

/// Whether some layer's matrix has a type that may hold several scales a row.
[[nodiscard]] bool MayHaveGroups(const formats::Checkpoint& checkpoint);

/// Bytes that a checkpoint's ternary matrices take in Tile16, about.
[[nodiscard]] std::uint64_t TernaryBytes(const formats::Checkpoint& checkpoint);

/// The speed of Tile48 beside Tile16: all threads of `pool` multiply one vector by a matrix that
/// does not fit in the caches. With groups the vector has two digits, as most such models have
/// them. `bytes`: of the matrix in Tile16, at least 1 MiB. Takes about a tenth of a second
/// (RatioOfLeast). Error kOutOfMemory.
[[nodiscard]] Result<double> MeasureTile48Gain(ThreadPool& pool, const kernels::Kernels& kernels,
                                               std::size_t bytes, ScaleKind kind);

/// Gains that were measured before, by machine: a small JSON file. What is wrong with it, or with
/// the place it is in, costs a measurement and nothing else. Any thread, also beside other
/// processes with the same file, which is replaced as a whole.
class LayoutCache {
 public:
  /// `file`: empty for none.
  explicit LayoutCache(std::filesystem::path file) : file_(std::move(file)) {}

  [[nodiscard]] std::optional<double> Find(const std::string& machine) const;
  /// True if it was kept.
  bool Keep(const std::string& machine, double gain) const;
  [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }

 private:
  std::filesystem::path file_;
};

/// Tile48 where this CPU has a fast kernel for it, the weights are far larger than its caches, and
/// it is at least 3 % faster; else Tile16. With groups it may be 3 % slower: such models are large,
/// and it saves a sixth of their memory. Never fails: Tile16 where nothing can be measured.
[[nodiscard]] LayoutChoice ChooseLayout(std::uint64_t ternary_bytes, ScaleKind kind,
                                        const kernels::Kernels& kernels, ThreadPool& pool,
                                        const LayoutCache& cache);

}  // namespace bittern::runtime
