// SPDX-License-Identifier: Apache-2.0
// As many texts run at a time as the server has slots; each that ends makes room for the next one
// of its call. A thousand texts so wait in their call and not in the queue of all clients.
#include "serve/core/vector_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/text/percent.hpp"

namespace bittern::serve {
namespace {

/// Held by the callbacks of its sequences, which the engine's thread calls.
class VectorCall : public std::enable_shared_from_this<VectorCall> {
 public:
  VectorCall(Service* service, VectorCallRequest request, VectorShape shape, ErrorShape error,
             std::shared_ptr<Exchange> exchange)
      : service_(service),
        request_(std::move(request)),
        shape_(std::move(shape)),
        error_(error),
        exchange_(std::move(exchange)),
        left_(request_.texts.size()) {
    made_.vectors.resize(left_);
    for (const std::string& path : request_.unread) {
      ignored_ += (ignored_.empty() ? "" : ", ") + PercentEncoded(path, "-._~[]");
    }
  }

  /// The first texts, for which there is room in the engine.
  void Begin(std::size_t count) {
    if (!ignored_.empty()) exchange_->AddHeader("bittern-ignored", ignored_);
    std::vector<runtime::Request> first;
    while (first.size() < count) first.push_back(Next());
    service_->engine().Submit(std::move(first));
  }

 private:
  runtime::Request Next();
  void OnDone(std::size_t index, runtime::Completion completion);
  void Fail(const Error& error);
  void Finish();

  Service* service_;
  VectorCallRequest request_;
  VectorShape shape_;
  ErrorShape error_;
  std::shared_ptr<Exchange> exchange_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::size_t next_ = 0, left_, running_ = 0;
  Vectors made_ = {};
  bool failed_ = false;
  std::string ignored_ = {};  // fields of the request
};

runtime::Request VectorCall::Next() {
  const std::size_t index = next_++;
  ++running_;
  auto active = service_->AddActive(static_cast<int>(request_.texts[index].size()));
  runtime::Request request{.prompt = std::move(request_.texts[index]),
                           .turn = static_cast<int>(index),
                           .vector = request_.vector};
  request.options.cancel = &exchange_->gone();
  request.on_done = [self = shared_from_this(), index,
                     active = std::move(active)](runtime::Completion completion) {
    self->service_->RemoveActive(*active);
    self->OnDone(index, std::move(completion));
  };
  return request;
}

/// The first error is the answer; no further text begins then, or once the client has gone.
void VectorCall::OnDone(std::size_t index, runtime::Completion completion) {
  --running_;
  --left_;
  if (!completion.result.has_value()) {
    Fail(completion.result.error());
  } else {
    made_.vectors[index] = std::move(completion.vector);
    made_.prompt_tokens += static_cast<std::size_t>(completion.timings.prompt_tokens);
    ServiceCounters& counters = service_->counters();
    counters.prompt_tokens += static_cast<std::uint64_t>(
        std::max(0, completion.timings.prompt_tokens - completion.timings.cached_tokens));
    counters.cached_tokens += static_cast<std::uint64_t>(completion.timings.cached_tokens);
  }
  const bool gone = exchange_->gone().load();
  if (failed_ || gone) {
    if (running_ == 0 && gone) ++service_->counters().cancelled;
    return;
  }
  if (next_ < request_.texts.size()) {
    // The text that has ended made this room; no limit applies to a call that has begun.
    static_cast<void>(service_->engine().Reserve(1, std::numeric_limits<std::size_t>::max()));
    std::vector<runtime::Request> one;
    one.push_back(Next());
    return service_->engine().Submit(std::move(one));
  }
  if (left_ == 0) Finish();
}

void VectorCall::Fail(const Error& error) {
  if (std::exchange(failed_, true)) return;
  ++service_->counters().failed;
  exchange_->Reply(error_(ApiErrorOf(error)));
}

/// A large answer is written by the slow thread: the engine's has no time for it.
void VectorCall::Finish() {
  made_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  exchange_->SetUsage({.model = service_->options().model_name,
                       .prompt_tokens = static_cast<int>(made_.prompt_tokens)});
  exchange_->SetNote(fmt::format("texts={} prompt={}{}{}", made_.vectors.size(),
                                 made_.prompt_tokens,
                                 ignored_.empty() ? "" : " ignored=", ignored_));
  service_->slow_worker().Post(
      [self = shared_from_this()] { self->exchange_->Reply({.body = self->shape_(self->made_)}); });
}

}  // namespace

void AppendFloats(std::span<const float> floats, std::string* json) {
  *json += '[';
  for (std::size_t i = 0; i < floats.size(); ++i) {
    fmt::format_to(std::back_inserter(*json), "{}{}", i == 0 ? "" : ",", floats[i]);
  }
  *json += ']';
}

void StartVectorCall(Service* service, VectorCallRequest request, VectorShape shape,
                     ErrorShape error, std::shared_ptr<Exchange> exchange) {
  const ServiceOptions& options = service->options();
  const auto slots = static_cast<std::size_t>(options.engine.max_sequences);
  const std::size_t at_once = std::min(request.texts.size(), slots);
  const std::size_t most = slots + static_cast<std::size_t>(options.most_waiting);
  if (!service->engine().Reserve(at_once, most)) {
    ++service->counters().refused;
    return exchange->Reply(error(QueueFull(service->engine().active())));
  }
  ++service->counters().requests;
  const auto call = std::make_shared<VectorCall>(service, std::move(request), std::move(shape),
                                                 error, std::move(exchange));
  call->Begin(at_once);
}

}  // namespace bittern::serve
