// SPDX-License-Identifier: Apache-2.0
// `bittern logits`: raw logits to a file, to compare engines, machines and versions bit by bit.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <span>

#include "cli/options/model_options.hpp"
#include "cli/options/outputs.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/terminal.hpp"
#include "report/savings.hpp"
#include "runtime/sampling/sampler_steps.hpp"
#include "runtime/tracers/hidden_states.hpp"
#include "runtime/tracers/zero_counter.hpp"

namespace bittern::cli {
namespace {

struct LogitsOptions {
  ModelOptions model;
  ContextOptions context;
  PromptOptions prompt;
  int num_threads = 0;
  bool all = false;
  std::string output;
  std::string hidden;
  std::string zeros;
};

Result<void> WriteHidden(const runtime::HiddenStates& hidden, const std::string& path) {
  auto file = BITTERN_TRY(OutputFile::Create(path));
  BITTERN_TRY(file.Write(hidden.values()));
  return file.Close();
}

/// Every row as soon as it is there. In small steps, so that a full disk ends the work early.
Result<void> WriteAll(std::span<const runtime::TokenId> ids, runtime::Session* session,
                      OutputFile* file) {
  constexpr std::size_t kStep = 64;
  BITTERN_TRY(session->CheckFits(ids));
  const auto all = static_cast<double>(ids.size());
  ProgressLine progress;
  while (!ids.empty()) {
    Result<void> written;
    const auto on_logits = [&](int, std::span<const float> row) {
      if (written.has_value()) written = file->Write(row);
    };
    const auto step = ids.first(std::min(ids.size(), kStep));
    ids = ids.subspan(step.size());
    BITTERN_TRY(session->PrefillAll(step, on_logits));
    BITTERN_TRY(written);
    progress.ShowIfSlow(fmt::format("logits: {:.0f} %", 100 - 100 * double(ids.size()) / all));
  }
  return {};
}

/// The tokens of the prompt, and a session that has read none of them yet.
struct Prepared {
  std::vector<runtime::TokenId> ids;
  runtime::Session session;
};

/// Reads the prompt before the model, as a wrong one should cost no time.
Result<Prepared> Prepare(const LogitsOptions& options) {
  BITTERN_TRY(CheckContextOptions(options.context));
  const Prompt prompt = BITTERN_TRY(ReadPrompt(options.prompt));
  const auto model = BITTERN_TRY(LoadModel(options.model, options.num_threads));
  NoticeUnreadOverrides(options.model.overrides, model->model.checkpoint().metadata());
  auto ids = BITTERN_TRY(EncodePrompt(prompt, model->tokenizer));
  const auto session_options =
      BITTERN_TRY(ToSessionOptions(options.context, options.num_threads, *model));
  auto session = BITTERN_TRY(runtime::Session::Create(model, session_options));
  return Prepared{std::move(ids), std::move(session)};
}

/// "-" is standard output.
Result<void> WriteZeros(const runtime::ZeroCounter& zeros, const std::string& path) {
  const std::string text = report::ZerosJson(zeros).Dump(2) + "\n";
  auto file = BITTERN_TRY(OutputFile::Create(path));
  BITTERN_TRY(file.Write(std::string_view(text)));
  return file.Close();
}

/// Runs the prompt and writes the logits as raw float32: of the last position, or of all.
Result<void> Write(const LogitsOptions& options, Prepared* prepared) {
  auto file = BITTERN_TRY(OutputFile::Create(options.output));
  runtime::ZeroCounter zeros(prepared->session.model().model.config());
  if (!options.zeros.empty()) prepared->session.SetTracer(&zeros);
  runtime::HiddenStates hidden(prepared->session.model().model.config());
  if (!options.hidden.empty()) {
    hidden.Reserve(prepared->ids.size());
    prepared->session.SetTracer(&hidden);
  }
  if (options.all) {
    BITTERN_TRY(WriteAll(prepared->ids, &prepared->session, &file));
  } else {
    BITTERN_TRY(prepared->session.Prefill(prepared->ids));
    BITTERN_TRY(file.Write(prepared->session.logits()));
  }
  prepared->session.SetTracer(nullptr);
  if (!options.zeros.empty()) BITTERN_TRY(WriteZeros(zeros, options.zeros));
  if (!options.hidden.empty()) BITTERN_TRY(WriteHidden(hidden, options.hidden));
  return file.Close();
}

/// Says on standard error what was written, and the likeliest token.
int LogitsCommand(const LogitsOptions& options) {
  Result<Prepared> prepared = Prepare(options);
  if (!prepared.has_value()) return Report(prepared.error());
  const Result<void> written = Write(options, &*prepared);
  if (!written.has_value()) {
    // From here on kIo is about the output, not about the model file.
    const bool output = written.error().code == ErrorCode::kIo;
    return output ? Report(written.error(), kExitRuntime) : Report(written.error());
  }
  const auto logits = prepared->session.logits();
  const runtime::TokenId best = runtime::Argmax(logits);
  PrintError("logits: {} x {} float32; last position: argmax {} ({:.6g})\n",
             options.all ? prepared->ids.size() : 1, logits.size(), best,
             logits[static_cast<std::size_t>(best)]);
  return 0;
}

}  // namespace

void AddLogits(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("logits", "Write the logits of a prompt to a file");
  const auto options = std::make_shared<LogitsOptions>();
  AddModelOptions(*command, &options->model, /*takes_argument=*/true);
  AddComputeOptions(*command, &options->model);
  AddPromptOptions(*command, &options->prompt);
  AddThreadsOption(*command, &options->num_threads);
  AddContextOptions(*command, &options->context);
  command->add_flag("--all", options->all, "One row per position instead of the last one only");
  command
      ->add_option("--zeros", options->zeros,
                   "Also write how many gates were not above zero and how many inputs of down_proj "
                   "were zero, layer by layer, as JSON; - is standard output")
      ->type_name("FILE");
  command
      ->add_option("-o,--output", options->output,
                   "File for the rows of float32, little-endian; - is standard output")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--hidden", options->hidden,
                   "Also write the residual stream: per position float32[hidden_size] of the "
                   "embedding, then after each layer")
      ->type_name("FILE")
      ->excludes("--zeros");
  command->footer(
      "Examples:\n  bittern logits model.gguf -p \"In the beginning\" -o last.f32\n  bittern "
      "logits "
      "--prompt-ids 1,2,3 --all -o all.f32\n\nRows of vocab_size float32, little-endian. Two runs "
      "agree bit for bit on every CPU.");
  AddForceOption(*command);
  command->callback([options, exit_code] { *exit_code = LogitsCommand(*options); });
}

}  // namespace bittern::cli
