// SPDX-License-Identifier: Apache-2.0
// Texts and multiple-choice questions scored (eval/job), and answers replayed.
#include <atomic>
#include <memory>

#include "base/threads/thread_pool.hpp"
#include "capi/log.hpp"
#include "capi/objects.hpp"
#include "capi/options.hpp"
#include "eval/job/job.hpp"
#include "model/load/fingerprint.hpp"
#include "proof/receipt/receipt.hpp"

namespace bittern::capi {
namespace {

/// A job on this model. The watcher of its progress stops it through `cancel`, which outlives it.
eval::Job JobOf(const ModelObject& model, std::string_view text, const Settings& settings,
                std::atomic<bool>* cancel) {
  const runtime::SessionOptions session = SessionOptionsOf(settings);
  return {
      .options = ScoreSettingsOf(settings),
      .model = model.loaded,
      .text = std::string(text),
      .score = {.kv_type = session.kv_type,
                .batch_size = session.batch_size,
                .num_threads = session.num_threads,
                .cancel = cancel},
      .on_progress = {},
      .on_notice = [](std::string_view notice) { Log(BITTERN_LOG_WARNING, std::string(notice)); }};
}

/// Runs ScoreText or ScoreChoices.
template <Result<Json> (*kScore)(const eval::Job&)>
bittern_status Score(const bittern_model* model, const char* text, size_t size,
                     const bittern_options* options, bittern_progress_fn progress, void* user,
                     bittern_result** result) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedArray(text, size, "text"));
    BITTERN_TRY(NeedPointer(result, "result"));
    const Settings settings = BITTERN_TRY(SettingsOf(options));
    std::atomic<bool> cancel = false;
    eval::Job job = JobOf(*found, {text, size}, settings, &cancel);
    job.on_share = [&](double done) {
      if (progress != nullptr && progress(user, done) != 0) cancel.store(true);
    };
    const Json score = BITTERN_TRY(kScore(job));
    if (cancel.load()) return Fail(ErrorCode::kCancelled, "cancelled");  // in the last part
    auto given = std::make_shared<ResultObject>();
    given->json = score.Dump();
    Give(std::move(given), result);
    return {};
  });
}

}  // namespace

/// The same for all threads that ask: the first one reads the weights, the others wait.
Result<std::string> ModelObject::Hash() const {
  KeptHash& kept = hash_.get();
  const std::lock_guard lock(kept.mutex);
  if (kept.hash.empty()) {
    auto pool = BITTERN_TRY(ThreadPool::Create(DefaultThreadCount()));
    auto print = BITTERN_TRY(model::FingerprintOf(loaded->model, pool));
    kept.hash = std::move(print.hash);
  }
  return kept.hash;
}

/// The name is the file's own, as the server's is where no other one was given.
Result<proof::Receipt> BeginReceipt(const ModelObject& model,
                                    std::span<const runtime::TokenId> prompt,
                                    const runtime::GenerateOptions& options, model::KvType kv_type,
                                    int context_length) {
  std::string hash = BITTERN_TRY(model.Hash());
  return proof::Receipt{.model = model.loaded->model.config().name,
                        .model_hash = std::move(hash),
                        .arithmetic = proof::ArithmeticName(kv_type),
                        .context_length = context_length,
                        .prompt = {prompt.begin(), prompt.end()},
                        .options = options};
}

}  // namespace bittern::capi

using namespace bittern;        // NOLINT: the C functions below stand outside of any namespace
using namespace bittern::capi;  // NOLINT

bittern_status bittern_score_text(const bittern_model* model, const char* text, size_t size,
                                  const bittern_options* options, bittern_progress_fn progress,
                                  void* user, bittern_result** result) {
  return Score<eval::ScoreText>(model, text, size, options, progress, user, result);
}

bittern_status bittern_score_choices(const bittern_model* model, const char* lines, size_t size,
                                     const bittern_options* options, bittern_progress_fn progress,
                                     void* user, bittern_result** result) {
  return Score<eval::ScoreChoices>(model, lines, size, options, progress, user, result);
}

/// The first receipt that differs gives the words.
bittern_status bittern_verify(const bittern_model* model, const char* receipts, size_t size,
                              const bittern_options* options, bittern_result** result) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedArray(receipts, size, "receipts"));
    BITTERN_TRY(NeedPointer(result, "result"));
    const Settings settings = BITTERN_TRY(SettingsOf(options));
    const int num_threads = SessionOptionsOf(settings).num_threads;
    const auto read = BITTERN_TRY(proof::ParseReceipts({receipts, size}, found->loaded->tokenizer));
    const std::string hash = BITTERN_TRY(found->Hash());
    const auto verdict = BITTERN_TRY(proof::VerifyReceipts(found->loaded, hash, read, num_threads));
    auto given = std::make_shared<ResultObject>();
    given->json = Json{{"identical", verdict.identical}, {"what", verdict.what}}.Dump();
    Give(std::move(given), result);
    return {};
  });
}
