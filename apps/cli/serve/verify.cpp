// SPDX-License-Identifier: Apache-2.0
// `bittern verify`: replays the answer that a receipt stands for.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/files/mapped_file.hpp"
#include "base/threads/thread_pool.hpp"
#include "cli/options/model_options.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/output.hpp"
#include "model/load/fingerprint.hpp"
#include "proof/receipt/receipt.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kVerifyExample = R"(Example:
  curl http://127.0.0.1:8080/v1/completions -d '{"prompt": "A tern is", "receipt": true}' > answer
  bittern verify answer

Exit code 0: the model gives exactly this answer; 4: it does not, or the receipt was changed.)";

struct VerifyOptions {
  ModelOptions model;
  std::string input;
  int num_threads = 0;
};

/// The whole file, or standard input for "-".
Result<std::string> ReadReceiptFile(const std::string& path) {
  if (path == "-") return ReadStandardInput();
  const auto file = BITTERN_TRY(MappedFile::Open(path));
  const auto bytes = file.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

/// The fingerprint of the weights, which a receipt names.
Result<std::string> HashForReceipts(const model::Model& model, int num_threads) {
  auto pool = BITTERN_TRY(ThreadPool::Create(std::max(1, num_threads)));
  auto print = BITTERN_TRY(model::FingerprintOf(model, pool));
  return std::move(print.hash);
}

/// Replays each receipt of the file. One that differs makes the exit code kExitDiffers.
Result<int> RunVerify(const VerifyOptions& options) {
  const std::string text = BITTERN_TRY(ReadReceiptFile(options.input));
  const auto model = BITTERN_TRY(LoadModel(options.model, options.num_threads));
  auto receipts = proof::ParseReceipts(text, model->tokenizer);
  if (!receipts.has_value()) {
    return tl::unexpected(Within(options.input, std::move(receipts).error()));
  }
  const std::string hash = BITTERN_TRY(HashForReceipts(model->model, options.num_threads));
  bool identical = true;
  StandardOutput output;
  for (const proof::ReadReceipt& receipt : *receipts) {
    const auto verdict =
        BITTERN_TRY(proof::VerifyReceipt(model, hash, receipt, options.num_threads));
    identical = identical && verdict.identical;
    output.Write(
        fmt::format("{}: {}\n", verdict.identical ? "identical" : "not identical", verdict.what));
  }
  BITTERN_TRY(output.Status());
  return identical ? 0 : kExitDiffers;
}

}  // namespace

void AddVerify(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("verify", "Replay the answer that a receipt of `serve` stands for");
  command->footer(kVerifyExample);
  const auto options = std::make_shared<VerifyOptions>();
  command
      ->add_option("input", options->input, "A receipt, or an answer with one; -: standard input")
      ->required()
      ->type_name("FILE");
  AddModelOptions(*command, &options->model, /*takes_argument=*/false);
  AddComputeOptions(*command, &options->model);
  AddThreadsOption(*command, &options->num_threads);
  command->callback([options, exit_code] {
    const Result<int> done = RunVerify(*options);
    *exit_code = done.has_value() ? *done : Report(done.error());
  });
}

}  // namespace bittern::cli
