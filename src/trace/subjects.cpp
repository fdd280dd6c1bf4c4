// SPDX-License-Identifier: Apache-2.0
#include "trace/subjects.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "kernels/instruction_sets.hpp"
#include "trace/dump.hpp"
#include "trace/lens.hpp"
#include "trace/page_json.hpp"

namespace bittern::trace {
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
    const Subject subject = BITTERN_TRY(ParseSubject(spec));
    if (subject.kind == Subject::Kind::kDump) {
      auto trace = BITTERN_TRY(ReadDump(subject.text));
      return TracedSubject{nullptr, std::move(trace)};
    }
    auto model = BITTERN_TRY(Load(subject));
    if (tokens_.empty()) tokens_ = BITTERN_TRY(options_.tokens(model->tokenizer));
    options_.on_progress("tracing");
    TraceOptions trace_options = options_.trace;
    if (subject.kind == Subject::Kind::kKv) trace_options.kv_type = subject.kv_type;
    auto trace = BITTERN_TRY(RunTrace(model, tokens_, trace_options));
    return TracedSubject{std::move(model), std::move(trace)};
  }

 private:
  Result<std::shared_ptr<const runtime::LoadedModel>> Load(const Subject& subject) {
    if (subject.kind == Subject::Kind::kModel) return options_.load(subject.text);
    if (subject.kind != Subject::Kind::kIsa || subject.text.empty()) return options_.load("");
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

Result<Subject> ParseSubject(const std::string& spec) {
  if (IsDump(spec)) return Subject{Subject::Kind::kDump, spec};
  if (spec.starts_with("isa=")) return Subject{Subject::Kind::kIsa, spec.substr(4)};
  if (!spec.starts_with("kv=")) return Subject{Subject::Kind::kModel, spec};
  const std::string name = spec.substr(3);
  if (name == "f16") return Subject{Subject::Kind::kKv, "", model::KvType::kF16};
  if (name == "f32") return Subject{Subject::Kind::kKv, "", model::KvType::kF32};
  if (name == "i8") return Subject{Subject::Kind::kKv, "", model::KvType::kI8};
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

Result<Json> SubjectPage(const TracedSubject& traced, const Comparison* comparison) {
  PageInput page{.trace = &traced.trace,
                 .comparison = comparison,
                 .token_text = [](TokenId id) { return fmt::to_string(id); },
                 .title = fmt::format("{}, {} tokens, keys and values as {}", traced.trace.program,
                                      traced.trace.tokens.size(), traced.trace.kv)};
  if (traced.model != nullptr) {
    const tokenizer::Tokenizer& tokenizer = traced.model->tokenizer;
    page.title += ", " + traced.model->model.checkpoint().path();
    page.token_text = [&tokenizer](TokenId id) {
      return std::string(tokenizer.TokenBytes(id, /*render_special=*/true));
    };
    page.lens = BITTERN_TRY(LogitLens(*traced.model, traced.trace, kLensTokens));
  }
  return PageJson(page);
}

}  // namespace bittern::trace
