// SPDX-License-Identifier: Apache-2.0
// One text on its way through the network: its tokens, the pages of those that have run, the head's
// output for the last of them, and the generation that continues it. Session drives one, Engine and
// eval's scorer drive many. All three take the same three steps:
//
//   part = sequence.Plan(limits)        which tokens it runs next, and which logits it wants
//   RunParts(resources, parts, ...)       one pass over the parts of any number of sequences
//   sequence.Sample(part)               the tokens that follow, where it generates
//
// Known tokens come in two runs: the first length() have keys and values, the rest waits.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/kv_pool.hpp"
#include "runtime/execution_resources.hpp"
#include "runtime/generation.hpp"
#include "runtime/row_results.hpp"

namespace bittern::runtime {

class Sequence;

/// How much of a pass a sequence may take.
struct PartLimits {
  std::size_t tokens = 1;       ///< >= 1
  std::size_t rows = SIZE_MAX;  ///< whose logits are wanted
  bool may_draft = true;        ///< else only where Speculation::kAlways asks for it
};

/// The tokens of one sequence in a pass. Valid until the sequence is changed.
struct Part {
  Sequence* sequence = nullptr;
  std::span<const TokenId> tokens = {};
  std::size_t rows = 0;                    ///< the last ones, whose logits are wanted
  bool drafts = false;                     ///< the token sampled last, then a guess
  std::optional<RowRequest> request = {};  ///< which logits; none: all
  std::span<float> logits = {};            ///< memory for all of them; none: the sequence's own
  int tag = 0;                             ///< for a tracer (model::Segment)
};

/// Not thread-safe; movable while no part of it is in use.
class Sequence {
 public:
  /// Empty. `pages` outlives it. context_length: tokens it may have.
  Sequence(model::KvPool* pages, int context_length)
      : pages_(pages), context_length_(context_length) {}

  /// Known tokens, oldest first.
  [[nodiscard]] std::span<const TokenId> tokens() const noexcept { return tokens_; }
  /// The tokens that have run. While a draft is being sampled: as far as it has come true.
  [[nodiscard]] std::span<const TokenId> run_tokens() const noexcept {
    return tokens().first(shown_);
  }
  [[nodiscard]] int length() const noexcept { return pages_.length(); }
  [[nodiscard]] int context_length() const noexcept { return context_length_; }
  /// Known tokens to read before another one can be sampled. 0: the token sampled last is the only
  /// one that waits; it runs with its draft.
  [[nodiscard]] int left_to_read() const noexcept;
  [[nodiscard]] model::KvSequence& pages() noexcept { return pages_; }
  [[nodiscard]] const model::KvSequence& pages() const noexcept { return pages_; }
  [[nodiscard]] const RowResults& results() const noexcept { return results_; }
  /// The row of results() that belongs to the last token of run_tokens().
  [[nodiscard]] std::size_t row() const noexcept { return row_; }

  /// Keeps up to `most` copies of a recurrent state while tokens are read, so that Truncate, Fork
  /// and the prefix cache find one near. 0, the default: none.
  void KeepStates(std::size_t most) noexcept { most_kept_ = most; }

  /// Adds tokens to read. REQUIRES: CheckPrompt has passed them.
  void Append(std::span<const TokenId> ids) {
    tokens_.insert(tokens_.end(), ids.begin(), ids.end());
  }
  /// Logits are wanted of positions from `position` on; by default of the last known token.
  void WantFrom(int position) noexcept { want_from_ = position; }
  void WantLast() noexcept { want_from_ = kLast; }
  /// Whether another sequence can see the last token's page, so that running it again takes a page.
  [[nodiscard]] bool LastPageIsShared() const noexcept {
    const int page = (length() - 1) / model::kPagePositions;
    return length() > 0 &&
           pages_.pool().references(pages_.pages()[static_cast<std::size_t>(page)]) > 1;
  }
  /// Forgets all tokens from `position` on.
  void Truncate(int position) noexcept;
  /// Forgets the known tokens that have not run. With a recurrent state those that have run may
  /// wait to be read again: they stay.
  void DropWaiting() noexcept {
    Truncate(pages_.recurrent() ? static_cast<int>(shown_) : length());
  }
  /// Gives all pages back; every known token has to run again.
  void Unload() noexcept;
  /// Counts positions as run that were put into pages().
  void NotePages() noexcept { shown_ = static_cast<std::size_t>(length()); }
  /// Another sequence with the first `position` (0..length()) tokens, in shared pages.
  [[nodiscard]] Sequence Fork(int position) const;

