// SPDX-License-Identifier: Apache-2.0
// Loading a model and setting a session up as the flags say.
#include "cli/options/model_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "cli/options/default_model.hpp"
#include "cli/options/environment.hpp"
#include "cli/options/help.hpp"
#include "cli/options/hub_options.hpp"
#include "cli/options/tabled_options.hpp"
#include "cli/shared/program_ranks.hpp"
#include "cli/shared/terminal.hpp"
#include "cli/shared/wording.hpp"
#include "kernels/instruction_sets.hpp"
#include "model/matrix_layout.hpp"
#include "request/options/choice_names.hpp"

namespace bittern::cli {
namespace {

/// Facts that some files lack about their weights; both are metadata keys to the library.
void AddLayoutOptions(CLI::App& command, std::vector<std::string>* overrides) {
  AddTabled(command, "i2s_layout", TakesText([overrides](const std::string& name) {
              overrides->push_back("ternary.layout=str:" + name);
            }));
  const request::Option& tiling = TabledOption("tl_tiling");
  command
      .add_option_function<std::vector<std::string>>(
          FlagsOf(tiling),
          [overrides](const std::vector<std::string>& shapes) {
            overrides->push_back(fmt::format("ternary.tl.tiling=str:{}", fmt::join(shapes, ",")));
          },
          std::string(tiling.help))
      ->type_name(std::string(tiling.placeholder))
      ->allow_extra_args(false);
}

}  // namespace

void PrintDecisions(const Decisions& decisions, bool all) {
  for (const Decision& decision : decisions) {
    if (!decision.notable && !all) continue;
    PrintRemark("decision: {} = {} ({})\n", WordOptions(decision.subject), decision.choice,
                WordReason(decision));
  }
}

void AddFileOptions(CLI::App& command, std::vector<std::string>* overrides) {
  AddTabled(command, "override_kv", overrides);
  AddLayoutOptions(command, overrides);
}

void AddModelOptions(CLI::App& command, ModelOptions* options, bool takes_argument) {
  command
      .add_option(takes_argument ? "-m,--model,MODEL" : "-m,--model", options->path,
                  fmt::format("Model: a GGUF file, a Hugging Face folder or a name{}; without it "
                              "$BITTERN_MODEL, else the built-in model",
                              takes_argument ? ", with or without -m" : ""))
      ->type_name("FILE")
      ->check(FileName());
  AddHubModelOptions(command, &options->path);
  command.add_flag("-v,--verbose", options->verbose, "Print every decision and the CPU path used");
  AddFileOptions(command, &options->overrides);
}

void AddComputeOptions(CLI::App& command, ModelOptions* options) {
  AddTabled(command, "kernel", &options->kernel);
  AddTabled(command, "head", request::kHeadModes, &options->head);
  AddTabled(command, "zero_skip", request::kSkipModes, &options->zero_skip);
  AddTabled(command, "batch_kernel", request::kBatchKernels, &options->batch_kernel);
  AddTabled(command, "activations", request::kActivations, &options->activations);
}

void NoticeUnreadOverrides(const std::vector<std::string>& overrides,
                           const formats::Metadata& metadata) {
  for (const std::string& text : overrides) {
    const std::string key = text.substr(0, text.find('='));
    if (metadata.WasRead(key)) continue;
    PrintRemark("notice: nothing reads the key {} with this model; override \"{}\" has no effect\n",
                key, text);
  }
}

/// The error of a file that does not load, with the command that looks into it.
Error WithDoctor(const std::string& path, Error error) {
  const bool of_file =
      error.code == ErrorCode::kCorruptFile || error.code == ErrorCode::kUnsupported;
  if (!of_file) return error;
  error.hint += fmt::format("{}`bittern doctor {}` says why, and what mends it",
                            error.hint.empty() ? "" : "; ", path);
  return error;
}

Result<std::shared_ptr<const runtime::LoadedModel>> LoadModel(const ModelOptions& options,
                                                              int num_threads) {
  const auto layout = BITTERN_TRY(model::ParseMatrixLayout(options.kernel));
  auto checkpoint = BITTERN_TRY(OpenModelFile(options.path));
  const std::string path = checkpoint.path();
  const runtime::LayoutCache layouts = LayoutCacheOfUser();
  ProgressLine progress(std::chrono::milliseconds(250));
  const auto show = [&](double fraction) {
    progress.ShowIfSlow(fmt::format("loading {}: {:.0f} %", path, 100 * fraction));
    return true;
  };
  auto model = runtime::LoadedModel::Load(std::move(checkpoint),
                                          {.overrides = options.overrides,
                                           .num_threads = num_threads,
                                           .weights = {.layout = layout,
                                                       .head = options.head,
                                                       .head_copy = options.head_copy,
                                                       .zero_skip = options.zero_skip,
                                                       .activations = options.activations,
                                                       .batch_kernel = options.batch_kernel,
                                                       .ranks = ProgramRanks(),
                                                       .on_progress = show},
                                           .layout_cache = &layouts});
  progress.Clear();
  if (!model.has_value()) return tl::unexpected(WithDoctor(path, std::move(model).error()));
  PrintDecisions((*model)->decisions, options.verbose);
  return model;
}

Result<std::string> IsaInUse() { return kernels::IsaInUse(); }

/// from_chars, unlike CLI11's own check, refuses "4x", "0x10" and " 4".
CLI::Validator WholeNumber(int least, int most) {
  const auto check = [least, most](const std::string& text) {
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && rest == text.data() + text.size();
    if (whole && number >= least && number <= most) return std::string();
    return fmt::format("a whole number of {} to {} expected, \"{}\" found", least, most, text);
  };
  return {check, ""};
}

CLI::Validator Number(double least, double most) {
  const auto check = [least, most](const std::string& text) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    const bool is_number = !text.empty() && *end == '\0' && std::isfinite(number);
    if (is_number && number >= least && number <= most) return std::string();
    const bool any = least == -kAnyNumber && most == kAnyNumber;
    return any ? fmt::format("a number expected, \"{}\" found", text)
               : fmt::format("a number of {} to {} expected, \"{}\" found", least, most, text);
  };
  return {check, ""};
}

