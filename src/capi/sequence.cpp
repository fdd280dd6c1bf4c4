// SPDX-License-Identifier: Apache-2.0
// Sequences of the C interface: a runtime::Session each. Forks share execution resources, so one
// mutex guards them all; it is held for as long as a call works.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/json/json.hpp"
#include "capi/objects.hpp"
#include "capi/options.hpp"
#include "capi/text_part.hpp"
#include "model/trace.hpp"
#include "request/answer_json.hpp"
#include "runtime/prompt_check.hpp"
#include "runtime/sampling/sampler.hpp"

namespace bittern::capi {

std::shared_ptr<ResultObject> ResultOf(const runtime::GenerateResult& generated,
                                       const runtime::LoadedModel& model, bool logprobs,
                                       const std::string& receipt) {
  auto result = std::make_shared<ResultObject>();
  result->text = generated.text;
  result->ids = generated.ids;
  Json json = {{"finish_reason", runtime::FinishReasonName(generated.finish)},
               {"seed", generated.seed},
               {"drafted", generated.drafted},
               {"accepted", generated.accepted}};
  if (logprobs) json["logprobs"] = request::LogprobsJson(generated.logprobs, model.tokenizer);
  if (!receipt.empty()) json["receipt"] = Json::Parse(receipt, {}).value_or(Json());
  result->json = json.Dump();
  return result;
}

namespace {

using runtime::TokenId;

/// Keeps the final norm of the last token whose logits were computed.
class LastHidden : public model::Tracer {
 public:
  /// The values of a token may come in several parts, in order. A new position, or more values than
  /// a token has, begins anew.
  void OnValues(const model::TracePlace& place,
                std::span<const std::byte> bytes) noexcept override {
    if (place.point != model::TracePoint::kFinalNorm) return;
    if (place.position != position_ ||
        filled_ * sizeof(float) + bytes.size() > values_.size() * sizeof(float)) {
      filled_ = 0;
      position_ = place.position;
    }
    const std::size_t room = (values_.size() - filled_) * sizeof(float);
    const std::size_t taken = std::min(bytes.size(), room);
    std::memcpy(values_.data() + filled_, bytes.data(), taken);
    filled_ += taken / sizeof(float);
  }
  void Reserve(std::size_t size) { values_.resize(size); }
  void Forget() noexcept { position_ = -1; }
  [[nodiscard]] int position() const noexcept { return position_; }
  [[nodiscard]] std::span<const float> values() const noexcept { return values_; }

 private:
  std::vector<float> values_;
  std::size_t filled_ = 0;
  int position_ = -1;
};

/// A session, and the lock that it shares with all its forks.
class SequenceObject : public Object {
 public:
  static constexpr int kKind = 4;
  static constexpr const char* kWhat = "a sequence";

  SequenceObject(std::shared_ptr<ModelObject> of, std::shared_ptr<CheckedMutex> shared,
                 runtime::Session made, bool keeps_hidden)
      : Object(kKind, /*of_process=*/true),
        model(std::move(of)),
        alone(std::move(shared)),
        wants_hidden(keeps_hidden),
        session(std::make_unique<runtime::Session>(std::move(made))) {
    if (wants_hidden) {
      hidden.Reserve(static_cast<std::size_t>(model->loaded->model.config().hidden_size));
    }
  }
  /// Gives its pages back while no fork works with them.
  ~SequenceObject() override {
    try {
      const auto lock = alone->Enter(kWhat);  // in a callback: between passes
      session.reset();
    } catch (...) {  // no words for an error: the pages go without a lock
      session.reset();
    }
  }

