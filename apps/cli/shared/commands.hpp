// SPDX-License-Identifier: Apache-2.0
// The subcommands of `bittern`, one file each. A command adds its options to the parser and a
// callback that does the work and leaves its exit code in *exit_code.
#pragma once

#include <string>

#include "base/result.hpp"
#include "cli/shared/cli11.hpp"

namespace bittern::cli {

/// Exit codes, also written in `bittern --help`.
inline constexpr int kExitUsage = 1;       ///< a wrong flag or value
inline constexpr int kExitModel = 2;       ///< the model file is missing, corrupt or unsupported
inline constexpr int kExitRuntime = 3;     ///< everything else: memory, full context, I/O
inline constexpr int kExitDiffers = 4;     ///< certify --check: not what was expected
inline constexpr int kExitIncomplete = 5;  ///< selftest: nothing failed, but not all was checked
inline constexpr int kExitCut = 6;  ///< run: the text is cut before its grammar or schema is done
inline constexpr int kExitInterrupted = 130;  ///< Ctrl-C, as shells report it

/// Prints "error: message" to stderr (red on a terminal) and returns `exit_code`.
int Report(const Error& error, int exit_code);

/// The same with the exit code that belongs to the kind of error; kIo counts as the model file's.
int Report(const Error& error);

/// The same, but kIo about the file `output` counts as output that cannot be written.
int ReportOutput(const Error& error, const std::string& output);

void AddRun(CLI::App& app, int* exit_code);       // run.cpp
void AddChat(CLI::App& app, int* exit_code);      // chat.cpp
void AddLogits(CLI::App& app, int* exit_code);    // logits.cpp
void AddBatch(CLI::App& app, int* exit_code);     // batch/batch.cpp
void AddServe(CLI::App& app, int* exit_code);     // serve/serve.cpp
void AddVerify(CLI::App& app, int* exit_code);    // serve/verify.cpp
void AddBench(CLI::App& app, int* exit_code);     // bench.cpp
void AddCertify(CLI::App& app, int* exit_code);   // certify.cpp
void AddDoctor(CLI::App& app, int* exit_code);    // doctor/doctor.cpp
void AddSelftest(CLI::App& app, int* exit_code);  // doctor/selftest.cpp
void AddReport(CLI::App& app, int* exit_code);    // report/report.cpp
void AddTrace(CLI::App& app, int* exit_code);     // doctor/trace.cpp
void AddEval(CLI::App& app, int* exit_code);      // eval/eval.cpp
void AddInspect(CLI::App& app, int* exit_code);   // inspect.cpp
void AddConvert(CLI::App& app, int* exit_code);   // convert/convert.cpp
void AddMeta(CLI::App& app, int* exit_code);      // meta.cpp
void AddPull(CLI::App& app, int* exit_code);      // hub/commands.cpp
void AddModels(CLI::App& app, int* exit_code);    // hub/commands.cpp
void AddRemove(CLI::App& app, int* exit_code);    // hub/remove.cpp: rm
void AddServers(CLI::App& app, int* exit_code);   // serve/servers.cpp: ps
void AddEmbed(CLI::App& app, int* exit_code);     // embed.cpp
void AddTokenize(CLI::App& app, int* exit_code);  // tokenize.cpp: tokenize and detokenize
void AddApplyTemplate(CLI::App& app, int* exit_code);
void AddShell(CLI::App& app, int* exit_code);  // shell/shell.cpp: completion and man

}  // namespace bittern::cli
