// SPDX-License-Identifier: Apache-2.0
// Opens the file without its weights; prints decisions as `run` does.
#include "cli/options/tokenizer_options.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "cli/options/default_model.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/terminal.hpp"
#include "formats/checkpoint.hpp"

namespace bittern::cli {

Result<tokenizer::Tokenizer> OpenTokenizer(const ModelOptions& options) {
  auto checkpoint = BITTERN_TRY(OpenModelFile(options.path));
  for (const std::string& text : options.overrides) {
    BITTERN_TRY(checkpoint.metadata().Override(text));
  }
  Decisions decisions;
  auto tokenizer = tokenizer::Tokenizer::FromMetadata(checkpoint.metadata(), &decisions);
  BITTERN_TRY(checkpoint.CheckUnchanged());
  if (!tokenizer.has_value()) {
    Error error = runtime::BlameOverride(options.overrides, tokenizer.error());
    if (error.code == ErrorCode::kInvalidArgument) return tl::unexpected(std::move(error));
    return tl::unexpected(Within(checkpoint.path(), std::move(error)));
  }
  PrintDecisions(decisions, options.verbose);
  NoticeUnreadOverrides(options.overrides, checkpoint.metadata());
  return tokenizer;
}

void ReportLoss(const tokenizer::EncodeLoss& loss) {
  if (loss.num_bytes != 0) PrintRemark("note: {}\n", tokenizer::LossText(loss));
}

int ExitCodeOf(const Error& error) noexcept {
  return error.code == ErrorCode::kInvalidArgument ? kExitUsage : kExitModel;
}

}  // namespace bittern::cli
