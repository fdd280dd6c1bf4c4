// SPDX-License-Identifier: Apache-2.0
// `bittern embed`: a vector for each text, made of the hidden states of its tokens. The same
// vectors as `bittern_embed` of the C interface and the server's.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/npy.hpp"
#include "base/json/json.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/tabled_options.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/interrupt.hpp"
#include "cli/shared/output.hpp"
#include "request/options/choice_names.hpp"
#include "runtime/pooled_hidden.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kEmbedExamples = R"(Examples:
  bittern embed -p "a small bird" --json
  bittern embed bitnet-embedding-0.6b --json < lines.txt > vectors.jsonl
  bittern embed model.gguf --format npy < lines.txt > vectors.npy

A line of standard input is a text, or with --jsonl a JSON text or an object with "text". A
vector has the length 1. Models that were trained to write, not to compare texts, give vectors
that are worth less than those of a model for embeddings.)";

enum class VectorFormat { kText, kJson, kNpy, kRaw };
constexpr request::ChoiceName<VectorFormat> kFormats[] = {{"text", VectorFormat::kText},
                                                          {"json", VectorFormat::kJson},
                                                          {"npy", VectorFormat::kNpy},
                                                          {"raw", VectorFormat::kRaw}};

struct EmbedOptions {
  ModelOptions model;
  ContextOptions context;
  std::string text, pooling = "auto", format = "text";
  CLI::Option* text_given = nullptr;
  int num_threads = 0;
  bool json = false, jsonl = false, not_normalized = false, truncate = false;
};

/// Makes vectors, one text at a time.
class Embedder {
 public:
  Embedder(const EmbedOptions& options, runtime::Session* session, runtime::Pooling pooling)
      : options_(options), session_(session), pooling_(pooling) {}

  Result<std::vector<float>> Embed(std::string_view text) {
    const runtime::LoadedModel& model = session_->model();
    const auto ids = BITTERN_TRY(runtime::EncodeForVector(
        text, model.tokenizer, session_->context_length(), options_.truncate));
    runtime::PooledHidden pooled(pooling_, model.model.config().hidden_size);
    session_->Truncate(0);
    BITTERN_TRY(session_->PrefillHidden(
        ids, [&](int, std::span<const float> hidden) { pooled.Add(hidden); }, &CatchInterrupt()));
    return pooled.Finish(!options_.not_normalized);
  }

 private:
  const EmbedOptions& options_;
  runtime::Session* session_;
  runtime::Pooling pooling_;
};

/// Gives vectors out: as soon as they are there, but for .npy, whose head tells how many there are.
class VectorOutput {
 public:
  explicit VectorOutput(VectorFormat format) : format_(format) {}

  /// False where nobody reads any more.
  bool Add(const std::vector<float>& vector) {
    switch (format_) {
      case VectorFormat::kText:
        return output_.Write(fmt::format("{}\n", fmt::join(vector, " ")));
      case VectorFormat::kJson:
        return output_.Write(Json({{"embedding", Json(vector)}}).Dump() + "\n");
      case VectorFormat::kRaw:
        return output_.Write(BytesOf(vector));
      case VectorFormat::kNpy:
        break;
    }
    ++count_;
    size_ = vector.size();
    all_.insert(all_.end(), vector.begin(), vector.end());
    return true;
  }

  Result<void> Finish() {
    if (format_ == VectorFormat::kNpy) {
      output_.Write(NpyHeader(count_, size_));
      output_.Write(BytesOf(all_));
    }
    return output_.Status();
  }

 private:
  /// Little-endian binary32, as on every machine that Bittern runs on.
  static std::string_view BytesOf(const std::vector<float>& floats) {
    return {reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float)};
  }

  VectorFormat format_;
  StandardOutput output_;
  std::size_t count_ = 0, size_ = 0;
  std::vector<float> all_ = {};
};

/// The text of a line of JSON: a string, or an object's "text".
Result<std::string> TextOfJson(const std::string& line) {
  const Json json = BITTERN_TRY(Json::Parse(line, {}));
  const Json* text = json.AsObject() != nullptr ? json.Find("text") : &json;
  if (text != nullptr && text->AsString() != nullptr) return *text->AsString();
  return Fail(
      ErrorCode::kInvalidArgument,
      "expected a JSON text or an object with \"text\": without --jsonl every line is taken "
      "as it is");
}

/// Makes one vector after the other of the lines of standard input. An error names its line.
Result<void> EmbedLines(const EmbedOptions& options, Embedder* embedder, VectorOutput* output) {
  std::string line;
  for (std::size_t number = 1; BITTERN_TRY(ReadLineOfInput(&line)); ++number) {
    const auto vector = [&]() -> Result<std::vector<float>> {
      if (!options.jsonl) return embedder->Embed(line);
      return embedder->Embed(BITTERN_TRY(TextOfJson(line)));
    }();
    if (!vector) {
      return tl::unexpected(Within(fmt::format("standard input, line {}", number), vector.error()));
    }
    if (!output->Add(*vector)) break;
  }
  return {};
}

/// The text of -p, else every line of standard input.
Result<void> RunEmbed(EmbedOptions options) {
  BITTERN_TRY(CheckContextOptions(options.context));
  if (options.json) options.format = "json";
  options.model.head = model::HeadMode::kExact;  // no logits are computed: a screen would be unused
  const auto model = BITTERN_TRY(LoadModel(options.model, options.num_threads));
  NoticeUnreadOverrides(options.model.overrides, model->model.checkpoint().metadata());
  const auto session_options =
      BITTERN_TRY(ToSessionOptions(options.context, options.num_threads, *model));
  auto session = BITTERN_TRY(runtime::Session::Create(model, session_options));
  const auto pooling = BITTERN_TRY(runtime::DefaultPooling(model->model.checkpoint().metadata(),
                                                           model->model.config().architecture));
  const auto wanted = request::ChoiceByName(request::kPoolings, options.pooling);
  Embedder embedder(options, &session, wanted.value_or(pooling));
  VectorOutput output(request::ChoiceByName(kFormats, options.format));
  if (options.text_given->count() > 0) {
    const auto vector = BITTERN_TRY(embedder.Embed(options.text));
    static_cast<void>(output.Add(vector));
  } else {
    BITTERN_TRY(EmbedLines(options, &embedder, &output));
  }
  return output.Finish();
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
  AddTabled(*command, "pooling", &options->pooling);
  command
      ->add_option("--format", options->format,
                   "How vectors are written: numbers in a line, json, npy (one NumPy array) or raw "
                   "(float32 one after the other)")
      ->type_name("NAME")
      ->transform(OneOf(request::NamesOf(kFormats)))
      ->capture_default_str();
  command->add_flag("--jsonl", options->jsonl,
                    "Lines of input are JSON: a text, or an object with \"text\"");
  command->add_flag("--truncate", options->truncate,
                    "Cut texts that are longer than the context; without it they are an error");
  command->add_flag("--no-normalize", options->not_normalized,
                    "Leave vectors as long as they are instead of 1");
  command->add_flag("--json", options->json,
                    "Same as --format json: {\"embedding\": [...]} for each text");
  AddThreadsOption(*command, &options->num_threads);
  AddContextOptions(*command, &options->context);
  command->footer(kEmbedExamples);
  command->callback([options, exit_code] {
    const auto done = RunEmbed(*options);
    *exit_code = done ? 0 : Report(done.error());
  });
}

}  // namespace bittern::cli
