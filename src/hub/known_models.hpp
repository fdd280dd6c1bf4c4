// SPDX-License-Identifier: Apache-2.0
// Ternary models that have a short name: rows of known_models.def.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace bittern::hub {

struct KnownModel {
  std::string_view name;     ///< "bitnet-2b"
  std::string_view repo;     ///< "USER/REPO"
  std::string_view file;     ///< empty: a folder of safetensors, or chosen among the files
  std::uint64_t bytes;       ///< of the file; 0: not known
  std::string_view sha256;   ///< of the file; empty: not known
  std::string_view chat;     ///< where `bittern chat` takes its template from
  std::string_view licence;  ///< empty: see its page
  /// This project's tests ran another model in its place. "trained": a small one of its form that
  /// was trained. "small": one of random weights. "full": a synthetic file of its whole shape.
  std::string_view tried;
  std::string_view note;  ///< what to know about it; may be empty
};

/// A repository without a short name.
struct OtherModel {
  std::string_view repo, formats;
  std::string_view licence;  ///< empty: see its page
  std::string_view runs;     ///< "yes", "no: ..." or more
};

[[nodiscard]] std::span<const KnownModel> KnownModels() noexcept;
[[nodiscard]] std::span<const OtherModel> OtherModels() noexcept;
/// Null if that repository is not among OtherModels.
[[nodiscard]] const OtherModel* FindOtherModel(std::string_view repo) noexcept;
/// Null if no model has this short name (in any letters).
[[nodiscard]] const KnownModel* FindKnownModel(std::string_view name) noexcept;
/// The short name that is closest to `typed`; empty if none is close, or `typed` has a slash.
[[nodiscard]] std::string ClosestKnownName(std::string_view typed);
/// The row of a file; null if there is none.
[[nodiscard]] const KnownModel* FindKnownFile(std::string_view repo,
                                              std::string_view file) noexcept;

}  // namespace bittern::hub
