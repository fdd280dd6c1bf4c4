// SPDX-License-Identifier: Apache-2.0
// `bittern embed`: a vector for each text, made of the hidden states of its tokens. The same
// vectors as `bittern_embed` of the C interface.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json/json.hpp"
#include "cli/options/model_options.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/interrupt.hpp"
#include "cli/shared/output.hpp"
#include "request/choice_names.hpp"
#include "runtime/tracers/pooled_hidden.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kEmbedExamples = R"(Examples:
  bittern embed -p "a small bird" --json
  bittern embed model.gguf --pooling mean --json < lines.txt > vectors.jsonl

A line of standard input is a text; a line of output is its vector. The models that Bittern
runs were trained to write, not to compare texts, so expect less of their vectors than of
those of a model for embeddings.)";

constexpr request::ChoiceName<runtime::Pooling> kPoolings[] = {
    {"last", runtime::Pooling::kLast},
    {"first", runtime::Pooling::kFirst},
    {"mean", runtime::Pooling::kMean},
};

struct EmbedOptions {
  ModelOptions model;
  ContextOptions context;
  std::string text, pooling = "last";
  CLI::Option* text_given = nullptr;
  int num_threads = 0;
  bool json = false, not_normalized = false;
};

/// Reads one text and pools its hidden states.
Result<std::vector<float>> Embed(const EmbedOptions& options, const std::string& text,
                                 runtime::Session* session) {
  const runtime::LoadedModel& model = session->model();
  const auto ids = BITTERN_TRY(EncodePrompt({.text = text}, model.tokenizer));
  runtime::PooledHidden pooled(request::ChoiceByName(kPoolings, options.pooling),
                               model.model.config().hidden_size);
  session->Truncate(0);
  session->SetTracer(&pooled);
  const Result<void> read = session->PrefillRows(ids, {.ids = {0}}, &CatchInterrupt());
  session->SetTracer(nullptr);
  BITTERN_TRY(read);
  return pooled.Finish(!options.not_normalized);
}

/// Prints the vector as soon as it is there; false where nobody reads it any more.
bool Print(const EmbedOptions& options, const std::vector<float>& vector, StandardOutput* output) {
  if (!options.json) return output->Write(fmt::format("{}\n", fmt::join(vector, " ")));
  return output->Write(Json({{"embedding", Json(vector)}}).Dump() + "\n");
}

/// The text of -p, else every line of standard input. An error names its line.
Result<void> RunEmbed(const EmbedOptions& options) {
  BITTERN_TRY(CheckContextOptions(options.context));
  const auto model = BITTERN_TRY(LoadModel(options.model, options.num_threads));
  NoticeUnreadOverrides(options.model.overrides, model->model.checkpoint().metadata());
  const auto session_options =
      BITTERN_TRY(ToSessionOptions(options.context, options.num_threads, *model));
  auto session = BITTERN_TRY(runtime::Session::Create(model, session_options));
  StandardOutput output;
  if (options.text_given->count() > 0) {
    const auto vector = BITTERN_TRY(Embed(options, options.text, &session));
    Print(options, vector, &output);
    return output.Status();
  }
  std::string line;
  for (std::size_t number = 1; BITTERN_TRY(ReadLineOfInput(&line)); ++number) {
    const auto vector = Embed(options, line, &session);
    if (!vector) {
      return tl::unexpected(Within(fmt::format("standard input, line {}", number), vector.error()));
    }
    if (!Print(options, *vector, &output)) break;
  }
  return output.Status();
}

}  // namespace

void AddEmbed(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("embed", "Print a vector for each line of text");
  const auto options = std::make_shared<EmbedOptions>();
  AddModelOptions(*command, &options->model, /*takes_argument=*/true);
  AddComputeOptions(*command, &options->model);
  options->text_given =
      command->add_option("-p,--prompt", options->text, "One text instead of standard input")
          ->type_name("TEXT");
  command
      ->add_option("--pooling", options->pooling,
                   "The positions of a text that count: the last one, the first one, or the mean "
                   "of all")
      ->type_name("NAME")
      ->transform(OneOf(request::NamesOf(kPoolings)))
      ->capture_default_str();
  command->add_flag("--no-normalize", options->not_normalized,
                    "Leave vectors as long as they are instead of 1");
  command->add_flag("--json", options->json, "Print {\"embedding\": [...]} for each text");
  AddThreadsOption(*command, &options->num_threads);
  AddContextOptions(*command, &options->context);
  command->footer(kEmbedExamples);
  command->callback([options, exit_code] {
    const auto done = RunEmbed(*options);
    *exit_code = done ? 0 : Report(done.error());
  });
}

}  // namespace bittern::cli