  /// The tokens from here on are the generation's. It ends with EndText.
  void Start(Generation generation);
  [[nodiscard]] Generation* generation() noexcept { return generation_ ? &*generation_ : nullptr; }
  [[nodiscard]] const Generation* generation() const noexcept {
    return generation_ ? &*generation_ : nullptr;
  }
  /// Drops the generation and what it sampled but has not run.
  void EndText() noexcept;

  /// The tokens to run next. REQUIRES: some token waits.
  [[nodiscard]] Part Plan(const PartLimits& limits);
  /// Samples from the last row that has run, then from the rest of the draft for as long as it
  /// agrees; positions of a draft that did not come true are forgotten. Returns the number of the
  /// part's tokens that are in the text. Ends the text where the context is full. Error kInternal:
  /// a row is not finite; the sequence is then as before its token.
  [[nodiscard]] Result<std::size_t> Sample(const Part& part);
  /// The same from the last row alone.
  [[nodiscard]] Result<void> SampleLast();

  /// Tokens, keys and values of run_tokens() as bytes (session_state.hpp).
  [[nodiscard]] std::string Save(const model::ModelConfig& config) const;
  /// A sequence from such bytes. `reserve` makes room for so many tokens. Errors: kContextFull
  /// (more tokens than context_length), those of ReadSessionState and of `reserve`.
  [[nodiscard]] static Result<Sequence> Restore(
      std::span<const std::byte> state, const model::ModelConfig& config, model::KvPool* pages,
      int context_length, const std::function<Result<void>(model::KvSequence*, int)>& reserve);

 private:
  friend Result<void> RunParts(ExecutionResources* resources, std::span<const Part> parts,
                               const model::PassWatcher* watcher,
                               std::vector<std::optional<Error>>* errors);
  static constexpr int kLast = -1;

  [[nodiscard]] std::optional<Error> Absorb(
      const Part& part, std::span<const std::optional<model::RowFailure>> failures,
      std::size_t vocab_size);
  void TakeSampled();
  /// The position at which reading stops next to keep a copy of the state; 0: none.
  [[nodiscard]] int NextKept() const noexcept;

  model::KvSequence pages_;
  int context_length_;
  std::vector<TokenId> tokens_ = {};
  std::size_t shown_ = 0;       // tokens of run_tokens()
  std::size_t text_begin_ = 0;  // where the generation's tokens begin in tokens_
  int want_from_ = kLast;
  std::size_t most_kept_ = 0;
  int keep_at_ = 0;          // where the part planned last stops to keep the state; 0: it does not
  RowResults results_ = {};  // of the last pass
  std::size_t row_ = 0;
  std::optional<Generation> generation_ = {};
};

/// Runs one pass over the parts. `errors` gets one entry a part: kInternal if a value of a token
/// was not finite; its sequence is then as before that token. Rows of a draft are checked later, by
/// Sample. Errors as ExecutionResources::Run: then no sequence has changed. `watcher` may be null.
/// REQUIRES: every part's pages are reserved.
[[nodiscard]] Result<void> RunParts(ExecutionResources* resources, std::span<const Part> parts,
                                    const model::PassWatcher* watcher,
                                    std::vector<std::optional<Error>>* errors);

}  // namespace bittern::runtime
