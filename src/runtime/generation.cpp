// SPDX-License-Identifier: Apache-2.0
// Sampling and stopping for one text, row by row. The rows of a pass are the last token and a
// draft: rows are sampled for as long as the draft agrees with what is sampled, so drafts change
// speed only.
#include "runtime/generation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/utf8.hpp"

namespace bittern::runtime {
namespace {

/// A stop string that is not UTF-8 could never match: the text that is searched is UTF-8.
Result<void> CheckStops(std::span<const std::string> stops) {
  for (const std::string& stop : stops) {
    if (ReplaceInvalidUtf8(stop) == stop) continue;
    return Fail(ErrorCode::kInvalidArgument, "a stop string is not valid UTF-8");
  }
  return {};
}

}  // namespace

std::string_view FinishReasonName(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::kLength:
      return "length";
    case FinishReason::kEndOfText:
      return "end_of_text";
    case FinishReason::kStopString:
      return "stop_string";
    case FinishReason::kContextFull:
      return "context_full";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kLoop:
      return "loop";
  }
  return "unknown";
}

std::optional<model::CandidateRequest> ScreenFor(const model::Model& model,
                                                 const GenerateOptions& options,
                                                 const Sampler& sampler, std::size_t more) {
  if (options.logprobs >= 0) return std::nullopt;
  const auto request = sampler.Request(more);
  return request && model.CanScreen(*request) ? request : std::nullopt;
}

Result<Generation> Generation::Create(const LoadedModel& model, const GenerateOptions& options,
                                      std::function<bool(std::string_view)> on_text,
                                      DraftPolicy* policy) {
  BITTERN_TRY(CheckStops(options.stops));
  Sampler sampler = BITTERN_TRY(Sampler::Create(options.sampler, &model.tokenizer));
  Generation generation(model, options, std::move(sampler), std::move(on_text), policy);
  if (options.constraint) {
    generation.matcher_.emplace(BITTERN_TRY(model.grammars->Get(*options.constraint)));
  }
  return generation;
}

/// max_tokens 0 asks for no text at all: the generation has ended before it begins.
Generation::Generation(const LoadedModel& model, const GenerateOptions& options, Sampler sampler,
                       std::function<bool(std::string_view)> on_text, DraftPolicy* policy)
    : model_(&model),
      options_(options),
      sampler_(std::move(sampler)),
      stream_(model.tokenizer, options.render_special, options.stops, std::move(on_text)),
      policy_(policy) {
  if (options_.max_tokens == 0) finish_ = FinishReason::kLength;
}

void Generation::AddContext(std::span<const TokenId> tokens) {
  for (const TokenId id : tokens) sampler_.Accept(id);
  context_.insert(context_.end(), tokens.begin(), tokens.end());
}

/// Samples rows as long as the draft agrees: row i + 1 was computed behind window[i + 1], so it is
/// of use only if that very token was sampled from row i.
Result<std::size_t> Generation::Sample(std::span<const TokenId> window, std::size_t first,
                                       const RowResults& rows,
                                       const std::function<void(std::size_t)>& on_row) {
  std::size_t row = first;
  for (;; ++row) {
    if (on_row) on_row(row);
    const std::size_t before = ids_.size();
    BITTERN_TRY(SampleRow(row, rows));
    const std::atomic<bool>* cancel = options_.cancel;
    if (!finish_ && cancel != nullptr && cancel->load(std::memory_order_relaxed)) {
      finish_ = FinishReason::kCancelled;
    }
    // Forced tokens run next.
    if (finish_ || row + 1 >= window.size() || ids_.size() != before + 1) break;
    if (window[row + 1] != ids_.back()) break;
  }
  accepted_ += static_cast<int>(row - first);
  return row + 1;
}

/// Picks the token after a row, and those that are forced after it.
Result<void> Generation::SampleRow(std::size_t row, const RowResults& rows) {
  const auto vocab_size = static_cast<std::size_t>(model_->model.config().vocab_size);
  BITTERN_TRY(CheckRow(rows, row, vocab_size));
  const TokenId id = BITTERN_TRY(Pick(row, rows));
  // Under a constraint such a token is picked only where the text may end.
  if ((!options_.ignore_eos || matcher_) && model_->tokenizer.IsEndOfGeneration(id)) {
    ++sampled_;
    finish_ = FinishReason::kEndOfText;
    return {};
  }
  if (options_.logprobs >= 0) TakeLogprobs(id, row, rows);
  BITTERN_TRY(Take(id));
  return TakeForced();
}

