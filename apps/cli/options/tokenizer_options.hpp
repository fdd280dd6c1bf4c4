// SPDX-License-Identifier: Apache-2.0
// Options that `tokenize` and `detokenize` share, and the opening of a tokenizer without touching
// the weights.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cli/options/model_options.hpp"
#include "tokenizer/token_text.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::cli {

/// Reads the file's metadata only, so a model of any size opens in the time of its tokenizer.
/// Decisions that a user should know of (all with -v) go to stderr. Errors: as of
/// Checkpoint::Open and Tokenizer::FromMetadata, naming the file; kInvalidArgument for a wrong
/// --override-kv.
[[nodiscard]] Result<tokenizer::Tokenizer> OpenTokenizer(const ModelOptions& options);

/// Says on stderr what of a text has no token; nothing where all has.
void ReportLoss(const tokenizer::EncodeLoss& loss);

/// The exit code for an error of OpenTokenizer.
[[nodiscard]] int ExitCodeOf(const Error& error) noexcept;

}  // namespace bittern::cli
