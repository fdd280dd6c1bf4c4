// SPDX-License-Identifier: Apache-2.0
// A state of the backward automaton is the set of nodes from which a match can be completed at a
// place. Characters that all sets of the expression treat alike are one class, so that there are
// few symbols.
#include "tokenizer/regex/regex.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/byte_alphabet.hpp"
#include "base/sort_once.hpp"
#include "base/utf8.hpp"
#include "tokenizer/regex/regex_nodes.hpp"

namespace bittern::tokenizer {
namespace {

constexpr char32_t kBmpSize = 0x10000;
constexpr std::size_t kMaxTableEntries = std::size_t{4} << 20;
constexpr std::size_t kMaxWork = std::size_t{64} << 20;  // nodes evaluated, while compiling

/// Which characters are alike: runs of code points with the class of each.
struct Partition {
  struct Run {
    char32_t first;
    std::uint8_t class_id;
  };
  std::vector<Run> runs;                // from U+0000 on
  std::vector<std::vector<bool>> sets;  // by class: which sets have it; class 0 is none's
};

/// Cuts the code points at the borders of all sets. Runs that are members of the same sets share a
/// class; a class is a byte, which limits their number.
Result<Partition> MakePartition(const std::vector<CodePointSet>& sets) {
  std::vector<char32_t> borders = {0};
  for (const CodePointSet& set : sets) {
    for (const CodePointSet::Range& range : set.ranges()) {
      borders.push_back(range.first);
      if (range.last < CodePointSet::kMax) borders.push_back(range.last + 1);
    }
  }
  SortOnce(&borders);
  Partition partition;
  partition.sets.emplace_back(sets.size(), false);
  std::map<std::vector<bool>, std::uint8_t> classes;
  for (const char32_t border : borders) {
    std::vector<bool> members(sets.size());
    for (std::size_t i = 0; i < sets.size(); ++i) members[i] = sets[i].Contains(border);
    auto found = classes.find(members);
    if (found == classes.end()) {
      if (partition.sets.size() == 255) {
        return Fail(ErrorCode::kUnsupported,
                    "a regular expression with more than 254 kinds of characters");
      }
      found = classes.emplace(members, static_cast<std::uint8_t>(partition.sets.size())).first;
      partition.sets.push_back(std::move(members));
    }
    partition.runs.push_back({border, found->second});
  }
  return partition;
}

/// The set of nodes of one state, a byte a node.
using NodeSet = std::string;

}  // namespace

/// Turns the nodes into tables: classes of characters, then states with their transitions.
class RegexCompiler {
 public:
  RegexCompiler(RegexGraph graph, TextUnit unit) : graph_(std::move(graph)) { regex_.unit_ = unit; }

  /// With \b in the expression each class counts twice as a symbol: after a word character or not.
  Result<Regex> Run() {
    for (const RegexNode& node : graph_.nodes) {
      regex_.sees_words_ = regex_.sees_words_ || node.kind == RegexNode::Kind::kWordBoundary;
    }
    const std::size_t word_set = graph_.sets.size();
    if (regex_.sees_words_) graph_.sets.push_back(CodePointSet::Word());
    partition_ = BITTERN_TRY(MakePartition(graph_.sets));
    for (const auto& sets : partition_.sets) {
      regex_.is_word_class_.push_back(regex_.sees_words_ && sets[word_set]);
    }
    FillClasses();
    FindEntries();
    regex_.num_symbols_ = partition_.sets.size() * (regex_.sees_words_ ? 2 : 1);
    BITTERN_TRY(MakeStates());
    return std::move(regex_);
  }

 private:
  /// The facts about a place: the class of the character there, whether the text ends there, and
  /// whether a word character comes before.
  struct Place {
    std::uint8_t class_id = 0;
    bool at_end = false, after_word = false;
  };