/// Case does not matter; the text becomes the name as the table spells it.
CLI::Validator OneOf(std::vector<std::string> names, std::string why) {
  const auto lower = [](std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
  };
  const std::vector<std::string> spelled = names;
  const auto check = [names = std::move(names), why = std::move(why), lower](std::string& text) {
    const auto same = [&](const std::string& name) { return lower(name) == lower(text); };
    const auto found = std::ranges::find_if(names, same);
    if (found == names.end()) {
      return fmt::format("one of {} expected, \"{}\" found{}", fmt::join(names, ", "), text, why);
    }
    text = *found;
    return std::string();
  };
  return {check, fmt::format("{}{}", kChoices, fmt::join(spelled, " "))};  // ChoicesOf reads it
}

CLI::Validator FileName() {
  const auto check = [](const std::string& path) {
    return path.empty() ? std::string("the name of a file expected, \"\" found") : std::string();
  };
  return {check, ""};
}

CLI::Validator PlainFile() {
  const auto check = [](const std::string& path) {
    const bool is_name = !path.empty() && path != "-";
    return is_name ? std::string() : fmt::format("the name of a file expected, \"{}\" found", path);
  };
  return {check, ""};
}

/// -1 is llama.cpp's word for 0.
void AddThreadsOption(CLI::App& command, int* num_threads) {
  const request::Option& row = TabledOption("threads");
  command
      .add_option_function<int>(
          FlagsOf(row), [num_threads](int n) { *num_threads = std::max(n, 0); },
          std::string(row.help))
      ->type_name(std::string(row.placeholder))
      ->check(WholeNumber(-1, static_cast<int>(row.most)))
      ->default_str(std::string(row.initial));
}

namespace {

/// q8_0 is the name in llama.cpp's users' fingers; here a scale serves a whole head, not 32 values.
model::KvType KvTypeByFlag(std::string_view name) {
  return request::ChoiceByName(request::kKvTypes, name == "q8_0" ? "i8" : name);
}

}  // namespace

model::KvType KvTypeOf(const ContextOptions& options) { return KvTypeByFlag(options.type_k); }

void AddContextOptions(CLI::App& command, ContextOptions* options) {
  AddTabled(command, "context_length", &options->context_length);
  AddBatchOptions(command, options);
}

/// Flags of a pass and of the cache, under llama.cpp's names.
void AddBatchOptions(CLI::App& command, ContextOptions* options) {
  const CLI::Validator kv_types = OneOf({"f16", "f32", "q8_0", "i8"});
  command
      .add_option("-b,--batch-size", options->batch_size,
                  "Logical batch; a prefill chunk is min(-b, -ub) tokens")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->capture_default_str();
  AddTabled(command, "batch_size", &options->ubatch_size);
  command
      .add_option(
          "--cache-type-k", options->type_k,
          "Type of the keys in the KV cache: f16, f32 or q8_0 (or i8: 8 bits, half the memory, "
          "approximate)")
      ->type_name("TYPE")
      ->transform(kv_types)
      ->capture_default_str();
  command
      .add_option("--cache-type-v", options->type_v,
                  "Type of the values in the KV cache, the same as -ctk")
      ->type_name("TYPE")
      ->transform(kv_types)
      ->capture_default_str();
}

Result<void> CheckContextOptions(const ContextOptions& options) {
  if (KvTypeByFlag(options.type_k) == KvTypeByFlag(options.type_v)) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("-ctk {} and -ctv {}: keys and values must have the same type",
                          options.type_k, options.type_v));
}

/// A context above the model's limit is cut, with a notice.
Result<runtime::SessionOptions> ToSessionOptions(const ContextOptions& options, int num_threads,
                                                 const runtime::LoadedModel& model) {
  BITTERN_TRY(CheckContextOptions(options));
  const int limit = model.model.config().context_length;
  if (options.context_length > limit) {
    PrintRemark("notice: -c {} is above the model's limit; using {}\n", options.context_length,
                limit);
  }
  return runtime::SessionOptions{.context_length = std::min(options.context_length, limit),
                                 .kv_type = KvTypeOf(options),
                                 .batch_size = std::min(options.batch_size, options.ubatch_size),
                                 .num_threads = num_threads,
                                 .kept_states = 0};
}

}  // namespace bittern::cli
