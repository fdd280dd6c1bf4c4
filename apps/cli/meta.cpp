// SPDX-License-Identifier: Apache-2.0
// `bittern meta`: lists, shows, sets and removes metadata of a GGUF file; tensors stay as they are.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/files/mapped_file.hpp"
#include "base/json/json.hpp"
#include "base/text/display.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/outputs.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/interrupt.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/terminal.hpp"
#include "formats/convert/meta_edit.hpp"
#include "report/inspect/meta_text.hpp"
#include "report/inspect/values.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kMetaExamples = R"(Examples:
  bittern meta ls model.gguf
  bittern meta get model.gguf general.architecture
  bittern meta set model.gguf tokenizer.ggml.pre str:llama-bpe -i
  bittern meta set model.gguf tokenizer.ggml.eos_token_id int:128009 -o mended.gguf
  bittern meta rm model.gguf tokenizer.chat_template -i

TYPE is u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bool or str; `int` and `float` keep the type of a
number that is there; TYPE[] takes a JSON array, as in 'str[]:["a", "b"]'. Any GGUF file will do,
also with tensor types that this build does not run. The changed file is written beside its place
and renamed once the hash of its tensor data, read back from the disk, is what it was.)";

struct MetaOptions {
  std::string file, key, value, output;
  bool in_place = false, json = false;
};

std::string MetaJsonLine(const Json& json) { return json.Dump() + "\n"; }

int Print(const std::string& text) {
  StandardOutput output;
  output.Write(text);
  const auto status = output.Status();
  return status ? 0 : Report(status.error(), kExitRuntime);
}

using formats::GgufOutline;

Result<std::string> List(const MetaOptions& options, const GgufOutline& outline) {
  return options.json ? MetaJsonLine(report::MetaJson(outline)) : report::MetaText(outline);
}

Result<std::string> Get(const MetaOptions& options, const GgufOutline& outline) {
  const auto* entry = outline.Find(options.key);
  if (entry == nullptr) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("{}: there is no key {}", options.file, Quoted(options.key)));
  }
  if (options.json) return MetaJsonLine(report::MetaEntryJson(*entry));
  // Text goes out as it is, so that a template can be saved; a terminal gets it made harmless.
  if (const auto* text = std::get_if<std::string_view>(&entry->value.value)) {
    return (IsTerminal(stdout) ? Printable(*text, text->size()) : std::string(*text)) + "\n";
  }
  return report::ValueText(entry->value) + "\n";
}

/// The result of `read` on the file, unless that changed meanwhile.
int PrintText(const MetaOptions& options,
              Result<std::string> (*read)(const MetaOptions&, const GgufOutline&)) {
  const auto file = MappedFile::Open(options.file);
  if (!file) return Report(file.error());
  const auto text =
      formats::ReadGgufOutline(file->bytes())
          .map_error([&](Error error) { return Within(options.file, std::move(error)); })
          .and_then([&](const GgufOutline& outline) { return read(options, outline); });
  if (const auto unchanged = file->CheckUnchanged(); !unchanged) return Report(unchanged.error());
  return text ? Print(*text) : Report(text.error());
}

/// The path of the changed file: -o, or the file itself with -i.
Result<std::string> OutputOf(const MetaOptions& options) {
  if (options.in_place == options.output.empty()) {
    if (options.in_place) return options.file;
    return options.output;
  }
  return Fail(ErrorCode::kInvalidArgument,
              "either -i, to change the file itself, or -o FILE is needed");
}

Result<std::string> Edit(const MetaOptions& options, bool remove, const std::string& output) {
  const formats::MetaEdit edit{options.key, remove, options.value};
  ProgressLine progress;
  const std::atomic<bool>& interrupted = CatchInterrupt();
  const auto edited = BITTERN_TRY(
      formats::EditGgufMetadata(options.file, output, std::span(&edit, 1), [&](double done) {
        progress.Show(fmt::format("{:3.0f} % {}", 100 * done, output));
        return !interrupted.load();
      }));
  progress.Clear();
  return options.json ? MetaJsonLine(report::MetaEditJson(output, edited))
                      : report::MetaEditText(output, edit, edited);
}

int EditCommand(const MetaOptions& options, bool remove) {
  const auto output = OutputOf(options);
  if (!output) return Report(output.error());
  const auto text = Edit(options, remove, *output);
  return text ? Print(*text) : ReportOutput(text.error(), *output);
}

CLI::App* AddAction(CLI::App& meta, const char* name, const char* help, MetaOptions* options) {
  CLI::App* action = meta.add_subcommand(name, help);
  action->add_option("FILE", options->file, "GGUF file")
      ->type_name("")
      ->check(FileName())
      ->required();
  action->add_flag("--json", options->json, "Print one JSON object");
  return action;
}

void AddKey(CLI::App* action, MetaOptions* options) {
  action->add_option("KEY", options->key, "Metadata key")->type_name("")->required();
}

void AddOutput(CLI::App* action, MetaOptions* options) {
  action->add_option("-o,--output", options->output, "File to write")
      ->type_name("FILE")
      ->check(PlainFile());
  action->add_flag("-i,--in-place", options->in_place, "Replace the file itself");
  AddForceOption(*action, "-f,--force");
}

}  // namespace

void AddMeta(CLI::App& app, int* exit_code) {
  CLI::App* meta = app.add_subcommand("meta", "List or change the metadata of a GGUF file");
  meta->require_subcommand(1);
  meta->footer(kMetaExamples);
  const auto options = std::make_shared<MetaOptions>();
  AddAction(*meta, "ls", "List all keys", options.get())->callback([options, exit_code] {
    *exit_code = PrintText(*options, List);
  });
  CLI::App* get = AddAction(*meta, "get", "Show the value of a key", options.get());
  AddKey(get, options.get());
  get->callback([options, exit_code] { *exit_code = PrintText(*options, Get); });
  CLI::App* set = AddAction(*meta, "set", "Set or add a key", options.get());
  AddKey(set, options.get());
  set->add_option("VALUE", options->value, "New value, as TYPE:VALUE")->type_name("")->required();
  AddOutput(set, options.get());
  set->callback([options, exit_code] { *exit_code = EditCommand(*options, false); });
  CLI::App* remove = AddAction(*meta, "rm", "Remove a key", options.get());
  AddKey(remove, options.get());
  AddOutput(remove, options.get());
  remove->callback([options, exit_code] { *exit_code = EditCommand(*options, true); });
}

}  // namespace bittern::cli
