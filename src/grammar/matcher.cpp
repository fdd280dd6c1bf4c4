// SPDX-License-Identifier: Apache-2.0
// The walk: subtrees whose next byte is dead are left out; subtrees of plain characters are taken
// as a whole where the state allows that many of them, which makes most of a vocabulary one step
// inside a string.
#include "grammar/matcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/sort_once.hpp"
#include "grammar/compiled_grammar.hpp"
#include "tokenizer/tokenizer.hpp"

namespace bittern::grammar {
namespace {

/// Sets the bits of [first, last), whole words at once.
void FillBits(std::size_t first, std::size_t last, std::vector<std::uint64_t>* bits) {
  for (; first < last && first % 64 != 0; ++first) (*bits)[first / 64] |= 1ull << (first % 64);
  for (; first + 64 <= last; first += 64) (*bits)[first / 64] = ~0ull;
  for (; first < last; ++first) (*bits)[first / 64] |= 1ull << (first % 64);
}

bool Bit(const std::vector<std::uint64_t>& bits, std::size_t i) {
  return ((bits[i / 64] >> (i % 64)) & 1) != 0;
}

}  // namespace

bool TokenMask::Allows(TokenId id) const noexcept {
  if (bits.empty()) return std::ranges::binary_search(few, id);
  const auto i = static_cast<std::size_t>(id);
  return i / 64 < bits.size() && Bit(bits, i);
}

Result<std::shared_ptr<CompiledGrammar>> CompiledGrammar::Create(
    const Grammar& grammar, std::shared_ptr<const VocabularyTrie> vocabulary) {
  Nfa nfa = BITTERN_TRY(Nfa::Build(grammar));
  return std::shared_ptr<CompiledGrammar>(
      new CompiledGrammar(std::move(nfa), std::move(vocabulary)));
}

/// Drops all states and what is kept by state. The new epoch tells each matcher that its state's
/// number means nothing now (Matcher::Sync).
void CompiledGrammar::Forget() {
  automaton_.Clear();
  masks_.clear();
  plain_runs_.clear();
  forced_.clear();
  mask_bytes_ = 0;
  ++epoch_;
}

/// How many plain characters, any of them, the grammar takes from here, up to a limit.
std::size_t CompiledGrammar::PlainRun(StateId state) {
  constexpr std::size_t kMost = VocabularyTrie::kMostPlain, kAhead = 2 * kMost, kMostStates = 40;
  const auto known = plain_runs_.find(state);
  if (known != plain_runs_.end()) return known->second;
  // Lead bytes and what may follow them: Unicode 15, table 3-7.
  struct Form {
    std::uint8_t low, high, second_low, second_high;
    int more;
  };
  constexpr Form kForms[] = {{0xc2, 0xdf, 0x80, 0xbf, 0}, {0xe0, 0xe0, 0xa0, 0xbf, 1},
                             {0xe1, 0xec, 0x80, 0xbf, 1}, {0xed, 0xed, 0x80, 0x9f, 1},
                             {0xee, 0xef, 0x80, 0xbf, 1}, {0xf0, 0xf0, 0x90, 0xbf, 2},
                             {0xf1, 0xf3, 0x80, 0xbf, 2}, {0xf4, 0xf4, 0x80, 0x8f, 2}};
  std::vector<StateId> from = {state};
  // As long as each step leads to one state, the answer for this one is one for those, too.
  std::vector<StateId> chain = {state};
  std::size_t run = 0;
  for (; run < kAhead; ++run) {
    std::vector<StateId> to;
    bool alive = true;
    // The states after any byte of a range, from each of `states`.
    const auto step = [&](const std::vector<StateId>& states, int low, int high) {
      std::vector<StateId> found;
      for (const StateId s : states) {
        int last_class = -1;
        for (int byte = low; byte <= high && alive; ++byte) {
          const auto b = static_cast<std::uint8_t>(byte);
          if (b < 0x80 && !IsPlainByte(b)) continue;
          if (automaton_.nfa().byte_class(b) == last_class) continue;
          last_class = automaton_.nfa().byte_class(b);
          const StateId next = automaton_.Next(s, b);
          alive = next < kTooMuch;
          if (alive && std::ranges::find(found, next) == found.end()) found.push_back(next);
        }
      }
      alive = alive && found.size() <= kMostStates;
      return found;
    };
    const auto join = [&](const std::vector<StateId>& found) {
      for (const StateId s : found) {
        if (std::ranges::find(to, s) == to.end()) to.push_back(s);
      }
    };
    join(step(from, 0x20, 0x7e));
    for (const Form& form : kForms) {
      if (!alive) break;
      auto states = step(step(from, form.low, form.high), form.second_low, form.second_high);
      for (int i = 0; i < form.more; ++i) states = step(states, 0x80, 0xbf);
      join(states);
    }
    if (!alive || to.size() > kMostStates) break;
    std::ranges::sort(to);
    if (to == from) {
      run = run + kMost;
      break;
    }
    from = std::move(to);
    if (from.size() == 1 && chain.size() == run + 1) {
      const auto rest = plain_runs_.find(from[0]);
      if (rest != plain_runs_.end()) {
        run += 1 + rest->second;
        break;
      }
      chain.push_back(from[0]);
    }
  }
  for (std::size_t i = 0; i < chain.size() && (i == 0 || run < kAhead || run - i >= kMost); ++i) {
    plain_runs_.emplace(chain[i], std::min(run - i, kMost));
  }
  return plain_runs_[state];
}

/// Visits the tokens' trie in preorder with the automaton: states[d] is the state after the d bytes
/// of the path. The mask is gathered by rank, where a subtree is one range, then turned to ids.
TokenMask CompiledGrammar::Walk(StateId state) {
  const auto nodes = vocabulary_->nodes();
  const auto ids = vocabulary_->ids();
  std::vector<std::uint64_t> bits((ids.size() + 63) / 64, 0);  // by rank
  std::vector<StateId> states(vocabulary_->longest() + 1, kDead);
  states[0] = state;
  beyond_limits_ = false;
  // A run of plain characters is worth asking for where it saves more than it costs.
  constexpr std::uint32_t kWorth = 24;
  for (std::size_t i = 0; i < nodes.size();) {
    const VocabularyTrie::Node& node = nodes[i];
    const StateId before = states[node.depth - std::size_t{1}];
    if (node.plain != 0 && node.end - i >= kWorth && node.plain <= PlainRun(before)) {
      FillBits(node.rank, node.ranks_end, &bits);
      i = node.end;
      continue;
    }
    const StateId after = automaton_.Next(before, node.byte);
    if (after >= kTooMuch) {
      beyond_limits_ = beyond_limits_ || after == kTooMuch;
      i = node.end;
      continue;
    }
    states[node.depth] = after;
    if (node.own != 0) {
      // 255 stands for more; then the first child tells, or the end.
      const std::size_t own_end = node.own < 255     ? node.rank + std::size_t{node.own}
                                  : i + 1 < node.end ? nodes[i + 1].rank
                                                     : node.ranks_end;
      FillBits(node.rank, own_end, &bits);
    }
    ++i;
  }
  TokenMask mask;
  for (const std::uint64_t word : bits) mask.count += static_cast<std::size_t>(std::popcount(word));
  mask.may_end = automaton_.accepting(state);
  if (mask.count <= TokenMask::kFew) {
    for (std::size_t word = 0; word < bits.size(); ++word) {
      for (std::uint64_t left = bits[word]; left != 0; left &= left - 1) {
        mask.few.push_back(ids[word * 64 + static_cast<std::size_t>(std::countr_zero(left))]);
      }
    }
    std::ranges::sort(mask.few);
    return mask;
  }
  // From ranks to ids: the tokens that are allowed are put in, or the others taken out, whichever
  // are fewer.
  const bool put_in = 2 * mask.count <= ids.size();
  const auto all = vocabulary_->text_bits();
  if (put_in) {
    mask.bits.assign(all.size(), 0);
  } else {
    mask.bits.assign(all.begin(), all.end());
  }
  for (std::size_t word = 0; word < bits.size(); ++word) {
    const std::size_t first = word * 64;
    const std::uint64_t used =
        ids.size() - first >= 64 ? ~0ull : (1ull << (ids.size() - first)) - 1;
    for (std::uint64_t left = put_in ? bits[word] : ~bits[word] & used; left != 0;
         left &= left - 1) {
      const auto id =
          static_cast<std::size_t>(ids[first + static_cast<std::size_t>(std::countr_zero(left))]);
      mask.bits[id / 64] ^= 1ull << (id % 64);
    }
  }
  return mask;
}

/// The mask of a state, from the cache if it is there. Under the mutex.
std::shared_ptr<const TokenMask> CompiledGrammar::MaskOf(StateId state) {
  const auto known = masks_.find(state);
  if (known != masks_.end()) return known->second;
  if (mask_bytes_ > kMaxMaskBytes) {
    masks_.clear();
    mask_bytes_ = 0;
  }
  auto mask = std::make_shared<const TokenMask>(Walk(state));
  mask_bytes_ += 200 + 8 * mask->bits.size() + 4 * mask->few.size();
  // An answer that the limits have cut is not kept: it may be another one next time.
  if (!beyond_limits_) masks_.emplace(state, mask);
  return mask;
}

Matcher::Matcher(std::shared_ptr<CompiledGrammar> grammar) : grammar_(std::move(grammar)) {
  const std::lock_guard lock(grammar_->mutex_);
  epoch_ = grammar_->epoch_;
  state_ = grammar_->automaton_.start();
}

StateId Matcher::StateAfter(StateId state, std::string_view bytes) {
  for (const char byte : bytes) {
    if (state >= kTooMuch) return state;
    state = grammar_->automaton_.Next(state, static_cast<std::uint8_t>(byte));
  }
  return state;
}

StateId Matcher::Read(StateId state, std::string_view bytes, DistinctTexts* distinct) {
  Automaton& automaton = grammar_->automaton_;
  for (const char byte : bytes) {
    if (state >= kTooMuch) return state;
    const bool opens = byte == '[' && automaton.InMarked(state, RuleMark::kListOpens);
    const bool differs = byte == '"' && automaton.InMarked(state, RuleMark::kDiffers);
    if (!distinct->Push(byte, opens, differs)) return kDead;
    state = automaton.Next(state, static_cast<std::uint8_t>(byte));
  }
  return state;
}

const std::vector<TokenId>& CompiledGrammar::QuoteTokens() {
  if (quote_tokens_.empty()) {
    for (const TokenId id : vocabulary_->ids()) {
      if (vocabulary_->bytes(id).find('"') != std::string_view::npos) quote_tokens_.push_back(id);
    }
  }
  return quote_tokens_;
}

/// Appends the tokens that are a beginning of `text`, itself included.
void CompiledGrammar::TokensAlong(std::string_view text, std::vector<TokenId>* tokens) const {
  const auto nodes = vocabulary_->nodes();
  std::size_t at = 0, end = nodes.size();
  for (const char byte : text) {
    while (at < end && nodes[at].byte != static_cast<std::uint8_t>(byte)) at = nodes[at].end;
    if (at >= end) return;
    for (std::size_t rank = nodes[at].rank; rank < nodes[at].ranks_end; ++rank) {
      const TokenId id = vocabulary_->ids()[rank];
      if (vocabulary_->bytes(id).size() != nodes[at].depth) break;
      tokens->push_back(id);
    }
    end = nodes[at].end;
    ++at;
  }
}

bool Matcher::Goes(StateId state, std::vector<std::string_view> rests) {
  Automaton& automaton = grammar_->automaton_;
  if (rests.empty()) return true;
  for (int i = 0; i < 256; ++i) {
    const auto byte = static_cast<std::uint8_t>(i);
    const StateId next = automaton.Next(state, byte);
    if (next >= kTooMuch) continue;
    std::vector<std::string_view> longer;
    bool ends = false;
    for (const std::string_view rest : rests) {
      if (static_cast<std::uint8_t>(rest[0]) != byte) continue;
      ends = ends || rest.size() == 1;
      if (rest.size() > 1) longer.push_back(rest.substr(1));
    }
    // The quote that ends a text that is there.
    if (!ends && Goes(next, std::move(longer))) return true;
  }
  return false;
}

/// Whether a token that the grammar allows would repeat a text of a list, or leave nothing else.
bool Matcher::Repeats(std::string_view token) {
  DistinctTexts distinct = distinct_;
  const StateId after = Read(state_, token, &distinct);
  if (after == kDead) return true;
  if (after >= kTooMuch || !grammar_->automaton_.InMarked(after, RuleMark::kDiffers)) return false;
  const std::vector<std::string> rests = distinct.Repetitions();
  return !Goes(after, {rests.begin(), rests.end()});
}

/// The mask without tokens that repeat a text of a list whose items must differ. It tries only
/// tokens that could do so: those along a known text, and those with a quote.
std::shared_ptr<const TokenMask> Matcher::WithoutRepeats(std::shared_ptr<const TokenMask> mask) {
  if (!grammar_->automaton_.nfa().has_marks()) return mask;
  std::vector<TokenId> doubtful, repeated;
  for (const std::string& rest : distinct_.Repetitions()) {
    grammar_->TokensAlong(std::string_view(rest).substr(0, rest.size() - 1), &doubtful);
  }
  for (const TokenId id : grammar_->QuoteTokens()) {
    // Most tokens end no text that the list has, and begin at most one.
    const std::string_view token = grammar_->vocabulary().bytes(id);
    const std::size_t quote = token.find('"');
    const auto quotes = std::ranges::count(token, '"');
    if (!distinct_.reading() && (quotes < 4 || token.find('[') == token.npos)) continue;
    const bool ends = distinct_.in_string() && distinct_.Has(token.substr(0, quote));
    const bool begins = quotes >= (distinct_.in_string() ? 2 : 1);
    if (ends || begins || token.find('\\') != token.npos) doubtful.push_back(id);
  }
  SortOnce(&doubtful);
  for (const TokenId id : doubtful) {
    if (mask->Allows(id) && Repeats(grammar_->vocabulary().bytes(id))) repeated.push_back(id);
  }
  if (repeated.empty()) return mask;
  auto rest = std::make_shared<TokenMask>(*mask);
  rest->count -= repeated.size();
  if (rest->bits.empty()) {
    std::erase_if(rest->few,
                  [&](TokenId id) { return std::ranges::find(repeated, id) != repeated.end(); });
    return rest;
  }
  for (const TokenId id : repeated) {
    const auto i = static_cast<std::size_t>(id);
    rest->bits[i / 64] &= ~(1ull << (i % 64));
  }
  if (rest->count <= TokenMask::kFew) {
    for (const TokenId id : grammar_->vocabulary().ids()) {
      if (rest->Allows(id)) rest->few.push_back(id);
    }
    std::ranges::sort(rest->few);
    rest->bits.clear();
  }
  return rest;
}

/// Forgets the states when they hold half of what is allowed, so that one step does not fail for
/// want of room; a matcher from before reads its text again from the start.
void Matcher::Sync() {
  CompiledGrammar& grammar = *grammar_;
  if (grammar.automaton_.bytes() > Automaton::kMaxBytes / 2) grammar.Forget();
  if (epoch_ == grammar.epoch_) return;
  epoch_ = grammar.epoch_;
  state_ = StateAfter(grammar.automaton_.start(), text_);
}

Result<std::shared_ptr<const TokenMask>> Matcher::Mask() {
  const std::lock_guard lock(grammar_->mutex_);
  Sync();
  if (state_ < kTooMuch) {
    auto mask = WithoutRepeats(grammar_->MaskOf(state_));
    if (mask->count != 0 || mask->may_end) return mask;
  }
  if (state_ == kTooMuch || grammar_->beyond_limits_) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format(
            "what the answer must be (schema, grammar or expression) is too ambiguous or nests too "
            "deeply after {} bytes",
            text_.size()));
  }
  return Fail(
      ErrorCode::kInvalidArgument,
      fmt::format("no token of the vocabulary goes on as the answer must (schema, grammar or "
                  "expression) after {} bytes",
                  text_.size()));
}

