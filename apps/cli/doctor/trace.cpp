// SPDX-License-Identifier: Apache-2.0
// `bittern trace`: what a network computes, operation by operation, kept, compared, drawn.
#include "trace/trace.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/json/json.hpp"
#include "base/text/display.hpp"
#include "cli/commands.hpp"
#include "cli/default_model.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/outputs.hpp"
#include "cli/output.hpp"
#include "cli/terminal.hpp"
#include "kernels/instruction_sets.hpp"
#include "trace/compare.hpp"
#include "trace/dump.hpp"
#include "trace/lens.hpp"
#include "trace/page.hpp"
#include "trace/summary.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kTraceExample = R"(Examples:
  bittern trace -m model.gguf -p "In the beginning" --html trace.html
  bittern trace -m model.gguf -p "In the beginning" --dump there --values
  bittern trace -m model.gguf --compare there isa=scalar --json
  bittern trace --compare good.gguf bad.gguf -p "The king"

A and B of --compare are each a folder that --dump (or another program) wrote, a model, isa=NAME (the
model under that instruction set) or kv=f16, kv=f32, kv=i8 (with that cache). Exit codes: 0 the same or
only rounding, 4 an operation differs by more.)";

constexpr int kLensTokens = 5;

struct TraceCommandOptions {
  ModelOptions model;
  ContextOptions context;
  PromptOptions prompt;
  int num_threads = 0;
  std::vector<std::string> compare;
  std::string dump, html;
  bool values = false, json = false;
};

bool IsDump(const std::string& spec) {
  std::error_code error;
  return std::filesystem::is_regular_file(std::filesystem::path(spec) / "trace.json", error);
}

/// One run of a model over the tokens.
struct Traced {
  std::shared_ptr<const runtime::LoadedModel> model;  // null for a dump
  trace::Trace trace;
};

class TraceRun {
 public:
  explicit TraceRun(const TraceCommandOptions& options) : options_(options) {}
  Result<int> Run();

 private:
  using Tokens = std::vector<runtime::TokenId>;

  Result<Traced> Take(const std::string& spec);
  Result<Traced> TakeModel(const ModelOptions& model, std::string isa, model::KvType kv_type);
  Result<Tokens> TokensFor(const tokenizer::Tokenizer& tokenizer);
  Result<void> WriteResults(const Traced& traced, const trace::Comparison* comparison);

  const TraceCommandOptions& options_;
  Tokens tokens_;  // of a dump that is compared; else of the prompt
  std::optional<Prompt> prompt_;
  ProgressLine progress_;
};

Result<TraceRun::Tokens> TraceRun::TokensFor(const tokenizer::Tokenizer& tokenizer) {
  if (!tokens_.empty()) return tokens_;
  if (!prompt_) prompt_ = BITTERN_TRY(ReadPrompt(options_.prompt));
  tokens_ = BITTERN_TRY(EncodePrompt(*prompt_, tokenizer));
  return tokens_;
}

Result<Traced> TraceRun::TakeModel(const ModelOptions& model_options, std::string isa,
                                   model::KvType kv_type) {
  ModelOptions options = model_options;
  const std::string forced = kernels::ForcedIsa();
  if (!isa.empty()) kernels::ForceIsa(isa);
  auto model = LoadModel(options, options_.num_threads);
  kernels::ForceIsa(forced);
  if (!model) return tl::unexpected(model.error());
  const Tokens tokens = BITTERN_TRY(TokensFor((*model)->tokenizer));
  progress_.ShowIfSlow("tracing");
  auto trace = BITTERN_TRY(trace::RunTrace(
      *model, tokens,
      {.kv_type = kv_type,
       .num_threads = options_.num_threads,
       .values = options_.values || !options_.html.empty() || !options_.compare.empty(),
       .program = "bittern " BITTERN_VERSION,
       .fault = {}}));
  return Traced{*std::move(model), std::move(trace)};
}

Result<Traced> TraceRun::Take(const std::string& spec) {
  model::KvType kv_type = options_.context.type_k == "f32"   ? model::KvType::kF32
                          : options_.context.type_k == "f16" ? model::KvType::kF16
                                                             : model::KvType::kI8;
  if (IsDump(spec)) {
    auto trace = BITTERN_TRY(trace::ReadDump(spec));
    return Traced{nullptr, std::move(trace)};
  }
  if (spec.starts_with("isa=")) return TakeModel(options_.model, spec.substr(4), kv_type);
  if (spec.starts_with("kv=")) {
    const std::string name = spec.substr(3);
    if (name != "f16" && name != "f32" && name != "i8") {
      return Fail(ErrorCode::kInvalidArgument,
                  "kv=f16, kv=f32 or kv=i8 expected, " + spec + " found");
    }
    kv_type = name == "f32"   ? model::KvType::kF32
              : name == "f16" ? model::KvType::kF16
                              : model::KvType::kI8;
    return TakeModel(options_.model, "", kv_type);
  }
  ModelOptions model = options_.model;
  if (!spec.empty()) model.path = spec;
  return TakeModel(model, "", kv_type);
}

