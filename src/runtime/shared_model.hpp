// SPDX-License-Identifier: Apache-2.0
// A model that several ranks share out (model/ranks/ranks.hpp): rank 0 loads it and uses it as any
// other; the others are told of it here, load their parts, and run its passes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "base/threads/thread_pool.hpp"
#include "formats/checkpoint.hpp"
#include "model/model.hpp"

namespace bittern::runtime {

/// model::Model::Load on rank 0 of options.ranks, where the others are in FollowRanks. `overrides`
/// have been applied to the checkpoint. Errors: as Model::Load; kInvalidArgument, where a rank has
/// another file at this path, or none.
[[nodiscard]] Result<model::Model> LoadShared(formats::Checkpoint checkpoint,
                                              const std::vector<std::string>& overrides,
                                              ThreadPool& pool, Decisions* decisions,
                                              const model::LoadOptions& options);

/// Opens a model by its Checkpoint::path().
using OpenCheckpoint = std::function<Result<formats::Checkpoint>(const std::string& path)>;

/// The life of a rank that follows: until rank 0 ends it (EndRanks). Ends the processes of all
/// where it cannot do what it is told.
void FollowRanks(model::Ranks& ranks, const OpenCheckpoint& open);

/// Rank 0's last word. False, and nothing said, where ranks wait for something else.
[[nodiscard]] bool EndRanks(model::Ranks& ranks);

}  // namespace bittern::runtime