bool Matcher::AcceptBytes(std::string_view bytes) {
  const std::lock_guard lock(grammar_->mutex_);
  Sync();
  StateId after = state_;
  if (grammar_->automaton_.nfa().has_marks()) {
    DistinctTexts distinct = distinct_;
    after = Read(state_, bytes, &distinct);
    if (after < kTooMuch) distinct_ = std::move(distinct);
  } else {
    after = StateAfter(state_, bytes);
  }
  if (after >= kTooMuch) return false;
  state_ = after;
  text_ += bytes;
  return true;
}

Result<void> Matcher::Accept(TokenId id) {
  if (AcceptBytes(grammar_->vocabulary().bytes(id))) return {};
  return Fail(ErrorCode::kInternal, fmt::format("grammar: token {} is not allowed here", id));
}

bool Matcher::accepting() {
  const std::lock_guard lock(grammar_->mutex_);
  Sync();
  return state_ < kTooMuch && grammar_->automaton_.accepting(state_);
}

bool Matcher::complete() {
  if (!accepting()) return false;
  const auto mask = Mask();
  return mask.has_value() && (*mask)->count == 0;
}

/// Follows the state as long as a single byte is possible, `most` bytes at most.
std::string CompiledGrammar::ForcedBytes(StateId state, std::size_t most) {
  std::string forced;
  const Nfa& nfa = automaton_.nfa();
  while (forced.size() < most && state < kTooMuch && !automaton_.accepting(state)) {
    // The one byte that lives, if there is one only.
    int only = -1;
    StateId after = kDead;
    for (int byte = 0; byte < 256 && only != -2; ++byte) {
      const StateId next = automaton_.Next(state, static_cast<std::uint8_t>(byte));
      if (next == kDead) {  // nor do the others of its class
        const auto c = nfa.byte_class(static_cast<std::uint8_t>(byte));
        while (byte < 255 && nfa.byte_class(static_cast<std::uint8_t>(byte + 1)) == c) ++byte;
        continue;
      }
      only = only == -1 ? byte : -2;
      after = next;
    }
    if (only < 0 || after >= kTooMuch) break;
    forced.push_back(static_cast<char>(only));
    state = after;
  }
  return forced;
}