Result<TokenId> Generation::Pick(std::size_t row, const RowResults& rows) {
  if (matcher_) {
    BITTERN_TRY(PlanForced());
    return next_forced_ < forced_.size() ? PickForced() : PickAllowed(row, rows);
  }
  const auto vocab_size = static_cast<std::size_t>(model_->model.config().vocab_size);
  if (rows.request) return sampler_.SampleFrom(rows.candidates[row]);
  return sampler_.Sample(rows.logits.subspan(row * vocab_size, vocab_size));
}

/// Adds a token to the text and decides whether the text ends with it.
Result<void> Generation::Take(TokenId id) {
  ++sampled_;
  if (matcher_) BITTERN_TRY(matcher_->Accept(id));
  const bool loops = options_.stop_on_loop && loops_.Push(id);
  if (options_.on_token) options_.on_token(id, options_.logprobs < 0 ? nullptr : &logprobs_.back());
  Accept(id);
  if (stream_.refused()) {
    finish_ = FinishReason::kCancelled;
  } else if (stream_.stopped()) {
    finish_ = FinishReason::kStopString;
  } else if (matcher_ && matcher_->complete()) {
    finish_ = FinishReason::kEndOfText;
  } else if (options_.max_tokens >= 0 && sampled_ >= options_.max_tokens) {
    finish_ = FinishReason::kLength;
  } else if (loops) {
    finish_ = FinishReason::kLoop;
  }
  return {};
}

/// Finds the tokens that are forced now, if none are waiting.
Result<void> Generation::PlanForced() {
  if (next_forced_ < forced_.size()) return {};
  forced_ = BITTERN_TRY(matcher_->ForcedTokens(model_->tokenizer));
  next_forced_ = 0;
  return {};
}

Result<TokenId> Generation::PickForced() { return sampler_.SampleForced(forced_[next_forced_++]); }

/// The tokens that are forced need no logits, but for their logprobs.
Result<void> Generation::TakeForced() {
  while (matcher_ && options_.logprobs < 0 && !finish_ && ids_.size() < most_ids_) {
    BITTERN_TRY(PlanForced());
    if (next_forced_ == forced_.size()) break;
    const TokenId id = BITTERN_TRY(PickForced());
    BITTERN_TRY(Take(id));
    ++num_forced_;
  }
  // The last one has no position to run at.
  if (!finish_ && ids_.size() >= most_ids_) finish_ = FinishReason::kContextFull;
  return {};
}

std::span<const TokenId> EndTokensOf(const LoadedModel& model, const grammar::TokenMask& mask,
                                     bool ignore_eos) {
  const bool ends = mask.may_end && (!ignore_eos || mask.count == 0);
  return ends ? model.tokenizer.end_of_generation_ids() : std::span<const TokenId>();
}

std::span<const TokenId> Generation::EndTokens(const grammar::TokenMask& mask) const {
  return EndTokensOf(*model_, mask, options_.ignore_eos);
}

/// Picks among the tokens that the constraint allows; one that ends the text is among them where
/// the text may end.
Result<TokenId> Generation::PickAllowed(std::size_t row, const RowResults& rows) {
  if (rows.request) return sampler_.SampleAllowedFrom(rows.candidates[row]);
  const auto vocab_size = static_cast<std::size_t>(model_->model.config().vocab_size);
  const auto mask = BITTERN_TRY(matcher_->Mask());
  return sampler_.SampleAllowed(rows.logits.subspan(row * vocab_size, vocab_size), *mask,
                                EndTokens(*mask));
}

void Generation::TakeLogprobs(TokenId id, std::size_t row, const RowResults& rows) {
  const auto vocab_size = static_cast<std::size_t>(model_->model.config().vocab_size);
  const auto logits = rows.logits.subspan(row * vocab_size, vocab_size);
  logprobs_.push_back(LogprobsOf(logits, id, options_.logprobs));
  if (options_.logprobs_of_draw) {
    logprobs_.back().draw = LogprobsOfDraw(sampler_.LastCandidates(), id, options_.logprobs);
  }
}