  std::shared_ptr<ModelObject> model;
  std::shared_ptr<CheckedMutex> alone;
  bool wants_hidden;
  LastHidden hidden;
  std::atomic<bool> cancel = false;
  std::unique_ptr<runtime::Session> session;
};

/// Runs `work(sequence)` alone among all forks.
template <class Work>
bittern_status CallAlone(const bittern_sequence* handle, const Work& work) noexcept {
  return Call([&]() -> Result<void> {
    const auto sequence = BITTERN_TRY(Find<SequenceObject>(handle));
    auto lock = BITTERN_TRY(sequence->alone->Enter(SequenceObject::kWhat));
    const CheckedMutex::Inside inside(sequence->alone.get(), std::move(lock));
    sequence->cancel.store(false);
    sequence->session->SetTracer(sequence->wants_hidden ? &sequence->hidden : nullptr);
    return work(*sequence);
  });
}

Result<void> Eval(SequenceObject& sequence, std::span<const TokenId> ids) {
  return sequence.session->Prefill(ids, &sequence.cancel);
}

/// Keeps the front that agrees and reads the rest. Where everything agrees the last token is read
/// again, unless its logits are there.
Result<void> SetTokens(SequenceObject& sequence, std::span<const TokenId> ids) {
  runtime::Session& session = *sequence.session;
  if (ids.empty()) {
    session.Truncate(0);
    return {};
  }
  BITTERN_TRY(runtime::CheckPrompt(ids, session.model().model.config().vocab_size,
                                   session.context_length()));
  const auto [held, given] = std::ranges::mismatch(session.tokens(), ids);
  std::size_t common = static_cast<std::size_t>(given - ids.begin());
  const bool complete = common == ids.size() && common == session.tokens().size();
  if (complete && !session.logits().empty()) return {};
  common = std::min(common, ids.size() - 1);  // the last one is read for its logits
  session.Truncate(static_cast<int>(common));
  return Eval(sequence, ids.subspan(common));
}

/// Generates, and makes the result with what the settings ask for.
Result<void> GenerateWith(runtime::Session& session, const ModelObject& model,
                          runtime::GenerateOptions generate, const Settings& settings,
                          const std::shared_ptr<TextParts>& parts, bittern_result** result) {
  std::optional<proof::Receipt> receipt;
  const bool logprobs = generate.logprobs >= 0;
  if (WantsReceipt(settings)) {
    receipt = BITTERN_TRY(BeginReceipt(model, session.tokens(), generate, session.kv_type(),
                                       session.context_length()));
    proof::WantReceipt(&generate);
  }
  const auto generated = BITTERN_TRY(session.Generate(generate, TextParts::Callback(parts)));
  const std::string text = receipt ? proof::FinishReceipt(*receipt, generated) : "";
  Give(ResultOf(generated, *model.loaded, logprobs, text), result);
  return {};
}

/// The work of bittern_sequence_generate, under the lock. A cancel is a result, not an error.
Result<void> Generate(SequenceObject& sequence, const void* options, bittern_text_fn on_text,
                      void* user, bittern_result** result) {
  const Settings settings = BITTERN_TRY(SettingsOf(options));
  auto generate = BITTERN_TRY(GenerateOptionsOf(settings, sequence.model->loaded.get()));
  generate.cancel = &sequence.cancel;
  const auto parts = std::make_shared<TextParts>(*sequence.model->loaded, on_text, user);
  TextParts::Watch(parts, &generate);
  return GenerateWith(*sequence.session, *sequence.model, std::move(generate), settings, parts,
                      result);
}

/// Borrows the model's threads for each call.
Result<runtime::Session> NewSession(const ModelObject& model, const Settings& settings) {
  runtime::SessionOptions options = SessionOptionsOf(settings);
  options.lender = model.benches;
  return runtime::Session::Create(model.loaded, options);
}

/// A sequence with a lock of its own; forks share it.
Result<std::shared_ptr<SequenceObject>> Create(std::shared_ptr<ModelObject> model,
                                               const void* options) {
  const Settings settings = BITTERN_TRY(SettingsOf(options));
  auto session = BITTERN_TRY(NewSession(*model, settings));
  return std::make_shared<SequenceObject>(std::move(model), std::make_shared<CheckedMutex>(),
                                          std::move(session), WantsHidden(settings));
}

/// The work of bittern_generate. The session lives for this call only, so no lock is needed.
Result<void> GenerateOnce(std::shared_ptr<ModelObject> model, std::string_view text,
                          const void* options, bittern_text_fn on_text, void* user,
                          bittern_result** result) {
  const Settings settings = BITTERN_TRY(SettingsOf(options));
  auto generate = BITTERN_TRY(GenerateOptionsOf(settings, model->loaded.get()));
  BITTERN_TRY(runtime::Sampler::Create(generate.sampler));
  const auto ids = model->loaded->tokenizer.Encode(text);
  auto session = BITTERN_TRY(NewSession(*model, settings));
  BITTERN_TRY(session.PrefillFor(ids, generate));
  const auto parts = std::make_shared<TextParts>(*model->loaded, on_text, user);
  TextParts::Watch(parts, &generate);
  return GenerateWith(session, *model, std::move(generate), settings, parts, result);
}

/// Has the hidden state be the last position's, running its token again if need be. The position is
/// compared, since another call may have moved the end.
Result<void> NeedHidden(SequenceObject& object) {
  BITTERN_TRY(object.session->NeedLogits());
  const auto last = static_cast<int>(object.session->tokens().size()) - 1;
  if (object.hidden.position() == last) return {};
  const TokenId id = object.session->tokens().back();
  object.session->Truncate(last);
  return object.session->Prefill({&id, 1});
}

}  // namespace
}  // namespace bittern::capi

