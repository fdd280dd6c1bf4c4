// SPDX-License-Identifier: Apache-2.0
#include "proof/certificate/background_load.hpp"

#include <fmt/format.h>

#include <atomic>
#include <system_error>
#include <thread>

namespace bittern::proof {

struct BackgroundLoad::Impl {
  ~Impl() {
    stop.store(true);
    for (std::thread& thread : threads) thread.join();
  }

  /// Generates again and again until told to stop, or until the model fails it: the work
  /// beside it will meet the same error and report it.
  void Work(runtime::Session* session, std::vector<runtime::TokenId> prompt) {
    const runtime::GenerateOptions options{.max_tokens = 16, .ignore_eos = true, .cancel = &stop};
    bool running = true;
    for (bool first = true; running && !stop.load(); first = false) {
      session->Truncate(0);
      running = session->PrefillFor(prompt, options).has_value();
      if (first) started.fetch_add(1);
      started.notify_all();
      running = running && session->Generate(options, nullptr).has_value();
    }
  }

  std::atomic<bool> stop{false};
  std::atomic<int> started{0};
  std::vector<runtime::Session> sessions = {};
  std::vector<std::thread> threads = {};
};

Result<BackgroundLoad> BackgroundLoad::Start(
    const std::shared_ptr<const runtime::LoadedModel>& model, int count) {
  if (count < 0 || count > kMax) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("0..{} sessions beside expected, {} found", kMax, count));
  }
  auto impl = std::make_unique<Impl>();
  const model::ModelConfig& config = model->model.config();
  for (int i = 0; i < count; ++i) {
    impl->sessions.push_back(BITTERN_TRY(
        runtime::Session::Create(model, {.context_length = std::min(32, config.context_length),
                                         .batch_size = 4,
                                         .num_threads = 1})));
  }
  for (int i = 0; i < count; ++i) {
    const std::vector<runtime::TokenId> prompt(4, (i + 1) % config.vocab_size);
    runtime::Session* session = &impl->sessions[static_cast<std::size_t>(i)];
    try {
      impl->threads.emplace_back(&Impl::Work, impl.get(), session, prompt);
    } catch (const std::system_error& error) {
      return Fail(ErrorCode::kOutOfMemory, fmt::format("cannot start a thread: {}", error.what()));
    }
  }
  for (int now; (now = impl->started.load()) < count;) impl->started.wait(now);
  return BackgroundLoad(std::move(impl));
}

BackgroundLoad::BackgroundLoad(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BackgroundLoad::BackgroundLoad(BackgroundLoad&&) noexcept = default;
BackgroundLoad::~BackgroundLoad() = default;

}  // namespace bittern::proof