Result<void> TraceRun::WriteResults(const Traced& traced, const trace::Comparison* comparison) {
  if (!options_.dump.empty()) {
    trace::Trace trace = traced.trace;
    if (!options_.values) {
      for (trace::Step& step : trace.steps) step.values.clear();
    }
    BITTERN_TRY(trace::WriteDump(trace, options_.dump));
  }
  if (options_.html.empty()) return {};
  trace::PageInput page{
      .trace = &traced.trace,
      .comparison = comparison,
      .token_text = [](runtime::TokenId id) { return fmt::to_string(id); },
      .title = fmt::format("{}, {} tokens, keys and values as {}", traced.trace.program,
                           traced.trace.tokens.size(), traced.trace.kv)};
  if (traced.model != nullptr) {
    const tokenizer::Tokenizer& tokenizer = traced.model->tokenizer;
    page.title += ", " + traced.model->model.checkpoint().path();
    page.token_text = [&tokenizer](runtime::TokenId id) {
      return std::string(tokenizer.TokenBytes(id, /*render_special=*/true));
    };
    progress_.ShowIfSlow("reading the head after each layer");
    page.lens = BITTERN_TRY(trace::LogitLens(*traced.model, traced.trace, kLensTokens));
  }
  auto file = BITTERN_TRY(OutputFile::Create(options_.html));
  BITTERN_TRY(file.Write(trace::HtmlPage(page)));
  return file.Close();
}

Result<int> TraceRun::Run() {
  BITTERN_TRY(CheckContextOptions(options_.context));
  std::optional<trace::Comparison> comparison;
  for (const std::string& spec : options_.compare) {  // the tokens of a dump come first
    if (IsDump(spec) && tokens_.empty()) tokens_ = BITTERN_TRY(trace::ReadDump(spec)).tokens;
  }
  std::vector<Traced> traced;
  for (const std::string& spec : options_.compare) traced.push_back(BITTERN_TRY(Take(spec)));
  if (traced.empty()) traced.push_back(BITTERN_TRY(Take("")));
  if (traced.size() == 2) {
    comparison = BITTERN_TRY(trace::Compare(traced[0].trace, traced[1].trace));
  }
  BITTERN_TRY(WriteResults(traced.back(), comparison ? &*comparison : nullptr));
  progress_.Clear();
  StandardOutput output;
  if (comparison) {
    output.Write(options_.json ? trace::ComparisonJson(*comparison) : comparison->summary + "\n");
  } else if (options_.dump.empty() && options_.html.empty()) {
    output.Write(trace::TraceText(traced[0].trace));
  }
  BITTERN_TRY(output.Status());
  const bool differs = comparison && comparison->likeness == trace::Likeness::kDifferent;
  return differs ? kExitDiffers : 0;
}

int TraceCommand(const TraceCommandOptions& options) {
  if (options.json && options.compare.empty()) {
    return Report({ErrorCode::kInvalidArgument, "--json: prints what --compare finds; give both"});
  }
  const auto done = TraceRun(options).Run();
  return done ? *done : Report(done.error());
}

}  // namespace

void AddTrace(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("trace", "Show every operation of a forward pass, or compare two passes");
  command->footer(kTraceExample);
  const auto options = std::make_shared<TraceCommandOptions>();
  AddModelOptions(*command, &options->model, /*takes_argument=*/false);
  AddComputeOptions(*command, &options->model);
  AddPromptOptions(*command, &options->prompt);
  command
      ->add_option(
          "--dump", options->dump,
          "Write what was computed into this folder: trace.json, and values/ with --values")
      ->type_name("DIR")
      ->check(PlainFile());
  command->add_flag("--values", options->values, "Also dump all values, as .npy files");
  command
      ->add_option("--compare", options->compare,
                   "Name the first operation that differs: folders, models, isa=NAME or kv=TYPE; a "
                   "prompt is taken from a folder")
      ->type_name("A B")
      ->expected(2);
  command->add_flag("--json", options->json, "With --compare: print one JSON object");
  command->add_option("--html", options->html, "Write a page with a map of layers and operations")
      ->type_name("FILE")
      ->check(PlainFile());
  AddThreadsOption(*command, &options->num_threads);
  AddBatchOptions(*command, &options->context);
  AddForceOption(*command);
  command->callback([options, exit_code] { *exit_code = TraceCommand(*options); });
}

}  // namespace bittern::cli