using namespace bittern;        // NOLINT: the C functions below stand outside of any namespace
using namespace bittern::capi;  // NOLINT

bittern_status bittern_sequence_create(const bittern_model* model, const bittern_options* options,
                                       bittern_sequence** sequence) {
  return Call([&]() -> Result<void> {
    auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedPointer(sequence, "sequence"));
    auto made = BITTERN_TRY(Create(std::move(found), options));
    *sequence = static_cast<bittern_sequence*>(AddHandle(std::move(made)));
    return {};
  });
}

void bittern_sequence_free(bittern_sequence* sequence) {
  RemoveHandle(sequence, SequenceObject::kKind);
}

bittern_status bittern_sequence_length(const bittern_sequence* sequence, size_t* length) {
  return CallAlone(sequence, [&](SequenceObject& object) -> Result<void> {
    BITTERN_TRY(NeedPointer(length, "length"));
    *length = object.session->tokens().size();
    return {};
  });
}

bittern_status bittern_sequence_tokens(const bittern_sequence* sequence, bittern_result** result) {
  return CallAlone(sequence, [&](SequenceObject& object) -> Result<void> {
    BITTERN_TRY(NeedPointer(result, "result"));
    auto given = std::make_shared<ResultObject>();
    const auto tokens = object.session->tokens();
    given->ids.assign(tokens.begin(), tokens.end());
    Give(std::move(given), result);
    return {};
  });
}

bittern_status bittern_sequence_eval(bittern_sequence* sequence, const int32_t* ids, size_t count) {
  return CallAlone(sequence, [&](SequenceObject& object) -> Result<void> {
    BITTERN_TRY(NeedArray(ids, count, "ids"));
    return Eval(object, IdSpan(ids, count));
  });
}

bittern_status bittern_sequence_set_tokens(bittern_sequence* sequence, const int32_t* ids,
                                           size_t count) {
  return CallAlone(sequence, [&](SequenceObject& object) -> Result<void> {
    BITTERN_TRY(NeedArray(ids, count, "ids"));
    return SetTokens(object, IdSpan(ids, count));
  });
}

/// A cancel keeps the tokens before the one at which the callback cancelled.
bittern_status bittern_sequence_eval_all(bittern_sequence* sequence, const int32_t* ids,
                                         size_t count, bittern_logits_fn on_logits, void* user) {
  return CallAlone(sequence, [&](SequenceObject& object) -> Result<void> {
    BITTERN_TRY(NeedArray(ids, count, "ids"));
    BITTERN_TRY(NeedPointer(reinterpret_cast<const void*>(on_logits), "on_logits"));
    BITTERN_TRY(object.session->CheckFits(IdSpan(ids, count)));
    const auto before = static_cast<int>(object.session->tokens().size());
    // A part at a time, so that a cancel need not wait for all of them.
    constexpr std::size_t kPart = 64;
    bool cancelled = false;
    for (std::size_t done = 0; done < count && !cancelled; done += kPart) {
      const auto part = IdSpan(ids, count).subspan(done, std::min(kPart, count - done));
      int kept = before + static_cast<int>(done);
      BITTERN_TRY(object.session->PrefillAll(part, [&](int position, std::span<const float> row) {
        cancelled =
            cancelled || object.cancel.load() ||
            on_logits(user, static_cast<std::size_t>(position), row.data(), row.size()) != 0;
        if (!cancelled) kept = position + 1;
      }));
      if (cancelled) object.session->Truncate(kept);
    }
    return cancelled ? Fail(ErrorCode::kCancelled, "cancelled while reading") : Result<void>();
  });
}

bittern_status bittern_sequence_eval_hidden(bittern_sequence* sequence, const int32_t* ids,
                                            size_t count, bittern_logits_fn on_hidden, void* user) {
  return CallAlone(sequence, [&](SequenceObject& object) -> Result<void> {
    BITTERN_TRY(NeedArray(ids, count, "ids"));
    BITTERN_TRY(NeedPointer(reinterpret_cast<const void*>(on_hidden), "on_hidden"));
    std::atomic<bool> cancel = false;
    const auto give = [&](int position, std::span<const float> hidden) {
      if (cancel.load()) return;
      if (on_hidden(user, static_cast<std::size_t>(position), hidden.data(), hidden.size()) != 0) {
        cancel.store(true);
      }
    };
    BITTERN_TRY(object.session->PrefillHidden(IdSpan(ids, count), give, &cancel));
    if (cancel.load()) return Fail(ErrorCode::kCancelled, "cancelled while reading");
    return {};
  });
}

