// SPDX-License-Identifier: Apache-2.0
// Runs that are traced and compared, as a user writes them: the folder of a dump, isa=NAME, kv=TYPE
// or a model. One thread at a time, as an instruction set is forced for the whole process.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json.hpp"
#include "proof/trace/compare.hpp"
#include "proof/trace/trace.hpp"

namespace bittern::proof {

/// One of the runs.
struct TraceSubject {
  enum class Kind {
    kDump,   ///< a folder that WriteDump has written
    kIsa,    ///< the model under an instruction set
    kKv,     ///< the model with keys and values of `kv_type`
    kModel,  ///< another model, or the model where `text` is empty
  };
  Kind kind = Kind::kModel;
  std::string text = {};  ///< the folder, the instruction set or the model's path
  model::KvType kv_type = model::KvType::kF16;
};

/// Error kInvalidArgument: kv= with a name that is not f16, f32 or i8.
[[nodiscard]] Result<TraceSubject> ParseSubject(const std::string& spec);

struct TracedSubject {
  std::shared_ptr<const runtime::LoadedModel> model = nullptr;  ///< null for a dump
  Trace trace;
};

struct SubjectOptions {
  TraceOptions trace;  ///< kv_type: of subjects that do not name one
  /// Opens a model; empty: the one that subjects without a path are about.
  std::function<Result<std::shared_ptr<const runtime::LoadedModel>>(const std::string&)> load;
  /// Ids to run, asked for once, where no dump among the subjects has them.
  std::function<Result<std::vector<TokenId>>(const tokenizer::Tokenizer&)> tokens;
  std::function<void(std::string_view what)> on_progress;
};

/// Runs the subjects in their order, all over the same tokens. The first dump gives the tokens, if
/// there is one. Errors as ParseSubject, ReadDump, RunTrace and the functions in `options`.
[[nodiscard]] Result<std::vector<TracedSubject>> TraceSubjects(std::span<const std::string> specs,
                                                               const SubjectOptions& options);

/// PageJson of a trace, titled with its program, tokens, keys and model, with the logit lens where
/// the model is there. `comparison` may be null. Errors as LogitLens.
[[nodiscard]] Result<Json> SubjectPage(const TracedSubject& traced,
                                       const TraceComparison* comparison);

}  // namespace bittern::proof
