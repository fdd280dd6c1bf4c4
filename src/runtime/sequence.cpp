// SPDX-License-Identifier: Apache-2.0
// Plan and Absorb are the two halves of a step, the same for every driver. A driver decides which
// sequences run and how many tokens of each.
#include "runtime/sequence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/session_state.hpp"

namespace bittern::runtime {

namespace {

// A state is kept at multiples of kKeepEvery tokens. One more is kept kBeforeEnd tokens before the
// end of the prompt, since the next turn of a conversation shares all but the last few tokens. Two
// copies are at least kLeastApart tokens apart: to read fewer tokens costs less than a copy.
constexpr int kKeepEvery = 512, kBeforeEnd = 16, kLeastApart = 32;

}  // namespace

int Sequence::NextKept() const noexcept {
  if (most_kept_ == 0 || !pages_.recurrent()) return 0;
  const int known = static_cast<int>(tokens_.size());
  const int whole = (length() / kKeepEvery + 1) * kKeepEvery, near_end = known - kBeforeEnd;
  const int last = pages_.kept().empty() ? 0 : pages_.kept().back().position;
  const int next = near_end > length() ? std::min(whole, near_end) : whole;
  return next <= known && next - last >= kLeastApart ? next : 0;
}

int Sequence::left_to_read() const noexcept {
  const int left = static_cast<int>(tokens_.size()) - length();
  return generation_ && generation_->sampled() > 0 && left == 1 ? 0 : left;
}

void Sequence::Truncate(int position) noexcept {
  pages_.Truncate(position);
  tokens_.resize(std::min(tokens_.size(), static_cast<std::size_t>(position)));
  shown_ = std::min(shown_, tokens_.size());
}

void Sequence::Unload() noexcept {
  pages_.Truncate(0);
  shown_ = 0;
}

Sequence Sequence::Fork(int position) const {
  Sequence fork(&pages_.pool(), context_length_);
  fork.pages_ = pages_.Fork(position);
  fork.tokens_.assign(tokens_.begin(), tokens_.begin() + position);
  fork.shown_ = fork.tokens_.size();
  fork.most_kept_ = most_kept_;
  return fork;
}

void Sequence::Start(Generation generation) {
  generation_.emplace(std::move(generation));
  generation_->LimitTo(static_cast<std::size_t>(context_length_) - tokens_.size() + 1);
  text_begin_ = tokens_.size();
}

void Sequence::EndText() noexcept {
  generation_.reset();
  DropWaiting();
}

/// The part of the next pass: the prompt's tokens that wait, or the last token and its draft. Rows
/// are the positions whose logits are wanted; they are the last ones of the part.
Part Sequence::Plan(const PartLimits& limits) {
  const auto done = static_cast<std::size_t>(length());
  Part part{.sequence = this};
  if (left_to_read() == 0) {
    const std::size_t room = static_cast<std::size_t>(context_length_) - done;
    part.tokens = generation_->NextWindow(std::min(limits.tokens, room), limits.may_draft);
    part.drafts = true;
    // A recurrent state goes back to its copy when a guess does not come true.
    if (part.tokens.size() > 1 && pages_.recurrent() && !pages_.KeepState()) {
      part.tokens = generation_->NextWindow(1, false);
    }
    part.rows = part.tokens.size();
  } else {
    const std::size_t wanted =
        want_from_ == kLast ? tokens_.size() - 1 : static_cast<std::size_t>(want_from_);
    const std::size_t plain = wanted - std::min(wanted, done);  // tokens before the first row
    std::size_t count = std::min(limits.tokens, tokens_.size() - done);
    if (limits.rows < count) count = std::min(count, plain + limits.rows);
    keep_at_ = NextKept();
    if (keep_at_ != 0) count = std::min(count, static_cast<std::size_t>(keep_at_) - done);
    part.tokens = tokens().subspan(done, count);
    part.rows = count - std::min(count, plain);
  }
  if (part.rows > 0 && generation_) part.request = generation_->Wanted(part.rows);
  return part;
}

/// Takes what a pass has given of this sequence's part.
std::optional<Error> Sequence::Absorb(const Part& part,
                                      std::span<const std::optional<model::RowFailure>> failures,
                                      std::size_t vocab_size) {
  std::ranges::copy(failures.last(part.rows), results_.failures.begin());
  row_ = part.rows == 0 ? 0 : part.rows - 1;
  if (part.drafts) return std::nullopt;
  const int first = length() - static_cast<int>(part.tokens.size());
  const std::size_t unseen = part.tokens.size() - part.rows;
  shown_ = static_cast<std::size_t>(length());
  for (std::size_t i = 0; i < failures.size(); ++i) {
    Result<void> good;
    if (i >= unseen) {
      good = CheckRow(results_, i - unseen, vocab_size);
    } else if (failures[i]) {
      good = tl::unexpected(model::NotFiniteError(*failures[i], first + static_cast<int>(i)));
    }
    if (good) continue;
    Truncate(first + static_cast<int>(i));
    return std::move(good).error();
  }
  if (length() == keep_at_ && pages_.KeepState()) pages_.LimitKept(most_kept_);
  return std::nullopt;
}

/// Makes the known tokens those before the text and the text.
void Sequence::TakeSampled() {
  const std::span<const TokenId> ids = generation_->ids();
  tokens_.resize(text_begin_);
  Append(ids);
  if (!generation_->finish() && length() >= context_length_) {
    generation_->End(FinishReason::kContextFull);
  }
}

Result<void> Sequence::SampleLast() {
  BITTERN_TRY(generation_->Sample(run_tokens().last(1), row_, results_));
  TakeSampled();
  return {};
}

Result<std::size_t> Sequence::Sample(const Part& part) {
  if (!part.drafts) {
    BITTERN_TRY(SampleLast());
    return part.tokens.size();
  }
  const std::size_t before = static_cast<std::size_t>(length()) - part.tokens.size();
  // Listeners see the sequence as it would be without drafts: a token joins when its turn comes.
  const auto on_row = [&](std::size_t row) {
    tokens_.resize(before + row);
    tokens_.push_back(part.tokens[row]);
    shown_ = tokens_.size();
    row_ = row;
  };
  auto used = generation_->Sample(part.tokens, 0, results_, on_row);
  if (!used) {
    Truncate(static_cast<int>(before + row_));
    return used;
  }
  pages_.Truncate(static_cast<int>(before + *used));
  if (part.tokens.size() > 1) pages_.DropKept(static_cast<int>(before));
  TakeSampled();
  return used;
}

std::string Sequence::Save(const model::ModelConfig& config) const {
  return WriteSessionState(config, run_tokens(), pages_);
}

Result<Sequence> Sequence::Restore(
    std::span<const std::byte> state, const model::ModelConfig& config, model::KvPool* pages,
    int context_length, const std::function<Result<void>(model::KvSequence*, int)>& reserve) {
  SessionState read = BITTERN_TRY(ReadSessionState(state, config, *pages));
  if (read.tokens.size() > static_cast<std::size_t>(context_length)) {
    return Fail(ErrorCode::kContextFull,
                fmt::format("the state has {} tokens, but the context holds {}", read.tokens.size(),
                            context_length));
  }
  Sequence sequence(pages, context_length);
  BITTERN_TRY(reserve(&sequence.pages_, static_cast<int>(read.tokens.size())));
  ReadPages(read, &sequence.pages_);
  sequence.tokens_ = std::move(read.tokens);
  sequence.shown_ = sequence.tokens_.size();
  return sequence;
}

/// One pass over parts of several sequences. A failure in one sequence's values is its own error
/// and leaves the others alone.
Result<void> RunParts(ExecutionResources* resources, std::span<const Part> parts,
                      const model::PassWatcher* watcher,
                      std::vector<std::optional<Error>>* errors) {
  const std::size_t vocab_size = resources->vocab_size();
  std::vector<model::Segment> segments;
  segments.reserve(parts.size());
  for (const Part& part : parts) {
    model::Segment segment{
        .sequence = &part.sequence->pages_, .tokens = part.tokens, .tag = part.tag};
    part.sequence->results_.Prepare(part.rows, part.request, vocab_size, part.logits, &segment);
    segments.push_back(segment);
  }
  model::ForwardState& state = resources->state();
  state.SetWatcher(watcher);
  Result<void> done = resources->Run(segments);
  state.SetWatcher(nullptr);
  BITTERN_TRY(std::move(done));
  auto failures = state.failures();
  errors->clear();
  for (const Part& part : parts) {
    const std::size_t count = part.tokens.size();
    errors->push_back(part.sequence->Absorb(part, failures.first(count), vocab_size));
    failures = failures.subspan(count);
  }
  return {};
}

}  // namespace bittern::runtime
