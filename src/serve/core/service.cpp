// SPDX-License-Identifier: Apache-2.0
#include "serve/core/service.hpp"

#include <fmt/format.h>

#include "base/threads/thread_pool.hpp"
#include "model/numerics.hpp"
#include "serve/core/weight_hash.hpp"

namespace bittern::serve {
namespace {

/// 0 in the options means: as many threads as the machine is good for.
int ThreadsOf(const ServiceOptions& options) {
  return options.engine.num_threads > 0 ? options.engine.num_threads : DefaultThreadCount();
}

}  // namespace

/// A template that the caller gave must be good. Where the model gives no chat prompt, only chat
/// requests are refused.
Result<std::unique_ptr<Service>> Service::Create(std::shared_ptr<const runtime::LoadedModel> model,
                                                 ServiceOptions options, Decisions* decisions) {
  std::unique_ptr<Service> service(new Service);
  auto chat = runtime::ChatPrompt::Create(model->model.checkpoint().metadata(), model->tokenizer,
                                          options.chat_template, decisions);
  if (chat.has_value()) {
    service->chat_.emplace(*std::move(chat));
  } else if (!options.chat_template.empty()) {
    return tl::unexpected(std::move(chat).error());
  } else {
    service->no_chat_ = std::move(chat).error();
  }
  service->started_ = std::time(nullptr);
  service->engine_ = BITTERN_TRY(runtime::EngineThread::Create(model, options.engine));
  service->engine_->Start();
  service->model_ = std::move(model);
  service->options_ = std::move(options);
  service->model_hash_ = std::make_unique<WeightHash>(
      service->model_, ThreadsOf(service->options_),
      [engine = service->engine_.get()] { return engine->active() > 0; });
  if (service->model_->model.checkpoint().file_bytes() < service->options_.hash_first_bytes) {
    BITTERN_TRY(service->model_hash_->Wait());
  }
  return service;
}

Service::Service() = default;

Service::~Service() {
  if (model_hash_) model_hash_->Stop();
  slow_worker_->Stop();
}

std::optional<std::string> Service::fingerprint() const {
  const Result<std::string>* hash = model_hash_->Known();
  if (hash == nullptr || !hash->has_value()) return std::nullopt;
  return fmt::format("bittern-{}-{}", model::kNumericsVersion, (*hash)->substr(0, 12));
}

void Service::SetSlotTokens(int slot, std::vector<runtime::TokenId> tokens) {
  const std::scoped_lock lock(mutex_);
  slots_.resize(static_cast<std::size_t>(options_.engine.max_sequences));
  if (slot < 0) slot = static_cast<int>(next_slot_++ % slots_.size());
  slots_[static_cast<std::size_t>(slot)] = std::move(tokens);
}

std::vector<runtime::TokenId> Service::SlotTokens(int slot) const {
  const std::scoped_lock lock(mutex_);
  const auto index = static_cast<std::size_t>(slot);
  return index < slots_.size() ? slots_[index] : std::vector<runtime::TokenId>();
}

/// Shows a sequence in /slots until RemoveActive. Ids are never used again.
std::shared_ptr<ActiveSequence> Service::AddActive(int prompt_tokens) {
  auto sequence = std::make_shared<ActiveSequence>();
  sequence->prompt_tokens = prompt_tokens;
  const std::scoped_lock lock(mutex_);
  sequence->id = next_id_++;
  active_[sequence->id] = sequence;
  return sequence;
}

void Service::RemoveActive(const ActiveSequence& sequence) {
  const std::scoped_lock lock(mutex_);
  active_.erase(sequence.id);
}

std::vector<std::shared_ptr<const ActiveSequence>> Service::active() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<const ActiveSequence>> all;
  for (const auto& [id, sequence] : active_) all.push_back(sequence);
  return all;
}

}  // namespace bittern::serve