bittern_status bittern_sequence_logits(const bittern_sequence* sequence, const float** logits,
                                       size_t* count) {
  return CallAlone(sequence, [&](SequenceObject& object) -> Result<void> {
    BITTERN_TRY(NeedPointer(logits, "logits"));
    BITTERN_TRY(NeedPointer(count, "count"));
    BITTERN_TRY(object.session->NeedLogits());
    const auto values = object.session->logits();
    *logits = values.data();
    *count = values.size();
    return {};
  });
}

bittern_status bittern_sequence_hidden(const bittern_sequence* sequence, const float** hidden,
                                       size_t* count) {
  return CallAlone(sequence, [&](SequenceObject& object) -> Result<void> {
    BITTERN_TRY(NeedPointer(hidden, "hidden"));
    BITTERN_TRY(NeedPointer(count, "count"));
    if (!object.wants_hidden) {
      return Fail(ErrorCode::kInvalidArgument, "the sequence was made without hidden=on");
    }
    BITTERN_TRY(NeedHidden(object));
    *hidden = object.hidden.values().data();
    *count = object.hidden.values().size();
    return {};
  });
}

bittern_status bittern_sequence_truncate(bittern_sequence* sequence, size_t length) {
  return CallAlone(sequence, [&](SequenceObject& object) -> Result<void> {
    if (length < object.session->tokens().size()) {
      object.session->Truncate(static_cast<int>(length));
    }
    return {};
  });
}

bittern_status bittern_sequence_fork(const bittern_sequence* sequence, size_t length,
                                     bittern_sequence** fork) {
  return CallAlone(sequence, [&](SequenceObject& object) -> Result<void> {
    BITTERN_TRY(NeedPointer(fork, "fork"));
    const std::size_t held = object.session->tokens().size();
    if (length > held) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("length: 0 to {} expected, {} found", held, length));
    }
    auto session = BITTERN_TRY(object.session->Fork(static_cast<int>(length)));
    *fork = static_cast<bittern_sequence*>(AddHandle(std::make_shared<SequenceObject>(
        object.model, object.alone, std::move(session), object.wants_hidden)));
    return {};
  });
}

bittern_status bittern_sequence_save(const bittern_sequence* sequence, bittern_result** result) {
  return CallAlone(sequence, [&](SequenceObject& object) -> Result<void> {
    BITTERN_TRY(NeedPointer(result, "result"));
    auto given = std::make_shared<ResultObject>();
    given->text = object.session->SaveState();
    Give(std::move(given), result);
    return {};
  });
}

/// The format is that of bittern_sequence_save; a state that does not fit changes nothing.
bittern_status bittern_sequence_restore(bittern_sequence* sequence, const void* state,
                                        size_t size) {
  return CallAlone(sequence, [&](SequenceObject& object) -> Result<void> {
    BITTERN_TRY(NeedPointer(state, "state"));
    return object.session->RestoreState({static_cast<const std::byte*>(state), size});
  });
}

bittern_status bittern_sequence_generate(bittern_sequence* sequence, const bittern_options* options,
                                         bittern_text_fn on_text, void* user,
                                         bittern_result** result) {
  return CallAlone(sequence, [&](SequenceObject& object) -> Result<void> {
    BITTERN_TRY(NeedPointer(result, "result"));
    return Generate(object, options, on_text, user, result);
  });
}

/// Takes no lock: the call that it ends holds it.
bittern_status bittern_sequence_cancel(bittern_sequence* sequence) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<SequenceObject>(sequence));
    found->cancel.store(true);
    return {};
  });
}

bittern_status bittern_generate(const bittern_model* model, const char* text, size_t size,
                                const bittern_options* options, bittern_text_fn on_text, void* user,
                                bittern_result** result) {
  return Call([&]() -> Result<void> {
    auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedArray(text, size, "text"));
    BITTERN_TRY(NeedPointer(result, "result"));
    return GenerateOnce(std::move(found), std::string_view(text, size), options, on_text, user,
                        result);
  });
}
