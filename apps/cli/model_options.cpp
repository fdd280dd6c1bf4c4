// SPDX-License-Identifier: Apache-2.0
// Loading a model and setting a session up as the flags say.
#include "cli/model_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>

#include "cli/default_model.hpp"
#include "cli/terminal.hpp"
#include "kernels/registry.hpp"

namespace bittern::cli {
namespace {

/// Ways of computing that differ in speed and memory only.
void AddWayOptions(CLI::App& command, ModelOptions* options) {
  command
      .add_option_function<std::string>(
          "--head",
          [options](const std::string& name) {
            options->head = name == "exact"      ? model::HeadMode::kExact
                            : name == "screened" ? model::HeadMode::kScreened
                                                 : model::HeadMode::kAuto;
          },
          "How the output head is computed: screened (a coarse copy rules out most rows, "
          "the others are computed as ever), exact (all rows); same tokens, other speed and memory")
      ->type_name("NAME")
      ->check(CLI::IsMember({"auto", "exact", "screened"}))
      ->default_str("auto");
  command
      .add_option_function<std::string>(
          "--zero-skip",
          [options](const std::string& name) {
            options->zero_skip = name == "on"    ? model::SkipMode::kOn
                                 : name == "off" ? model::SkipMode::kOff
                                                 : model::SkipMode::kAuto;
          },
          "Whether weights that meet a zero are left unread in networks with squared ReLU; same "
          "bits, other speed")
      ->type_name("NAME")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->default_str("auto");
}

/// What some files do not say about their weights; both are metadata keys to the library.
void AddLayoutOptions(CLI::App& command, std::vector<std::string>* overrides) {
  command
      .add_option_function<std::string>(
          "--i2s-layout",
          [overrides](const std::string& name) {
            overrides->push_back("ternary.layout=str:" + name);
          },
          "How an I2_S file orders its weights: x86-128 (the official file; default), arm-64 "
          "(quantised by bitnet.cpp on ARM), row4, sequential")
      ->type_name("NAME")
      ->check(CLI::IsMember({"x86-128", "arm-64", "row4", "sequential"}));
  command
      .add_option_function<std::vector<std::string>>(
          "--tl-tiling",
          [overrides](const std::vector<std::string>& shapes) {
            overrides->push_back(fmt::format("ternary.tl.tiling=str:{}", fmt::join(shapes, ",")));
          },
          "Tiling of a TL1 or TL2 file's matrices of one shape, from its converter's "
          "kernel_config.ini; may be repeated")
      ->type_name("ROWS,COLS,BM,BK,bm")
      ->allow_extra_args(false);
}

}  // namespace

void PrintDecisions(const Decisions& decisions, bool all) {
  for (const Decision& decision : decisions) {
    if (!decision.notable && !all) continue;
    PrintError("decision: {} = {} ({})\n", decision.subject, decision.choice, decision.reason);
  }
}

void AddFileOptions(CLI::App& command, std::vector<std::string>* overrides) {
  command
      .add_option("--override-kv", *overrides,
                  "Replace a metadata value of the file; may be repeated")
      ->type_name("KEY=TYPE:VALUE")
      ->allow_extra_args(false);
  AddLayoutOptions(command, overrides);
}

void AddModelOptions(CLI::App& command, ModelOptions* options) {
  command
      .add_option(
          "-m,--model", options->path,
          "Model: a GGUF file or a Hugging Face folder; default: $BITTERN_MODEL, else the model "
          "that ships")
      ->type_name("FILE");
  AddFileOptions(command, &options->overrides);
  command
      .add_option(
          "--kernel", options->kernel,
          "How ternary matrices are multiplied: tile16 (multiply-adds), tile48 (the same "
          "from 1.67 bits a weight), tl1 or tl2 (lookup tables); same bits, other speed and memory")
      ->type_name("NAME")
      ->check(CLI::IsMember({"auto", "tile16", "tile48", "tl1", "tl2"}))
      ->capture_default_str();
  AddWayOptions(command, options);
  command.add_flag("-v,--verbose", options->verbose, "Print every decision and the CPU path used");
  command
      .add_option("--n-gpu-layers,--gpu-layers", options->gpu_layers,
                  "-ngl: accepted for compatibility, ignored (this build runs on the CPU)")
      ->type_name("N");
}

Result<std::shared_ptr<const runtime::LoadedModel>> LoadModel(const ModelOptions& options,
                                                              int num_threads) {
  const auto layout = BITTERN_TRY(model::ParseMatrixLayout(options.kernel));
  auto checkpoint = BITTERN_TRY(OpenModelFile(options.path));
  const std::string path = checkpoint.path();
  ProgressLine progress;
  const auto show = [&](double fraction) {
    progress.ShowIfSlow(fmt::format("loading {}: {:.0f} %", path, 100 * fraction));
  };
  auto model =
      runtime::LoadedModel::Load(std::move(checkpoint), {.overrides = options.overrides,
                                                         .num_threads = num_threads,
                                                         .weights = {.layout = layout,
                                                                     .head = options.head,
                                                                     .zero_skip = options.zero_skip,
                                                                     .on_progress = show}});
  progress.Clear();
  if (model.has_value()) PrintDecisions((*model)->decisions, options.verbose);
  return model;
}

Result<std::string> IsaInUse() {
  const auto kernels = BITTERN_TRY(kernels::SelectKernelsFromEnvironment());
  return std::string(kernels::IsaName(kernels.tile16_info->isa));
}

CLI::Validator WholeNumber(int least) {
  const auto check = [least](const std::string& text) {
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && rest == text.data() + text.size();
    if (whole && number >= least && number <= std::numeric_limits<int>::max()) return std::string();
    return fmt::format("a whole number of {} to {} expected, \"{}\" found", least,
                       std::numeric_limits<int>::max(), text);
  };
  return {check, ""};
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

void AddThreadsOption(CLI::App& command, int* num_threads) {
  command
      .add_option_function<int>(
          "-t,--threads", [num_threads](int n) { *num_threads = std::max(n, 0); },
          "Threads (default: one per physical core this process may use)")
      ->type_name("N");
}

namespace {

/// q8_0 is the name in llama.cpp's users' fingers; here a scale serves a whole head, not 32 values.
model::KvType KvTypeOf(std::string_view name) {
  if (name == "f32") return model::KvType::kF32;
  return name == "f16" ? model::KvType::kF16 : model::KvType::kI8;
}

bool SameKvType(const ContextOptions& options) {
  return KvTypeOf(options.type_k) == KvTypeOf(options.type_v);
}

}  // namespace

void AddContextOptions(CLI::App& command, ContextOptions* options) {
  command
      .add_option("-c,--ctx-size", options->context_length,
                  "Tokens the context holds; 0: as many as the model allows")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str();
  AddBatchOptions(command, options);
}

void AddBatchOptions(CLI::App& command, ContextOptions* options) {
  const CLI::IsMember kv_types({"f16", "f32", "q8_0", "i8"});
  command
      .add_option("-b,--batch-size", options->batch_size,
                  "Logical batch; a prefill chunk is min(-b, -ub) tokens")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->capture_default_str();
  command.add_option("--ubatch-size", options->ubatch_size, "-ub: tokens per prefill chunk")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->capture_default_str();
  command
      .add_option(
          "--cache-type-k", options->type_k,
          "-ctk: type of keys in the KV cache; q8_0 (or i8): 8-bit, half the memory, approximate")
      ->check(kv_types)
      ->capture_default_str();
  command
      .add_option("--cache-type-v", options->type_v,
                  "-ctv: type of values in the KV cache, the same as -ctk")
      ->check(kv_types)
      ->capture_default_str();
}

Result<runtime::SessionOptions> ToSessionOptions(const ContextOptions& options, int num_threads,
                                                 const runtime::LoadedModel& model) {
  if (!SameKvType(options)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("-ctk {} and -ctv {}: keys and values must have the same type",
                            options.type_k, options.type_v));
  }
  const int limit = model.model.config().context_length;
  if (options.context_length > limit) {
    PrintError("notice: -c {} is above the model's limit; using {}\n", options.context_length,
               limit);
  }
  return runtime::SessionOptions{.context_length = std::min(options.context_length, limit),
                                 .kv_type = KvTypeOf(options.type_k),
                                 .batch_size = std::min(options.batch_size, options.ubatch_size),
                                 .num_threads = num_threads};
}

}  // namespace bittern::cli
