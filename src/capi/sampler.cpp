// SPDX-License-Identifier: Apache-2.0
// Samplers of the C interface, for programs that choose tokens themselves.
#include "runtime/sampling/sampler.hpp"

#include <fmt/format.h>

#include <mutex>
#include <optional>

#include "capi/objects.hpp"
#include "capi/options.hpp"
#include "grammar/matcher.hpp"
#include "runtime/generation.hpp"

namespace bittern::capi {
namespace {

using runtime::TokenId;

/// A sampler and the tokens that it remembers. Calls of several threads wait for each other.
class SamplerObject : public Object {
 public:
  static constexpr int kKind = 6;
  static constexpr const char* kWhat = "a sampler";
  /// `of` may be null: then there is no vocabulary, and no matcher.
  SamplerObject(std::shared_ptr<ModelObject> of, runtime::Sampler made,
                std::optional<grammar::Matcher> matcher, bool ignore_eos)
      : Object(kKind, /*of_process=*/true),
        model_(std::move(of)),
        sampler_(std::move(made)),
        matcher_(std::move(matcher)),
        ignore_eos_(ignore_eos) {}

  [[nodiscard]] Result<void> Accept(TokenId id);
  [[nodiscard]] Result<TokenId> Sample(std::span<const float> logits);

 private:
  [[nodiscard]] Result<TokenId> SampleAllowed(std::span<const float> logits);

  std::mutex mutex_;
  std::shared_ptr<ModelObject> model_;  // outlives what follows
  runtime::Sampler sampler_;
  std::optional<grammar::Matcher> matcher_;
  std::vector<TokenId> forced_ = {};  // that the grammar leaves no choice about, still to come
  bool ignore_eos_;
  bool has_drawn_ = false;  // what is accepted before is the prompt, which obeys no grammar
};

/// A token that the grammar does not allow changes nothing.
Result<void> SamplerObject::Accept(TokenId id) {
  if (id < 0) return Fail(ErrorCode::kInvalidArgument, "id: 0 or more expected");
  const std::lock_guard lock(mutex_);
  if (matcher_ && has_drawn_ && !model_->loaded->tokenizer.IsEndOfGeneration(id)) {
    const auto mask = BITTERN_TRY(matcher_->Mask());
    if (!mask->Allows(id)) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("id: a token that the grammar allows expected, {} found", id));
    }
    BITTERN_TRY(matcher_->Accept(id));
    if (!forced_.empty() && forced_.front() == id) {
      forced_.erase(forced_.begin());
    } else {
      forced_.clear();
    }
  }
  sampler_.Accept(id);
  return {};
}

/// Logits that are no numbers are the caller's, so that is the caller's error.
Result<TokenId> SamplerObject::Sample(std::span<const float> logits) {
  const std::lock_guard lock(mutex_);
  auto id = matcher_ ? SampleAllowed(logits) : sampler_.Sample(logits);
  if (id) has_drawn_ = true;
  if (!id && id.error().code == ErrorCode::kInternal) {
    return Fail(ErrorCode::kInvalidArgument, "logits: " + id.error().message);
  }
  return id;
}

/// Tokens that the grammar forces come as bittern_sequence_generate cuts them, whatever the logits.
Result<TokenId> SamplerObject::SampleAllowed(std::span<const float> logits) {
  const auto vocab_size = static_cast<std::size_t>(model_->loaded->model.config().vocab_size);
  if (logits.size() != vocab_size) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("count: {} (vocab_size) expected, {} found", vocab_size, logits.size()));
  }
  if (forced_.empty()) {
    forced_ = BITTERN_TRY(matcher_->ForcedTokens(model_->loaded->tokenizer));
  }
  if (!forced_.empty()) return sampler_.SampleForced(forced_.front());
  const auto mask = BITTERN_TRY(matcher_->Mask());
  return sampler_.SampleAllowed(logits, *mask,
                                runtime::EndTokensOf(*model_->loaded, *mask, ignore_eos_));
}

/// A constraint without a vocabulary is refused: nothing could obey it.
Result<std::shared_ptr<SamplerObject>> MakeSampler(std::shared_ptr<ModelObject> model,
                                                   const void* options) {
  const Settings settings = BITTERN_TRY(SettingsOf(options));
  const auto* loaded = model == nullptr ? nullptr : model->loaded.get();
  const auto generate = BITTERN_TRY(GenerateOptionsOf(settings, loaded));
  std::optional<grammar::Matcher> matcher;
  if (generate.constraint && loaded == nullptr) {
    return Fail(ErrorCode::kInvalidArgument,
                "grammar, json_schema, regex: none expected, since this sampler has no vocabulary",
                "bittern_sampler_create_for makes one that has a model's");
  }
  if (generate.constraint) {
    matcher.emplace(BITTERN_TRY(loaded->grammars->Get(*generate.constraint)));
  }
  auto made = BITTERN_TRY(
      runtime::Sampler::Create(generate.sampler, loaded == nullptr ? nullptr : &loaded->tokenizer));
  return std::make_shared<SamplerObject>(std::move(model), std::move(made), std::move(matcher),
                                         generate.ignore_eos);
}

}  // namespace
}  // namespace bittern::capi

using namespace bittern;        // NOLINT: the C functions below stand outside of any namespace
using namespace bittern::capi;  // NOLINT

/// No model is known here, so no model's recommendation is used.
bittern_status bittern_sampler_create(const bittern_options* options, bittern_sampler** sampler) {
  return Call([&]() -> Result<void> {
    BITTERN_TRY(NeedPointer(sampler, "sampler"));
    auto made = BITTERN_TRY(MakeSampler(nullptr, options));
    *sampler = static_cast<bittern_sampler*>(AddHandle(std::move(made)));
    return {};
  });
}

bittern_status bittern_sampler_create_for(const bittern_model* model,
                                          const bittern_options* options,
                                          bittern_sampler** sampler) {
  return Call([&]() -> Result<void> {
    auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedPointer(sampler, "sampler"));
    auto made = BITTERN_TRY(MakeSampler(std::move(found), options));
    *sampler = static_cast<bittern_sampler*>(AddHandle(std::move(made)));
    return {};
  });
}

void bittern_sampler_free(bittern_sampler* sampler) { RemoveHandle(sampler, SamplerObject::kKind); }

bittern_status bittern_sampler_accept(bittern_sampler* sampler, int32_t id) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<SamplerObject>(sampler));
    return found->Accept(id);
  });
}

bittern_status bittern_sampler_sample(bittern_sampler* sampler, const float* logits, size_t count,
                                      int32_t* id) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<SamplerObject>(sampler));
    BITTERN_TRY(NeedPointer(logits, "logits"));
    BITTERN_TRY(NeedPointer(id, "id"));
    if (count == 0 || count > static_cast<std::size_t>(INT32_MAX)) {
      return Fail(ErrorCode::kInvalidArgument, "count: 1 to 2147483647 logits expected");
    }
    *id = BITTERN_TRY(found->Sample({logits, count}));
    return {};
  });
}
