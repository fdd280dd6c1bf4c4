// SPDX-License-Identifier: Apache-2.0
// A word that names a folder is a dump; "isa=" and "kv=" run the model again; anything else is a
// model to load.
#include "proof/trace/subjects.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "kernels/instruction_sets.hpp"
#include "proof/trace/dump.hpp"
#include "proof/trace/lens.hpp"
#include "proof/trace/page_json.hpp"
#include "request/options/choice_names.hpp"

namespace bittern::proof {
namespace {

constexpr int kLensTokens = 5;

bool IsDump(const std::string& spec) {
  std::error_code error;
  return std::filesystem::is_regular_file(std::filesystem::path(spec) / "trace.json", error);
}

/// Holds the tokens that all subjects share.
class SubjectRuns {
 public:
  explicit SubjectRuns(const SubjectOptions& options) : options_(options) {}

  Result<void> TakeTokensOfDump(const std::string& spec) {
    if (IsDump(spec) && tokens_.empty()) tokens_ = BITTERN_TRY(ReadDump(spec)).tokens;
    return {};
  }

  Result<TracedSubject> Run(const std::string& spec) {
    const TraceSubject subject = BITTERN_TRY(ParseSubject(spec));
    if (subject.kind == TraceSubject::Kind::kDump) {
      auto trace = BITTERN_TRY(ReadDump(subject.text));
      return TracedSubject{nullptr, std::move(trace)};
    }
    auto model = BITTERN_TRY(Load(subject));
    if (tokens_.empty()) tokens_ = BITTERN_TRY(options_.tokens(model->tokenizer));
    options_.on_progress("tracing");
    TraceOptions trace_options = options_.trace;
    if (subject.kind == TraceSubject::Kind::kKv) trace_options.kv_type = subject.kv_type;
    auto trace = BITTERN_TRY(RunTrace(model, tokens_, trace_options));
    return TracedSubject{std::move(model), std::move(trace)};
  }

 private:
  Result<std::shared_ptr<const runtime::LoadedModel>> Load(const TraceSubject& subject) {
    if (subject.kind == TraceSubject::Kind::kModel) return options_.load(subject.text);
    if (subject.kind != TraceSubject::Kind::kIsa || subject.text.empty()) return options_.load("");
    const std::string forced = kernels::ForcedIsa();
    kernels::ForceIsa(subject.text);
    auto model = options_.load("");
    kernels::ForceIsa(forced);
    return model;
  }

  const SubjectOptions& options_;
  std::vector<TokenId> tokens_ = {};
};

}  // namespace

Result<TraceSubject> ParseSubject(const std::string& spec) {
  if (IsDump(spec)) return TraceSubject{TraceSubject::Kind::kDump, spec};
  if (spec.starts_with("isa=")) return TraceSubject{TraceSubject::Kind::kIsa, spec.substr(4)};
  if (!spec.starts_with("kv=")) return TraceSubject{TraceSubject::Kind::kModel, spec};
  const std::string name = spec.substr(3);
  if (const auto* kv = request::FindChoice(request::kKvTypes, name)) {
    return TraceSubject{TraceSubject::Kind::kKv, "", kv->value};
  }
  return Fail(ErrorCode::kInvalidArgument, "kv=f16, kv=f32 or kv=i8 expected, " + spec + " found");
}

Result<std::vector<TracedSubject>> TraceSubjects(std::span<const std::string> specs,
                                                 const SubjectOptions& options) {
  SubjectRuns runs(options);
  for (const std::string& spec : specs) BITTERN_TRY(runs.TakeTokensOfDump(spec));
  std::vector<TracedSubject> traced;
  for (const std::string& spec : specs) traced.push_back(BITTERN_TRY(runs.Run(spec)));
  return traced;
}

Result<Json> SubjectPage(const TracedSubject& traced, const TraceComparison* comparison) {
  PageInput page{.trace = &traced.trace,
                 .comparison = comparison,
                 .token_text = [](TokenId id) { return fmt::to_string(id); },
                 .title = traced.trace.program,
                 .about = fmt::format("{}, {} tokens, keys and values as {}", traced.trace.program,
                                      traced.trace.tokens.size(), traced.trace.kv)};
  if (traced.model != nullptr) {
    const tokenizer::Tokenizer& tokenizer = traced.model->tokenizer;
    page.title = std::filesystem::path(traced.model->model.checkpoint().path()).filename().string();
    page.token_text = [&tokenizer](TokenId id) {
      return std::string(tokenizer.TokenBytes(id, /*render_special=*/true));
    };
    page.lens = BITTERN_TRY(LogitLens(*traced.model, traced.trace, kLensTokens));
  }
  return PageJson(page);
}

}  // namespace bittern::proof
