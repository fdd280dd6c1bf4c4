// SPDX-License-Identifier: Apache-2.0
// Flags that several commands share, under llama.cpp's names: which model, how it is run, and
// what it is given to read.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/files/text_file.hpp"
#include "base/result.hpp"
#include "base/text/typed_text.hpp"
#include "cli/shared/cli11.hpp"
#include "runtime/session.hpp"

namespace bittern::cli {

/// Which model, how its file is read, and how it is computed.
struct ModelOptions {
  std::string path;  ///< empty: as OpenModelFile() says
  std::vector<std::string> overrides;
  std::string kernel = "auto";
  model::HeadMode head = model::HeadMode::kAuto;
  model::HeadCopy head_copy = model::HeadCopy::kBehindFirstToken;
  model::SkipMode zero_skip = model::SkipMode::kAuto;
  model::Activations activations = model::Activations::kAuto;
  model::BatchKernel batch_kernel = model::BatchKernel::kAuto;
  bool verbose = false;
};
/// Adds -m, -v and the flags of AddFileOptions. With `takes_argument` the file may also stand
/// without -m.
void AddModelOptions(CLI::App& command, ModelOptions* options, bool takes_argument);
/// --kernel, --batch-kernel, --head, --zero-skip, for commands that run the network.
void AddComputeOptions(CLI::App& command, ModelOptions* options);

/// --override-kv, --i2s-layout, --tl-tiling: what is to be read otherwise than the file says. All
/// become texts for formats::Metadata::Override.
void AddFileOptions(CLI::App& command, std::vector<std::string>* overrides);

/// Loads with a progress line for loads of over a second, then prints the decisions a user
/// should know of (all with -v) to stderr, one line each.
[[nodiscard]] Result<std::shared_ptr<const runtime::LoadedModel>> LoadModel(
    const ModelOptions& options, int num_threads);

/// Prints the notable decisions (all of them if `all`) to stderr, one line each.
void PrintDecisions(const Decisions& decisions, bool all);

/// A notice on stderr for each override whose key nothing has looked for: a typing error more often
/// than not. To be called once everything has been read.
void NoticeUnreadOverrides(const std::vector<std::string>& overrides,
                           const formats::Metadata& metadata);

/// The instruction set whose matrix kernels run here. Error: a wrong BITTERN_ISA.
[[nodiscard]] Result<std::string> IsaInUse();

/// Whole numbers of `least` to `most`.
[[nodiscard]] CLI::Validator WholeNumber(int least, int most = std::numeric_limits<int>::max());

inline constexpr double kAnyNumber = std::numeric_limits<float>::max();
/// Finite numbers of `least` to `most`.
[[nodiscard]] CLI::Validator Number(double least = -kAnyNumber, double most = kAnyNumber);

/// One of these names, in capitals or not; the value becomes the name as it is here. `why` ends the
/// error.
[[nodiscard]] CLI::Validator OneOf(std::vector<std::string> names, std::string why = {});

/// A file's name, not an empty text.
[[nodiscard]] CLI::Validator FileName();
/// The same where "-" is none: the command prints other things to standard output.
[[nodiscard]] CLI::Validator PlainFile();

/// -t
void AddThreadsOption(CLI::App& command, int* num_threads);

/// -c, -b, -ub, -ctk, -ctv
struct ContextOptions {
  int context_length = 0;
  int batch_size = 2048;
  int ubatch_size = 512;
  std::string type_k = "f16", type_v = "f16";
};
void AddContextOptions(CLI::App& command, ContextOptions* options);
/// All of them but -c.
void AddBatchOptions(CLI::App& command, ContextOptions* options);

/// The type of keys that -ctk names.
[[nodiscard]] model::KvType KvTypeOf(const ContextOptions& options);

/// Checks that need no model. Error kInvalidArgument: -ctk and -ctv differ.
[[nodiscard]] Result<void> CheckContextOptions(const ContextOptions& options);

/// Resolves the flags for this model. A context above the model's limit becomes the limit, with a
/// notice on stderr. No recurrent states are kept: a command that reads one text needs none. Error
/// kInvalidArgument: -ctk and -ctv differ.
[[nodiscard]] Result<runtime::SessionOptions> ToSessionOptions(const ContextOptions& options,
                                                               int num_threads,
                                                               const runtime::LoadedModel& model);

/// -p, -f, --prompt-ids, --parse-special, --no-escape
struct PromptOptions {
  std::string text, file, ids;
  bool parse_special = false;
  bool no_escape = false;
  CLI::Option* text_flag = nullptr;  ///< tells `-p ""` from no -p
};
void AddPromptOptions(CLI::App& command, PromptOptions* options);

/// A prompt that waits for its model: ids as they are, or a text.
struct Prompt {
  std::vector<runtime::TokenId> ids = {};
  std::string text = {};
  bool is_ids = false, parse_special = false;
};
/// Reads the prompt from --prompt-ids, -p, -f or a piped stdin. Errors: kInvalidArgument,
/// kNotFound, kIo.
[[nodiscard]] Result<Prompt> ReadPrompt(const PromptOptions& options);

/// The ids to run; those of a text with BOS if the model wants one. Error kInvalidArgument: none.
[[nodiscard]] Result<std::vector<runtime::TokenId>> EncodePrompt(
    const Prompt& prompt, const tokenizer::Tokenizer& tokenizer);

}  // namespace bittern::cli