void Generation::Accept(TokenId id) {
  if (!drafter_) {
    drafter_.emplace(options_.speculation, context_, policy_);
    context_ = {};
  }
  sampler_.Accept(id);
  drafter_->Accept(id);
  ids_.push_back(id);
  stream_.Push(id);
}

/// The tokens of the next pass: the last one, then a draft. The draft is cut where the text would
/// end anyway.
const std::vector<TokenId>& Generation::NextWindow(std::size_t limit, bool may_draft) {
  window_.clear();
  const bool drafts = may_draft || options_.speculation == Speculation::kAlways;
  if (drafts && limit > 1) {
    std::size_t most = limit - 1;
    if (options_.max_tokens >= 0) {  // nothing is wanted after the last token
      const int left = options_.max_tokens - sampled_ - 1;
      most = std::min(most, static_cast<std::size_t>(std::max(left, 0)));
    }
    drafter_->Draft(most, &window_);
    if (!options_.ignore_eos) {  // nor after the end
      const auto end = std::ranges::find_if(
          window_, [&](TokenId id) { return model_->tokenizer.IsEndOfGeneration(id); });
      window_.erase(end, window_.end());
    }
  }
  drafted_ += static_cast<int>(window_.size());
  window_.insert(window_.begin(), ids_.back());
  return window_;
}

/// Tells the policy what the pass has cost; a window without a draft was a plain step.
void Generation::ObservePass(double seconds, std::size_t accepted) {
  if (window_.size() == 1) {
    policy_->ObserveStep(seconds);
  } else {
    policy_->ObserveBatch(window_.size(), seconds, accepted);
  }
}

/// Under a constraint a row's mask depends on the tokens before it, so only a single row is asked
/// for in part.
std::optional<RowRequest> Generation::Wanted(std::size_t rows) {
  if (matcher_) return rows == 1 ? WantedOfMask() : std::nullopt;
  if (rows > kMostScreenedDraft) return std::nullopt;
  const auto best = ScreenFor(model_->model, options_, sampler_, rows - 1);
  return best ? std::optional(RowRequest{.best = best}) : std::nullopt;
}

/// Wants all logits of a few tokens, the best ones of many, as without a constraint.
std::optional<RowRequest> Generation::WantedOfMask() {
  const auto found = matcher_->Mask();
  if (options_.logprobs >= 0 || !found) return std::nullopt;  // an error comes when one is sampled
  const grammar::TokenMask& mask = **found;
  const std::span<const TokenId> also = EndTokens(mask);
  RowRequest request;
  if (mask.bits.empty()) {
    request.ids = mask.few;
    request.ids.insert(request.ids.end(), also.begin(), also.end());
    std::ranges::sort(request.ids);
    const auto known = [&](TokenId id) { return id < model_->model.config().vocab_size; };
    std::erase_if(request.ids, [&](TokenId id) { return !known(id); });
    return request.ids.empty() ? std::nullopt : std::optional(std::move(request));
  }
  request.best = ScreenFor(model_->model, options_, sampler_);
  // Too few for as many of the best ones: then nearly all would be computed one by one.
  if (!request.best || 2 * request.best->count > mask.count) return std::nullopt;
  request.allowed = mask.bits;
  for (const TokenId id : also) {
    const auto i = static_cast<std::size_t>(id);
    if (i / 64 < request.allowed.size()) request.allowed[i / 64] |= std::uint64_t{1} << (i % 64);
  }
  return request;
}

GenerateResult Generation::Finish() {
  stream_.Finish();
  return {.ids = ids_,
          .text = stream_.text(),
          .finish = finish_.value_or(FinishReason::kCancelled),
          .cut = matcher_ && !matcher_->accepting(),
          .stopping_word = stream_.stopping_word(),
          .seed = sampler_.seed(),
          .drafted = drafted_,
          .accepted = accepted_,
          .forced = num_forced_,
          .logprobs = std::move(logprobs_),
          .sampled = sampled_};
}

}  // namespace bittern::runtime