/// Follows the rule at Matcher::ForcedTokens; the answer is kept by state.
std::vector<TokenId> CompiledGrammar::ForcedTokens(StateId state,
                                                   const tokenizer::Tokenizer& tokenizer) {
  const auto known = forced_.find(state);
  if (known != forced_.end()) return known->second;
  const StateId first = state;
  std::vector<TokenId> forced;
  beyond_limits_ = false;
  auto mask = MaskOf(state);
  if (mask->count == 1 && !mask->may_end) {
    forced = mask->few;
  } else if (mask->count > 1 && mask->bits.empty() && !mask->may_end) {
    const std::string all = ForcedBytes(state, Matcher::kForcedBytes);
    std::string_view rest = all;
    for (const TokenId id : tokenizer.Encode(all, {.add_bos = false})) {
      const auto goes_beyond = [&](TokenId other) {
        return vocabulary_->bytes(other).size() > rest.size();
      };
      const bool is_text =
          vocabulary_->ranks()[static_cast<std::size_t>(id)] != VocabularyTrie::kNoRank;
      const std::string_view bytes = vocabulary_->bytes(id);
      if (!is_text || bytes.empty() || !rest.starts_with(bytes)) break;
      if (!mask->bits.empty() || std::ranges::any_of(mask->few, goes_beyond)) break;
      forced.push_back(id);
      rest.remove_prefix(bytes.size());
      if (rest.empty()) break;
      for (const char byte : bytes) state = automaton_.Next(state, static_cast<std::uint8_t>(byte));
      mask = MaskOf(state);
    }
  }
  if (beyond_limits_) return {};  // it may be another answer next time
  forced_.emplace(first, forced);
  return forced;
}

std::string Matcher::Forced(std::size_t most) {
  const std::lock_guard lock(grammar_->mutex_);
  Sync();
  return grammar_->ForcedBytes(state_, most);
}

Result<std::vector<TokenId>> Matcher::ForcedTokens(const tokenizer::Tokenizer& tokenizer) {
  BITTERN_TRY(Mask());
  const std::lock_guard lock(grammar_->mutex_);
  Sync();
  if (state_ >= kTooMuch) return std::vector<TokenId>();
  return grammar_->ForcedTokens(state_, tokenizer);
}

}  // namespace bittern::grammar
