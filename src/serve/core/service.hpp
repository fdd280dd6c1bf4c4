// SPDX-License-Identifier: Apache-2.0
// The state that requests share: the model, its chat template, the engine's thread, defaults and
// counters.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "request/text_request.hpp"
#include "runtime/chat/chat_prompt.hpp"
#include "runtime/engine/engine_thread.hpp"
#include "serve/core/histogram.hpp"
#include "serve/core/worker.hpp"

namespace bittern::serve {

class WeightHash;

struct ServiceOptions {
  std::string model_name;  ///< as answers tell it
  std::string model_path;
  std::string version;  ///< of the program
  runtime::GenerateOptions defaults = {};
  runtime::EngineOptions engine = {};
  int most_waiting = 64;            ///< requests beyond those that run at the same time
  std::string chat_template = {};   ///< as ChatPrompt::Create takes it
  bool receipts = false;            ///< every answer carries one
  std::string slot_save_path = {};  ///< folder of saved slots; empty: none
  std::optional<runtime::Pooling> pooling = {};  ///< of vectors; none: as the model's file says
  bool strict = false;                           ///< refuse fields that nothing reads
  bool verbose = false;                   ///< what a request's "verbose" is where it leaves it open
  std::vector<std::string> aliases = {};  ///< further names of the model
  std::uint64_t hash_first_bytes = 64 << 20;  ///< a smaller file is hashed before the start
};

/// Sums over all requests since the start. Any thread.
struct ServiceCounters {
  std::atomic<std::uint64_t> requests{0}, refused{0}, cancelled{0}, failed{0};
  std::atomic<std::uint64_t> prompt_tokens{0}, cached_tokens{0}, predicted_tokens{0};
  std::atomic<std::uint64_t> prompt_us{0}, predicted_us{0}, queued_us{0};
  std::atomic<std::uint64_t> most_tokens{0};                    ///< of one sequence
  TimeHistogram queue_wait = {}, first_token = {}, whole = {};  ///< of sequences that ended well
};

/// A sequence that has not ended, as /slots shows it.
struct ActiveSequence {
  std::uint64_t id = 0;
  int prompt_tokens = 0;
  std::atomic<int> pieces{0};  ///< of text given out so far
};

/// Any thread.
class Service {
 public:
  /// Errors as Engine::Create and, where the weights are hashed at once, model::FingerprintOf. A
  /// model without a chat template is none: chat() is null then.
  [[nodiscard]] static Result<std::unique_ptr<Service>> Create(
      std::shared_ptr<const runtime::LoadedModel> model, ServiceOptions options,
      Decisions* decisions);

  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  /// The hash ends first, then the slow worker, which may wait for it, then the engine.
  ~Service();

  [[nodiscard]] const runtime::LoadedModel& model() const noexcept { return *model_; }
  [[nodiscard]] const std::shared_ptr<const runtime::LoadedModel>& shared_model() const noexcept {
    return model_;
  }
  [[nodiscard]] const tokenizer::Tokenizer& tokenizer() const noexcept { return model_->tokenizer; }
  /// Null: the model does not say how a conversation is written; why_no_chat() says more.
  [[nodiscard]] const runtime::ChatPrompt* chat() const noexcept {
    return chat_ ? &*chat_ : nullptr;
  }
  [[nodiscard]] const Error& why_no_chat() const noexcept { return *no_chat_; }
  /// The model and its chat template, as the readers of requests take them.
  [[nodiscard]] request::Target target() const noexcept {
    return {.model = model_.get(),
            .chat = chat(),
            .why_no_chat = no_chat_ ? &*no_chat_ : nullptr,
            .num_slots = options_.engine.max_sequences,
            .context_length = engine_->context_length(),
            .strict = options_.strict,
            .verbose = options_.verbose};
  }
  /// As target(), for counting tokens: a prompt that is too long is read to its end, too.
  [[nodiscard]] request::Target counting_target() const noexcept {
    request::Target whole = target();
    whole.context_length = 0;
    return whole;
  }
  /// The list for fields that nothing reads; null: they are refused.
  [[nodiscard]] request::UnreadFields* UnreadOf(request::TextRequest* call) const noexcept {
    return options_.strict ? nullptr : &call->unread;
  }
  [[nodiscard]] runtime::EngineThread& engine() noexcept { return *engine_; }
  [[nodiscard]] const ServiceOptions& options() const noexcept { return options_; }
  [[nodiscard]] ServiceCounters& counters() noexcept { return counters_; }
  /// For what takes as long as a prompt but is no sequence: other requests are read meanwhile.
  [[nodiscard]] Worker& slow_worker() noexcept { return *slow_worker_; }
  [[nodiscard]] std::time_t started() const noexcept { return started_; }
  /// Some seconds of work. Only the slow worker may wait for it.
  [[nodiscard]] WeightHash& model_hash() const noexcept { return *model_hash_; }
  /// Tells model and arithmetic: answers with the same one are the same. None until the hash of the
  /// weights is known.
  [[nodiscard]] std::optional<std::string> fingerprint() const;

  /// The tokens of the last answer of a slot, 0 to max_sequences - 1; `slot` < 0: the next one in
  /// turn. See api/llama/slots.hpp.
  void SetSlotTokens(int slot, std::vector<runtime::TokenId> tokens);
  [[nodiscard]] std::vector<runtime::TokenId> SlotTokens(int slot) const;

  [[nodiscard]] std::shared_ptr<ActiveSequence> AddActive(int prompt_tokens);
  void RemoveActive(const ActiveSequence& sequence);
  [[nodiscard]] std::vector<std::shared_ptr<const ActiveSequence>> active() const;

 private:
  Service();

  std::shared_ptr<const runtime::LoadedModel> model_;
  ServiceOptions options_;
  std::optional<runtime::ChatPrompt> chat_ = {};
  std::optional<Error> no_chat_ = {};
  ServiceCounters counters_;
  std::time_t started_ = 0;
  mutable std::mutex mutex_;
  std::uint64_t next_id_ = 0;
  std::vector<std::vector<runtime::TokenId>> slots_ = {};
  std::size_t next_slot_ = 0;
  std::map<std::uint64_t, std::shared_ptr<ActiveSequence>> active_ = {};
  std::unique_ptr<Worker> slow_worker_ = std::make_unique<Worker>();
  std::unique_ptr<WeightHash> model_hash_;              // answers ask for it
  std::unique_ptr<runtime::EngineThread> engine_ = {};  // last: its thread ends first
};

}  // namespace bittern::serve
