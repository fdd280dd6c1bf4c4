// SPDX-License-Identifier: Apache-2.0
// Loads small models, to see what loading makes of them or why it refuses them. Never part of the
// library.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/threads/thread_pool.hpp"
#include "model/model.hpp"
#include "model/small_model_for_test.hpp"

namespace bittern::model::load_test {

/// A good model, with the threads of `pool`.
inline Model LoadGood(const SmallModel& small, ThreadPool& pool, const LoadOptions& options = {}) {
  const auto path = small.Write();
  Decisions decisions;
  auto model =
      Model::Load(formats::Checkpoint::Open(path).value(), pool, &decisions, options).value();
  std::filesystem::remove(path);
  return model;
}

struct Loaded {
  Result<Model> model;
  Decisions decisions;
};

inline Loaded Load(const SmallModel& small, std::string_view override_kv = {},
                   const LoadOptions& options = {}) {
  const auto path = small.Write();
  auto pool = ThreadPool::Create(2).value();
  Decisions decisions;
  auto checkpoint = formats::Checkpoint::Open(path);
  std::filesystem::remove(path);  // the mapping stays
  if (!checkpoint) return {tl::unexpected(checkpoint.error()), {}};
  if (!override_kv.empty()) {
    EXPECT_TRUE(checkpoint->metadata().Override(override_kv));
  }
  auto model = Model::Load(std::move(*checkpoint), pool, &decisions, options);
  return {std::move(model), std::move(decisions)};
}

inline std::string Why(const SmallModel& small) {
  const auto loaded = Load(small);
  return loaded.model ? "loaded" : MessageAndHint(loaded.model.error());
}

}  // namespace bittern::model::load_test
