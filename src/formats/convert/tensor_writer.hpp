// SPDX-License-Identifier: Apache-2.0
// Carries out a plan: encodes the planned tensors with all threads and hands their bytes on, in the
// planned order, holding a bounded number of them in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.hpp"
#include "base/threads/thread_pool.hpp"
#include "formats/checkpoint.hpp"
#include "formats/convert/convert_plan.hpp"
#include "formats/convert/ternary_encode.hpp"

namespace bittern::formats {

/// Takes the bytes of the output's tensors, front to back.
using TensorSink = std::function<Result<void>(std::span<const std::byte>)>;

struct WrittenTensors {
  std::uint64_t ternary_tensors = 0, ternary_weights = 0, plain_tensors = 0;
  ScaleCounts scales;
  std::string worst_scale;  ///< tensor whose scale was rounded most
};

class TensorWriter {
 public:
  /// All arguments outlive the writer. on_progress: as ConvertOptions'.
  TensorWriter(const Checkpoint& source, const ConvertPlan& plan, ThreadPool& pool,
               const TensorSink& sink, std::function<bool(double, std::string_view)> on_progress);

  /// Errors name the tensor: kCorruptFile, kUnsupported (a value that its new format cannot hold),
  /// kCancelled, kOutOfMemory, and what the sink says.
  [[nodiscard]] Result<void> WriteAll();
  [[nodiscard]] const WrittenTensors& written() const noexcept { return written_; }

 private:
  /// Tensors [first, result) are ternary and fit memory together; at least one.
  [[nodiscard]] std::size_t EndOfBatch(std::size_t first) const;
  [[nodiscard]] Result<void> WriteTernary(std::size_t first, std::size_t last);
  [[nodiscard]] Result<void> WriteCopy(const PlannedTensor& tensor);
  [[nodiscard]] Result<void> WriteEncoded(const PlannedTensor& tensor);
  [[nodiscard]] Result<void> WriteScale(const PlannedTensor& tensor);
  /// Counts source bytes as done. Error kCancelled.
  [[nodiscard]] Result<void> Advance(std::uint64_t bytes, std::string_view name);

  const Checkpoint& source_;
  const ConvertPlan& plan_;
  ThreadPool& pool_;
  const TensorSink& sink_;
  std::function<bool(double, std::string_view)> on_progress_;
  std::uint64_t total_bytes_ = 0, done_bytes_ = 0;
  std::unordered_map<const Tensor*, float> scales_;  // of packed weights, written later
  WrittenTensors written_;
};

}  // namespace bittern::formats
