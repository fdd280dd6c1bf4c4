// SPDX-License-Identifier: Apache-2.0
// Guessing the next tokens from the text itself: what followed the last few tokens where they
// stood before. A guess (draft) is run through the model in one batch and kept only as far as the
// sampler draws the same tokens, so it changes the time of a text and never a token of it (after
// Leviathan et al., arXiv:2211.17192, with prompt lookup in place of a small model and equal draws
// in place of rejection sampling). Nothing here runs a model or reads a clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "tokenizer/tokenizer.hpp"

namespace bittern::runtime {

using tokenizer::TokenId;

/// Whether a generation drafts (--spec).
enum class Speculation : std::uint8_t {
  kOff,
  kNgram,   ///< where it is expected to pay
  kAlways,  ///< wherever the text repeats itself: for tests and measurements
};

/// Tokens of a draft at most; one batch runs one more.
inline constexpr std::size_t kMaxDraft = 15;

/// A text of tokens, and where its last few tokens stood before. Append costs O(1).
class NgramIndex {
 public:
  static constexpr std::size_t kShortest = 2, kLongest = 4;  ///< tokens of an n-gram

  struct Match {
    std::size_t length = 0;  ///< tokens that agree, kShortest..kLongest; 0: no match
    std::size_t next = 0;    ///< position of the token after the earlier place
  };

  void Append(TokenId id);
  /// The latest earlier place where the last n tokens stood, for the largest n that has one.
  [[nodiscard]] Match Find() const;
  [[nodiscard]] std::span<const TokenId> tokens() const noexcept { return tokens_; }

 private:
  using Ngram = std::array<TokenId, kLongest>;  // from its last token backwards, then -1
  struct Hash {
    [[nodiscard]] std::size_t operator()(const Ngram& ngram) const noexcept;
  };
  /// The last `length` tokens, which there are.
  [[nodiscard]] Ngram Last(std::size_t length) const;

  std::vector<TokenId> tokens_;
  std::unordered_map<Ngram, std::size_t, Hash> next_of_;  // the position after it
};

/// Decides how long a draft may be, from what steps have cost and how often guesses came true.
/// Two rules: a draft must be expected to gain, and what it risks must have been earned by gains
/// and by a small share of the time spent, unless it is little. Keeps its experience from one
/// generation to the next.
class DraftPolicy {
 public:
  DraftPolicy();

  /// A plain decode step took `seconds`.
  void ObserveStep(double seconds);
  /// A batch of a token and its draft, `batch` (2..kMaxDraft + 1) in all, took `seconds` and gave
  /// `tokens` (1..batch) of text.
  void ObserveBatch(std::size_t batch, double seconds, std::size_t tokens);
  /// A guess after `match_length` tokens that agreed came true or not, drafted or not.
  void ObserveGuess(std::size_t match_length, bool came_true);

  /// Tokens to draft, 0..limit, where the last `match_length` tokens stood before.
  [[nodiscard]] std::size_t DraftLength(std::size_t match_length, std::size_t limit) const;

  /// The expected cost of a batch, in plain steps.
  [[nodiscard]] double Cost(std::size_t batch) const;
  /// How often a guess after so many tokens is expected to come true, 0..1.
  [[nodiscard]] double Chance(std::size_t match_length) const;

 private:
  static constexpr std::size_t kNumChances = 6;

  double step_s_ = 0;        // of a plain decode step, a running average
  int steps_ = 0;            // observed, as far as it matters
  std::size_t longest_ = 1;  // draft measured so far; the next has twice as many and one at most
  double credit_;            // plain steps that drafts may still lose
  std::array<double, kMaxDraft + 2> cost_{};  // of a batch in plain steps; 0: not seen yet
  std::array<double, kNumChances> chance_;    // by class of match length
};

/// Follows a text and proposes how it goes on.
class Drafter {
 public:
  /// `policy` outlives the drafter. `context` is what was read before.
  Drafter(Speculation mode, std::span<const TokenId> context, DraftPolicy* policy);

  /// The text goes on with `id`.
  void Accept(TokenId id);
  /// The guess for what comes next, 0..limit tokens, into `draft`.
  void Draft(std::size_t limit, std::vector<TokenId>* draft) const;

 private:
  void Match();

  Speculation mode_;
  DraftPolicy* policy_;
  NgramIndex index_;
  std::size_t match_length_ = 0;  // tokens that agree with an earlier place; 0: nothing to go by
  std::size_t next_ = 0;          // position of the guess
};

}  // namespace bittern::runtime