  /// The class of each code point: a table for the first ones, sorted ranges for those above. For
  /// byte-level text the table is by byte, through the byte alphabet.
  void FillClasses() {
    const auto& runs = partition_.runs;
    std::vector<std::uint8_t> bmp(kBmpSize);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const char32_t last = i + 1 < runs.size() ? runs[i + 1].first : CodePointSet::kMax + 1;
      for (char32_t c = runs[i].first; c < std::min(last, kBmpSize); ++c) bmp[c] = runs[i].class_id;
      if (last <= kBmpSize) continue;
      regex_.astral_firsts_.push_back(std::max(runs[i].first, kBmpSize));
      regex_.astral_classes_.push_back(runs[i].class_id);
    }
    if (regex_.unit_ == TextUnit::kByte) {
      std::vector<std::uint8_t> bytes(256);
      for (std::size_t byte = 0; byte < 256; ++byte) bytes[byte] = bmp[ByteAlphabet()[byte]];
      bmp = std::move(bytes);
    }
    regex_.bmp_ = std::move(bmp);
  }

  /// Entries: the start, and what may come after a character.
  void FindEntries() {
    entry_of_.assign(graph_.nodes.size(), kNoEntry);
    const auto add = [this](NodeId id) {
      if (entry_of_[id] != kNoEntry) return;
      entry_of_[id] = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back(id);
    };
    add(graph_.start);
    for (const RegexNode& node : graph_.nodes) {
      if (node.kind == RegexNode::Kind::kSet) add(node.next);
    }
  }

  /// From which nodes a match can be completed at `place`; `after` holds one character on.
  [[nodiscard]] NodeSet Before(const NodeSet& after, const Place& place) const {
    using Kind = RegexNode::Kind;
    const std::vector<bool>& sets = partition_.sets[place.class_id];
    const bool here_word = !place.at_end && regex_.is_word_class_[place.class_id];
    NodeSet now(graph_.nodes.size(), '\0');
    for (const NodeId id : graph_.order) {
      const RegexNode& node = graph_.nodes[id];
      bool can = true;
      switch (node.kind) {
        case Kind::kMatch:
          break;
        case Kind::kSet:
          can = !place.at_end && sets[node.set] && after[node.next] != 0;
          break;
        case Kind::kFork:
          can = now[node.next] != 0 || now[node.other] != 0;
          break;
        case Kind::kLook:
          can = (now[node.other] != 0) != node.negated && now[node.next] != 0;
          break;
        case Kind::kEnd:
          can = place.at_end && now[node.next] != 0;
          break;
        case Kind::kWordBoundary:
          can = here_word != place.after_word && now[node.next] != 0;
          break;
      }
      now[id] = can ? 1 : 0;
    }
    return now;
  }

  /// The action of the forward walk at `entry` if `can` holds.
  [[nodiscard]] std::uint32_t ActionOf(NodeId entry, const NodeSet& can) const {
    NodeId id = entry;
    if (can[id] == 0) return Regex::kNoMatch;
    for (;;) {
      const RegexNode& node = graph_.nodes[id];
      if (node.kind == RegexNode::Kind::kMatch) return Regex::kDone;
      if (node.kind == RegexNode::Kind::kSet) return entry_of_[node.next];
      const bool is_fork = node.kind == RegexNode::Kind::kFork;
      id = is_fork && can[node.next] == 0 ? node.other : node.next;
    }
  }

  /// The row of the state `can`, made if it is new.
  std::uint32_t RowOf(NodeSet can) {
    const auto next = static_cast<std::uint32_t>(states_.size());
    const auto [found, is_new] = numbers_.emplace(std::move(can), next);
    if (is_new) states_.push_back(&found->first);
    return found->second * static_cast<std::uint32_t>(RowSize());
  }

  [[nodiscard]] std::size_t RowSize() const { return regex_.num_symbols_ + entries_.size(); }

  /// Makes states until no row needs a new one. The number of states may grow exponentially with
  /// the pattern, so entries and work are limited.
  Result<void> MakeStates() {
    const NodeSet nothing(graph_.nodes.size(), '\0');
    for (const bool after_word : {false, true}) {
      regex_.start_rows_[after_word ? 1 : 0] =
          RowOf(Before(nothing, {.at_end = true, .after_word = after_word}));
    }
    for (std::size_t state = 0; state < states_.size(); ++state) {
      const bool too_large = states_.size() * RowSize() > kMaxTableEntries ||
                             state * regex_.num_symbols_ * graph_.nodes.size() > kMaxWork;
      if (too_large) {
        return Fail(ErrorCode::kUnsupported,
                    "a regular expression whose tables would be too large");
      }
      AddRow(state);
    }
    return {};
  }

