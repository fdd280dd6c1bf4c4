// SPDX-License-Identifier: Apache-2.0
// One text being generated: which tokens the next forward pass should run, and what to make of its
// logits. Knows no pages and no threads; Session and Engine run the passes.
//
// The tokens of a pass are the last sampled token and a draft (speculation.hpp) of what may follow
// it. The rows are sampled one after the other for as long as the draft agrees, so a draft changes
// the number of passes and never a token.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "grammar/matcher.hpp"
#include "model/model.hpp"
#include "runtime/generate_options.hpp"
#include "runtime/loaded_model.hpp"
#include "runtime/row_results.hpp"
#include "runtime/sampling/loop_detector.hpp"
#include "runtime/sampling/sampler.hpp"
#include "runtime/text_stream.hpp"

namespace bittern::runtime {

/// The sampler's request for a row, if that is not all logits and the head can be screened for it;
/// holds for up to `more` tokens that are accepted later. Logprobs want all; what a constraint
/// wants is Generation::Wanted.
[[nodiscard]] std::optional<model::CandidateRequest> ScreenFor(const model::Model& model,
                                                               const GenerateOptions& options,
                                                               const Sampler& sampler,
                                                               std::size_t more = 0);

/// The end tokens, if a text under a constraint may end here: they may be picked although no mask
/// holds them. Live as long as the model.
[[nodiscard]] std::span<const TokenId> EndTokensOf(const LoadedModel& model,
                                                   const grammar::TokenMask& mask, bool ignore_eos);

/// Rows of one sequence up to which screening pays; the whole head, read once for all, costs less
/// than a scan for every few of more rows.
inline constexpr std::size_t kMostScreenedDraft = 2 * model::kScreenVectors;

/// Not thread-safe.
class Generation {
 public:
  /// `model` and `policy` outlive it. Errors: kInvalidArgument (sampler options; a stop string that
  /// is not UTF-8).
  [[nodiscard]] static Result<Generation> Create(const LoadedModel& model,
                                                 const GenerateOptions& options,
                                                 std::function<bool(std::string_view)> on_text,
                                                 DraftPolicy* policy);

  /// Adds tokens of the context, before the first Sample.
  void AddContext(std::span<const TokenId> tokens);

  /// Samples from rows[first..], the results of the tokens `window`: of window[first], then of each
  /// further token that the last sample agrees with; on_row(row), if any, is called before each.
  /// Ends the text where options.cancel is set. Returns the number of tokens of the window that are
  /// part of the text, first + 1 or more. Tokens that a constraint forces then follow at once: they
  /// are in ids() and have yet to run. Error kInternal: the values of a row are not finite.
  [[nodiscard]] Result<std::size_t> Sample(std::span<const TokenId> window, std::size_t first,
                                           const RowResults& rows,
                                           const std::function<void(std::size_t)>& on_row = {});

  /// The text ends (kContextFull) with so many sampled tokens where the last ones are forced.
  void LimitTo(std::size_t sampled) noexcept { most_ids_ = sampled; }

  /// Set once the text has ended.
  [[nodiscard]] const std::optional<FinishReason>& finish() const noexcept { return finish_; }
  /// Ends the text.
  void End(FinishReason reason) noexcept { finish_ = reason; }

  /// The tokens to run next: the last sampled one and a draft, `limit` (>= 1) at most in all.
  /// Without `may_draft` only a sequence with Speculation::kAlways drafts.
  [[nodiscard]] const std::vector<TokenId>& NextWindow(std::size_t limit, bool may_draft);
  /// Tells how long the pass over the last window took, and how many of its tokens are in the text.
  void ObservePass(double seconds, std::size_t accepted);

  /// The request for each row of the next pass, of `rows` rows; nothing: all logits.
  [[nodiscard]] std::optional<RowRequest> Wanted(std::size_t rows = 1);
  /// The ids sampled so far, without the end token.
  [[nodiscard]] std::span<const TokenId> ids() const noexcept { return ids_; }
  [[nodiscard]] int sampled() const noexcept { return sampled_; }
  [[nodiscard]] int drafted() const noexcept { return drafted_; }
  [[nodiscard]] int accepted() const noexcept { return accepted_; }
  [[nodiscard]] int forced() const noexcept { return num_forced_; }
  /// Gives out the text that is held back, and everything about this generation. Once, at the end.
  [[nodiscard]] GenerateResult Finish();

 private:
  Generation(const LoadedModel& model, const GenerateOptions& options, Sampler sampler,
             std::function<bool(std::string_view)> on_text, DraftPolicy* policy);
  [[nodiscard]] Result<void> SampleRow(std::size_t row, const RowResults& rows);
  [[nodiscard]] std::optional<RowRequest> WantedOfMask();
  [[nodiscard]] Result<TokenId> Pick(std::size_t row, const RowResults& rows);
  [[nodiscard]] Result<TokenId> PickAllowed(std::size_t row, const RowResults& rows);
  [[nodiscard]] std::span<const TokenId> EndTokens(const grammar::TokenMask& mask) const;
  [[nodiscard]] Result<void> PlanForced();
  [[nodiscard]] Result<TokenId> PickForced();
  [[nodiscard]] Result<void> Take(TokenId id);
  [[nodiscard]] Result<void> TakeForced();
  void TakeLogprobs(TokenId id, std::size_t row, const RowResults& rows);
  void Accept(TokenId id);

  const LoadedModel* model_;
  GenerateOptions options_;
  Sampler sampler_;
  TextStream stream_;
  DraftPolicy* policy_;
  LoopDetector loops_;
  std::optional<grammar::Matcher> matcher_ = {};  // of the constraint
  std::vector<TokenId> forced_ = {};              // that come next whatever the model says
  std::size_t next_forced_ = 0;                   // in forced_; its size: the model is asked
  std::size_t most_ids_ = SIZE_MAX;
  std::vector<TokenLogprobs> logprobs_ = {};
  std::optional<Drafter> drafter_ = {};  // made with the context
  std::vector<TokenId> context_ = {};    // until then
  std::vector<TokenId> ids_ = {}, window_ = {};
  std::optional<FinishReason> finish_ = {};
  int sampled_ = 0, drafted_ = 0, accepted_ = 0, num_forced_ = 0;
};

}  // namespace bittern::runtime
