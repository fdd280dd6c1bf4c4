// SPDX-License-Identifier: Apache-2.0
// From a path to a model that can talk: file, overrides, tokenizer, weights.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/decision.hpp"
#include "base/result.hpp"
#include "grammar/constraint.hpp"
#include "model/model.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern {
class HugePageMaker;
}

namespace bittern::runtime {

class LayoutCache;

struct LoadOptions {
  std::vector<std::string> overrides = {};  ///< "key=type:value" texts, applied in order
  int num_threads = 0;                      ///< for the repack; 0: DefaultThreadCount()
  model::LoadOptions weights = {};          ///< layout, head, progress
  /// Used if weights.layout is open: null takes tile16; else the faster one of tile16 and tile48,
  /// by what the cache knows or by a measurement that it then keeps. Outlives the call.
  const LayoutCache* layout_cache = nullptr;
};

/// If a file error mentions a key that the caller overrode, blames the override: returns it as
/// kInvalidArgument, prefixed with the override. Otherwise returns `error` unchanged.
[[nodiscard]] Error BlameOverride(const std::vector<std::string>& overrides, Error error);

/// A model with its tokenizer. Immutable after Load; any number of sessions may share one. Loading
/// reads the model's files and writes, measures or asks the environment nothing else, but for
/// LoadOptions::layout_cache.
struct LoadedModel {
  /// Errors: kNotFound, kIo, kCorruptFile, kUnsupported; messages start with the path.
  [[nodiscard]] static Result<std::shared_ptr<const LoadedModel>> Load(
      const std::filesystem::path& path, const LoadOptions& options = {});

  /// The same with an opened file; messages start with its path().
  [[nodiscard]] static Result<std::shared_ptr<const LoadedModel>> Load(
      formats::Checkpoint checkpoint, const LoadOptions& options = {});

  model::Model model;
  tokenizer::Tokenizer tokenizer;
  Decisions decisions;  ///< What was decided where the file is silent, in order.
  double load_s = 0;
  /// Grammars over this vocabulary; made by Load.
  std::shared_ptr<grammar::GrammarCache> grammars = {};
  std::shared_ptr<HugePageMaker> huge_pages = {};  ///< for weights that got none while loading
};

}  // namespace bittern::runtime
