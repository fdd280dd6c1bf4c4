// SPDX-License-Identifier: Apache-2.0
// One tensor beside its namesake of another file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/decision.hpp"
#include "formats/checkpoint.hpp"
#include "formats/ternary_source.hpp"

namespace bittern::doctor {

/// A file whose tensors are compared. Rows of q and k are read in Hugging Face's order.
class ComparedFile {
 public:
  /// The checkpoint outlives this.
  [[nodiscard]] static Result<ComparedFile> Create(const formats::Checkpoint& checkpoint);

  [[nodiscard]] const formats::Checkpoint& checkpoint() const noexcept { return *checkpoint_; }
  /// The codes and scales of a projection; nullopt for other tensors. Errors as TernaryOpener.
  [[nodiscard]] Result<std::optional<formats::TernarySource>> Open(const formats::Tensor& tensor);
  /// Which row of the file is which of Hugging Face's; empty: all as they are.
  [[nodiscard]] Result<std::vector<std::uint32_t>> OrderOf(const formats::Tensor& tensor) const;

 private:
  ComparedFile(const formats::Checkpoint& checkpoint, std::unique_ptr<Decisions> decisions,
               formats::TernaryOpener opener)
      : checkpoint_(&checkpoint), decisions_(std::move(decisions)), opener_(std::move(opener)) {}

  const formats::Checkpoint* checkpoint_;
  std::unique_ptr<Decisions> decisions_;
  formats::TernaryOpener opener_;
};

/// The result of comparing two tensors of one shape.
struct TensorLikeness {
  bool equal = false;
  bool same_codes = false;           ///< of ternary weights
  std::string what;                  ///< a sentence where they differ
  std::vector<std::uint64_t> rows;   ///< a hash of the weights of each row, without scales
  std::vector<std::uint64_t> other;  ///< the same of the other tensor
};
/// Errors: as reading weights.
[[nodiscard]] Result<TensorLikeness> CompareTensors(ComparedFile& file,
                                                    const formats::Tensor& tensor,
                                                    ComparedFile& other,
                                                    const formats::Tensor& of_other);

/// TensorLikeness::rows of a tensor alone; empty for formats that cannot be read row by row.
[[nodiscard]] Result<std::vector<std::uint64_t>> RowHashes(ComparedFile& file,
                                                           const formats::Tensor& tensor);

}  // namespace bittern::doctor
