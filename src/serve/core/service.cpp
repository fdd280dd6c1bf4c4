// SPDX-License-Identifier: Apache-2.0
#include "serve/core/service.hpp"

#include <fmt/format.h>

namespace bittern::serve {

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
  service->engine_ = BITTERN_TRY(EngineLoop::Start(model, options.engine, options.most_waiting));
  service->model_ = std::move(model);
  service->options_ = std::move(options);
  service->fingerprint_ = "bittern-" + service->options_.version;
  return service;
}

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
