// SPDX-License-Identifier: Apache-2.0
// The models among the files of the cache. One thread; other processes may work in the same folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hub/cache.hpp"

namespace bittern::hub {

/// A GGUF file, the parts of a split one, or a folder of safetensors.
struct CachedModel {
  std::string name;         ///< as ParseReference takes it
  std::string path;         ///< a file or a folder
  std::string commit;       ///< 40 hexadecimal digits
  std::uint64_t bytes = 0;  ///< of the weights
};

/// All models, in the order of Cache::Repos.
[[nodiscard]] std::vector<CachedModel> ListModels(const Cache& cache);

/// Removes a repository (`file` is empty) or a file of it with the other parts of its split model.
/// Returns the bytes that are free now. Errors as Cache::Remove.
[[nodiscard]] Result<std::uint64_t> RemoveModel(const Cache& cache, const std::string& repo,
                                                const std::string& file);

}  // namespace bittern::hub
