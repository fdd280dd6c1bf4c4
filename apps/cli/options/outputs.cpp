// SPDX-License-Identifier: Apache-2.0
// Paths are compared as files, so that two names of one file count as one. The first bytes of a
// file say whether it is an earlier output of the same kind.
#include "cli/options/outputs.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/os/environment.hpp"
#include "base/text/display.hpp"
#include "cli/shared/terminal.hpp"
#include "formats/open/source_files.hpp"
#include "report/earlier_output.hpp"

namespace bittern::cli {
namespace {

namespace fs = std::filesystem;
using report::Holds;
using report::IsEarlierOutput;
using report::IsSameFile;
using report::MayReplace;

/// A flag or argument that names an output, and what such a file holds.
struct OutputFlag {
  std::string_view command, flag;
  Holds holds;
};
// tests/outputs_test.py walks all of these, and fails where a flag that writes is missing here.
constexpr OutputFlag kOutputFlags[] = {
    {"batch", "--output", Holds::kLines},      {"bench", "--html", Holds::kPage},
    {"certify", "--out", Holds::kCertificate}, {"chat", "--save", Holds::kConversation},
    {"convert", "OUT", Holds::kModel},         {"doctor", "--fix", Holds::kModel},
    {"doctor", "--html", Holds::kPage},        {"eval", "--kl-divergence-base", Holds::kNumbers},
    {"eval", "--output", Holds::kLines},       {"logits", "--hidden", Holds::kNumbers},
    {"logits", "--output", Holds::kNumbers},   {"logits", "--zeros", Holds::kNumbers},
    {"man", "--dir", Holds::kManual},          {"report", "--output", Holds::kReport},
    {"rm", "--output", Holds::kModel},   // meta rm
    {"set", "--output", Holds::kModel},  // meta set
    {"trace", "--dump", Holds::kTrace},        {"trace", "--html", Holds::kPage},
};

struct Output {
  const OutputFlag* flag;
  std::string typed;  // the flag as the user wrote it
  std::string path;
};

/// The output files of the command that runs. A process runs one command.
std::vector<Output>& RunningOutputs() {
  static std::vector<Output> outputs;
  return outputs;
}

/// The row for a flag of the running command; null if the flag writes nothing.
const OutputFlag* FindOutputFlag(const Arguments& arguments, std::string_view flag) {
  const std::string& command = arguments.command->get_name();
  // With --kl-divergence the saved logits are read.
  if (flag == "--kl-divergence-base" && arguments.typed.contains("--kl-divergence")) return nullptr;
  const auto* const found = std::ranges::find_if(kOutputFlags, [&](const OutputFlag& known) {
    return known.command == command && known.flag == flag;
  });
  return found == std::end(kOutputFlags) ? nullptr : found;
}

tl::unexpected<Error> Refuse(std::string message) {
  return Fail(ErrorCode::kInvalidArgument, std::move(message));
}

/// A file or folder that holds something: to write it twice, or to read and write it, loses that.
bool CanLose(const std::string& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  return path != "-" && (type == fs::file_type::not_found || type == fs::file_type::regular ||
                         type == fs::file_type::directory);
}

/// chat reads and writes one file where a conversation goes on.
bool GoesOn(const Output& output, const Arguments::Value& value) {
  return output.flag->holds == Holds::kConversation && value.flag == "--resume";
}

std::string OtherName(const Arguments& arguments) {
  const bool edits = arguments.command->get_option_no_throw("--in-place") != nullptr;
  return edits ? "-i changes a file in place" : "choose another name";
}

/// Compares one output with every other file that the command line or $BITTERN_MODEL names.
Result<void> CheckAgainstOthers(const Output& output, const Arguments& arguments) {
  for (const Arguments::Value& value : arguments.values) {
    if (value.flag == output.flag->flag || GoesOn(output, value) || !CanLose(output.path)) continue;
    const bool writes = FindOutputFlag(arguments, value.flag) != nullptr;
    std::error_code error;
    if (!writes && !fs::exists(value.text, error)) continue;  // a number, a name
    if (!IsSameFile(output.path, value.text)) continue;
    return Refuse(writes ? fmt::format("{}: named by both {} and {}; two outputs need two files",
                                       output.path, output.typed, value.typed)
                         : fmt::format("{} is both input and output ({}, {}); {}", output.path,
                                       value.typed, output.typed, OtherName(arguments)));
  }
  const char* model = os::Variable("BITTERN_MODEL");
  const bool takes_model = arguments.command->get_option_no_throw("--model") != nullptr;
  if (!takes_model || model == nullptr || !CanLose(output.path)) return {};
  if (!IsSameFile(output.path, model)) return {};
  return Refuse(fmt::format("{} is both input and output ($BITTERN_MODEL, {}); choose another name",
                            output.path, output.typed));
}

/// The way out where something is there already.
std::string Instead(const Output& output, const Arguments& arguments) {
  std::string text = "choose another name";
  const auto offers = [&](const char* flag, std::string_view does) {
    if (arguments.command->get_option_no_throw(flag) == nullptr) return;
    text += fmt::format(", {} {} it", flag, does);
  };
  if (output.flag->holds == Holds::kLines || output.flag->holds == Holds::kConversation) {
    offers("--resume", "goes on with");
  }
  if (output.flag->flag == "--kl-divergence-base") offers("--kl-divergence", "compares with");
  offers("--force", "replaces");
  offers("--overwrite", "replaces");
  return text;
}

/// Refuses to replace what is there, unless it is an earlier output of the same kind, the run goes
/// on with it, or --force is given.
Result<void> CheckReplaced(const Output& output, const Arguments& arguments) {
  const Holds holds = output.flag->holds;
  const bool forced =
      arguments.typed.contains("--force") || arguments.typed.contains("--overwrite");
  if (forced || output.path == "-") return {};
  const auto resumed = [&](const Arguments::Value& value) {
    return GoesOn(output, value) && IsSameFile(output.path, value.text);
  };
  if (holds == Holds::kLines && arguments.typed.contains("--resume")) return {};
  if (std::ranges::any_of(arguments.values, resumed)) return {};
  fs::path there;
  if (holds == Holds::kTrace || holds == Holds::kManual) {
    there = report::ForeignFileIn(holds, output.path);
  } else if (!MayReplace(holds, output.path)) {
    there = output.path;
  } else if (holds == Holds::kConversation && IsEarlierOutput(holds, output.path)) {
    there = output.path;  // another conversation, which is as dear as this one
  }
  if (there.empty()) return {};
  return Refuse(fmt::format("{}: {} exists already; {}", output.typed, there.string(),
                            Instead(output, arguments)));
}

}  // namespace

void AddForceOption(CLI::App& command, const char* names) {
  command.add_flag(names)->description("Replace output files that are there");
}

/// All outputs are listed before the first check, as they are compared with each other.
Result<void> CheckOutputs(const Arguments& arguments) {
  std::vector<Output>& outputs = RunningOutputs();
  outputs.clear();
  for (const Arguments::Value& value : arguments.values) {
    const OutputFlag* flag = FindOutputFlag(arguments, value.flag);
    if (flag != nullptr) outputs.push_back({flag, value.typed, value.text});
  }
  for (const Output& output : outputs) BITTERN_TRY(CheckAgainstOthers(output, arguments));
  for (const Output& output : outputs) BITTERN_TRY(CheckReplaced(output, arguments));
  return {};
}

void SayWritten() {
  for (const Output& output : RunningOutputs()) {
    const Holds holds = output.flag->holds;
    const bool silent = holds == Holds::kPage || holds == Holds::kReport ||
                        holds == Holds::kCertificate || holds == Holds::kTrace;
    if (silent && output.path != "-" && CanLose(output.path)) {
      PrintRemark("notice: {} written\n", Printable(output.path, 300));
    }
  }
}

Result<void> CheckNoOutputIs(const formats::Checkpoint& model) {
  for (const Output& output : RunningOutputs()) {
    if (output.path == "-") continue;
    BITTERN_TRY(formats::CheckNotSource(model, output.path));
    // A folder that is written into.
    if (output.flag->holds == Holds::kTrace) {
      BITTERN_TRY(formats::CheckNotSource(model, fs::path(output.path) / "trace.json"));
    }
  }
  return {};
}

Result<void> CheckChatFile(const fs::path& path) {
  if (MayReplace(Holds::kConversation, path)) return {};
  return Refuse(fmt::format("{} exists already and is no conversation of ours; choose another name",
                            path.string()));
}

}  // namespace bittern::cli