  /// The row of a state: the row before it for each symbol, then an action for each entry.
  void AddRow(std::size_t state) {
    const NodeSet& can = *states_[state];
    const std::size_t words = regex_.sees_words_ ? 2 : 1;
    for (std::size_t symbol = 0; symbol < regex_.num_symbols_; ++symbol) {
      const auto class_id = static_cast<std::uint8_t>(symbol / words);
      const bool inside = class_id == Regex::kInside;
      regex_.table_.push_back(
          inside ? static_cast<std::uint32_t>(state * RowSize())
                 : RowOf(Before(can, {.class_id = class_id, .after_word = symbol % words != 0})));
    }
    for (const NodeId entry : entries_) regex_.table_.push_back(ActionOf(entry, can));
  }

  static constexpr std::uint32_t kNoEntry = 0xffffffff;

  RegexGraph graph_;
  Partition partition_;
  std::vector<NodeId> entries_;
  std::vector<std::uint32_t> entry_of_;  // by node
  std::unordered_map<NodeSet, std::uint32_t> numbers_;
  std::vector<const NodeSet*> states_;  // by number; keys of numbers_
  Regex regex_;
};

Result<Regex> Regex::Compile(std::string_view pattern, TextUnit unit) {
  const RegexTree tree = BITTERN_TRY(ParseRegex(pattern));
  RegexGraph graph = BITTERN_TRY(BuildGraph(tree));
  return RegexCompiler(std::move(graph), unit).Run();
}

std::uint8_t Regex::ClassOfCodePoint(char32_t c) const noexcept {
  if (c < kBmpSize) return bmp_[c];
  const auto after = std::ranges::upper_bound(astral_firsts_, c);
  return astral_classes_[static_cast<std::size_t>(after - astral_firsts_.begin()) - 1];
}

/// The class of each byte; bytes behind the first one of a character get kInside.
void Regex::Classify(std::string_view text, std::uint8_t* classes) const {
  const auto byte_at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (unit_ == TextUnit::kByte) {
    for (std::size_t i = 0; i < text.size(); ++i) classes[i] = bmp_[byte_at(i)];
    return;
  }
  const std::uint8_t* bmp = bmp_.data();
  for (std::size_t i = 0; i < text.size();) {
    if (byte_at(i) < 0x80) {
      classes[i] = bmp[byte_at(i)];
      ++i;
      continue;
    }
    const Utf8Step step = DecodeUtf8(text.substr(i));
    classes[i] = ClassOfCodePoint(step.code_point);
    for (std::size_t j = 1; j < step.size; ++j) classes[i + j] = kInside;
    i += step.size;
  }
}

void Regex::Prepare(std::string_view text, Scratch* scratch) const {
  const std::size_t size = text.size();
  if (scratch->classes.size() < size) scratch->classes.resize(size);
  if (scratch->rows.size() < size + 1) scratch->rows.resize(size + 1);
  std::uint8_t* classes = scratch->classes.data();
  std::uint32_t* rows = scratch->rows.data();
  Classify(text, classes);
  const std::uint32_t* table = table_.data();
  if (!sees_words_) {
    std::uint32_t row = start_rows_[0];
    rows[size] = row;
    for (std::size_t i = size; i-- > 0;) {
      row = table[row + classes[i]];
      rows[i] = row;
    }
    return;
  }
  // The last character at or before each byte; bytes inside of it count as it.
  const auto word_before = [&](std::size_t i) {
    while (i > 0 && classes[i - 1] == kInside) --i;
    return i > 0 && is_word_class_[classes[i - 1]];
  };
  std::uint32_t row = start_rows_[word_before(size) ? 1 : 0];
  rows[size] = row;
  for (std::size_t i = size; i-- > 0;) {
    const std::uint32_t word = classes[i] != kInside && word_before(i) ? 1 : 0;
    row = table[row + 2U * classes[i] + word];
    rows[i] = row;
  }
}

}  // namespace bittern::tokenizer
