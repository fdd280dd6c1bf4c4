// SPDX-License-Identifier: Apache-2.0
// The flags that name a file to be written, and the one rule for all of them: an output is none of
// the files that the same command reads, two outputs are two files, and what is there already is
// replaced only if it is an earlier output of the same kind or --force is given.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.hpp"
#include "cli/options/arguments.hpp"
#include "formats/checkpoint.hpp"

namespace bittern::cli {

/// Checks every output that the command line names, before the command opens anything; devices and
/// pipes are written as they are. The outputs are remembered for CheckNoOutputIs. Errors
/// kInvalidArgument, naming both flags: an output is an input or another output; a file is there
/// that is no earlier output of this kind.
[[nodiscard]] Result<void> CheckOutputs(const Arguments& arguments);

/// One notice for each page, report, certificate and trace that the command has written, for a
/// command that has ended well; other outputs are told by their commands.
void SayWritten();

/// Error kInvalidArgument where an output of the running command is one of the model's own files:
/// a part of a split model, a file of its folder. For models as they are opened.
[[nodiscard]] Result<void> CheckNoOutputIs(const formats::Checkpoint& model);

/// Error kInvalidArgument unless `path` is free, an empty file, or a conversation that chat wrote.
[[nodiscard]] Result<void> CheckChatFile(const std::filesystem::path& path);

/// --force, by which CheckOutputs lets any file be replaced.
void AddForceOption(CLI::App& command, const char* names = "--force");

}  // namespace bittern::cli
