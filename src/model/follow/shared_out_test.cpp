// SPDX-License-Identifier: Apache-2.0
// A network that several ranks share out gives the bits of a single process, which is its slow
// twin. Logits, candidates, hidden states and the values at every step are compared, for sequences
// that share pages, in batches and one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <thread>

#include "base/hash.hpp"
#include "model/follow/rank_follower.hpp"
#include "model/matrix_layout.hpp"
#include "model/model.hpp"
#include "model/ranks/ranks.hpp"
#include "model/ranks/thread_ranks_for_test.hpp"
#include "model/row_failure.hpp"
#include "model/small_model_for_test.hpp"
#include "model/trace.hpp"
#include "quant/ternary_codec.hpp"

namespace bittern::model {
namespace {

constexpr int kSharedPositions = 640, kThreads = 2;

/// Four key heads and eight value heads in a delta layer.
void CutDeltaFinely(SmallModel* small) {
  constexpr std::uint32_t kKeys = 4, kValues = 8, kDim = 16;
  small->keys["ssm.state_size"] = kDim;
  small->keys["ssm.group_count"] = kKeys;
  small->keys["ssm.time_step_rank"] = kValues;
  small->AddFloats("blk.0.ssm_beta.weight", {SmallModel::kHidden, kValues}, 0.06f);
  small->AddFloats("blk.0.ssm_alpha.weight", {SmallModel::kHidden, kValues}, 0.06f);
  small->AddFloats("blk.0.ssm_dt.bias", {kValues}, 1, -1);
  small->AddFloats("blk.0.ssm_a", {kValues}, 0.1f, -0.5f);
  small->AddFloats("blk.0.ssm_norm.weight", {kDim}, 0.1f, 1);
}

/// A small network of four query heads on two key-value heads, so that ranks cut between heads of
/// one group, too.
SmallModel FourHeads(const std::string& architecture) {
  SmallModel small(architecture);
  small.keys["attention.head_count"] = 4;
  small.keys["attention.head_count_kv"] = 2;
  small.keys["context_length"] = kSharedPositions;
  for (auto& [name, tensor] : small.tensors) {
    if (name.find("attn_q_norm") == std::string::npos &&
        name.find("attn_k_norm") == std::string::npos) {
      continue;
    }
    tensor.shape = {64};
    tensor.data.resize(64 * sizeof(float));
  }
  if (architecture == "qwen35") CutDeltaFinely(&small);
  return small;
}

/// All that a run gives. Compared with ==, floats by their bits.
struct RankOutcome {
  std::vector<std::uint32_t> bits;
  std::map<std::string, std::string> traces;  // a hash by place
  std::vector<std::optional<RowFailure>> failures;
};

class HashTracer : public Tracer {
 public:
  void OnValues(const TracePlace& place, std::span<const std::byte> values) noexcept override {
    const std::string name = std::to_string(place.sequence) + " " + std::to_string(place.layer) +
                             " " + std::string(TracePointName(place.point)) + " " +
                             std::to_string(place.position);
    hashes_[name].Add(values);
  }
  [[nodiscard]] std::map<std::string, std::string> Hashes() const {
    std::map<std::string, std::string> all;
    for (const auto& [name, hash] : hashes_) all[name] = hash.Hex();
    return all;
  }

 private:
  std::map<std::string, Hash128> hashes_;
};

/// A script of passes over two sequences.
class SharedScript {
 public:
  SharedScript(const Model& model, KvType kv_type)
      : model_(model),
        threads_(ThreadPool::Create(kThreads).value()),
        pool_(KvPool::Create(model.config(), 8, kv_type).value()),
        state_(ForwardState::Create(model, 64, kSharedPositions, kThreads).value()),
        first_(&pool_),
        second_(&pool_) {}

  RankOutcome Run() {
    ReadPrompt(15);
    static_cast<void>(first_.KeepState());  // where there is one
    ReadPrompt(4);
    for (int i = 0; i < 3; ++i) Dense({&first_, 1, 0});
    second_ = first_.Fork(17);
    DenseOfBoth();
    Candidates(CandidateRequest{.count = 5}, {});
    Candidates(CandidateRequest{.count = 0, .within = 2}, {});
    std::vector<std::uint64_t> allowed((SmallModel::kVocab + 63) / 64, 0x0123456789abcdef);
    Candidates(CandidateRequest{.count = 3}, allowed);
    std::fill(allowed.begin(), allowed.end(), 0);
    allowed[1] = 6;  // two tokens of one rank
    Candidates(CandidateRequest{.count = 3}, allowed);
    Chosen({0, 7, 63, 64, 150, 200, 299});
    Hidden();
    Traced();
    if (first_.recurrent()) FromKeptStates();
    return std::move(outcome_);
  }

  /// Far enough for the positions of one token to be shared out among threads.
  RankOutcome RunLong() {
    for (int i = 0; i < 9; ++i) {
      ReadPrompt(61);
      static_cast<void>(first_.KeepState());
    }
    first_.Truncate(530);
    Dense({&first_, 2, 0});
    Dense({&first_, 1, 0});
    return std::move(outcome_);
  }

 private:
  struct ScriptPart {
    KvSequence* sequence;
    std::size_t count;
    int tag;
  };

  std::vector<std::int32_t> NextTokens(std::size_t count) {
    std::vector<std::int32_t> tokens;
    for (std::size_t i = 0; i < count; ++i) {
      tokens.push_back(static_cast<std::int32_t>(next_++ * 37 % SmallModel::kVocab));
    }
    return tokens;
  }
  void Pass(std::span<Segment> segments) {
    for (const Segment& segment : segments) {
      ASSERT_TRUE(segment.sequence->Reserve(static_cast<int>(segment.tokens.size())));
    }
    ASSERT_TRUE(Forward(model_, segments, state_, threads_));
    outcome_.failures.insert(outcome_.failures.end(), state_.failures().begin(),
                             state_.failures().end());
  }
  void Keep(std::span<const float> values) {
    for (const float value : values) outcome_.bits.push_back(std::bit_cast<std::uint32_t>(value));
  }

  void ReadPrompt(std::size_t count) { Dense({&first_, count, 0}); }
  void Dense(const ScriptPart& part) {
    const auto tokens = NextTokens(part.count);
    std::vector<float> logits(part.count * SmallModel::kVocab);
    Segment segment{.sequence = part.sequence,
                    .tokens = tokens,
                    .rows = part.count,
                    .logits = logits,
                    .tag = part.tag};
    Pass({&segment, 1});
    Keep(logits);
  }
  void DenseOfBoth() {
    const auto a = NextTokens(9), b = NextTokens(2);
    std::vector<float> of_a(SmallModel::kVocab), of_b(2 * SmallModel::kVocab);
    Segment both[] = {{.sequence = &second_, .tokens = a, .rows = 1, .logits = of_a},
                      {.sequence = &first_, .tokens = b, .rows = 2, .logits = of_b}};
    Pass(both);
    Keep(of_a);
    Keep(of_b);
  }
  void Candidates(const CandidateRequest& request, std::span<const std::uint64_t> allowed) {
    const auto tokens = NextTokens(2);
    std::vector<CandidateLogits> found(2);
    Segment segment{.sequence = &second_,
                    .tokens = tokens,
                    .rows = 2,
                    .request = request,
                    .candidates = found,
                    .allowed = allowed};
    Pass({&segment, 1});
    for (const CandidateLogits& row : found) KeepWanted(request, row);
  }
  /// The ones that the request is about: a screen may let more through.
  void KeepWanted(const CandidateRequest& request, const CandidateLogits& row) {
    std::vector<float> sorted = row.logits;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    float least = std::numeric_limits<float>::infinity();
    if (!sorted.empty()) {
      least = request.count == 0 ? sorted[0] - request.within
                                 : sorted[std::min(request.count, sorted.size()) - 1];
    }
    for (std::size_t i = 0; i < row.ids.size(); ++i) {
      if (row.logits[i] < least) continue;
      outcome_.bits.push_back(static_cast<std::uint32_t>(row.ids[i]));
      Keep({&row.logits[i], 1});
    }
  }
  void Chosen(const std::vector<std::int32_t>& ids) {
    const auto tokens = NextTokens(3);
    std::vector<CandidateLogits> found(3);
    for (CandidateLogits& row : found) row.logits.resize(ids.size());
    Segment segment{
        .sequence = &first_, .tokens = tokens, .rows = 3, .candidates = found, .ids = ids};
    Pass({&segment, 1});
    for (const CandidateLogits& row : found) Keep(row.logits);
  }
  void Hidden() {
    const auto tokens = NextTokens(2);
    std::vector<float> hidden(2 * SmallModel::kHidden);
    Segment segment{.sequence = &first_, .tokens = tokens, .rows = 2, .hidden = hidden};
    Pass({&segment, 1});
    Keep(hidden);
  }
  /// As the prefix cache begins a sequence, and as a pass that was broken off goes back.
  void FromKeptStates() {
    for (int i = 0; i < 3; ++i) {
      KvSequence again(&pool_);
      again.Append(first_.pages().front(), first_.kept().front().position);
      again.BeginWith(first_.kept().front());
      Dense({&again, 2, 0});
    }
    first_.GoBack();
    Dense({&first_, 3, 0});
    first_.Truncate(0);
    Dense({&first_, 2, 0});
  }
  void Traced() {
    HashTracer tracer;
    state_.SetTracer(&tracer);
    Dense({&second_, 2, 1});
    Dense({&second_, 11, 2});
    state_.SetTracer(nullptr);
    outcome_.traces = tracer.Hashes();
  }

  const Model& model_;
  ThreadPool threads_;
  KvPool pool_;
  ForwardState state_;
  KvSequence first_, second_;
  std::size_t next_ = 1;
  RankOutcome outcome_;
};

/// Passes over some sequences at a time, which are forked, cut and begun again in between, all by
/// chance.
class RandomScript {
 public:
  RandomScript(const Model& model, KvType kv_type, std::uint32_t seed)
      : model_(model),
        threads_(ThreadPool::Create(kThreads).value()),
        pool_(KvPool::Create(model.config(), 12, kv_type).value()),
        state_(ForwardState::Create(model, 64, kSharedPositions, kThreads).value()),
        dice_(seed) {
    for (int i = 0; i < 4; ++i) sequences_.emplace_back(&pool_);
  }

  RankOutcome Run() {
    for (int step = 0; step < 14; ++step) {
      Change();
      Pass();
    }
    return std::move(outcome_);
  }

 private:
  /// 0..below - 1.
  int Roll(int below) { return static_cast<int>(dice_() % static_cast<std::uint32_t>(below)); }
  KvSequence& AnySequence() { return sequences_[static_cast<std::size_t>(Roll(4))]; }

  void Change() {
    KvSequence& one = AnySequence();
    switch (Roll(5)) {
      case 0:
        static_cast<void>(one.KeepState());
        one.LimitKept(3);
        return;
      case 1:
        return one.Truncate(Roll(one.length() + 1));
      case 2: {
        KvSequence fork = one.Fork(Roll(one.length() + 1));
        AnySequence() = std::move(fork);
        return;
      }
      case 3:
        one.GoBack();
        return;
      default:
        return;
    }
  }

  /// One to three sequences, each with some tokens and with logits or candidates of the last ones.
  void Pass() {
    std::vector<std::size_t> chosen{0, 1, 2, 3};
    std::shuffle(chosen.begin(), chosen.end(), dice_);
    chosen.resize(static_cast<std::size_t>(1 + Roll(3)));
    std::deque<Part> parts;
    std::vector<Segment> segments;
    for (const std::size_t index : chosen) {
      const int count = 1 + (Roll(4) == 0 ? Roll(20) : Roll(4));
      KvSequence& sequence = sequences_[index];
      if (sequence.length() + count > 500) sequence.Truncate(0);
      ASSERT_TRUE(sequence.Reserve(count));
      Part& part = parts.emplace_back();
      for (int i = 0; i < count; ++i) part.tokens.push_back(Roll(SmallModel::kVocab));
      const auto rows = static_cast<std::size_t>(1 + Roll(std::min(count, 3)));
      const bool dense = Roll(2) == 0;
      if (dense) part.logits.resize(rows * SmallModel::kVocab);
      if (!dense) part.candidates.resize(rows);
      Segment segment{.sequence = &sequence, .tokens = part.tokens, .rows = rows};
      segment.logits = part.logits;
      if (!dense) segment.request = CandidateRequest{.count = 4};
      segment.candidates = part.candidates;
      segments.push_back(segment);
    }
    ASSERT_TRUE(Forward(model_, segments, state_, threads_));
    for (const Part& part : parts) Keep(part);
  }

  struct Part {
    std::vector<std::int32_t> tokens;
    std::vector<float> logits;
    std::vector<CandidateLogits> candidates;
  };

  /// Logits, and the four largest of candidates.
  void Keep(const Part& part) {
    for (const float value : part.logits) {
      outcome_.bits.push_back(std::bit_cast<std::uint32_t>(value));
    }
    for (const CandidateLogits& row : part.candidates) {
      std::vector<float> sorted = row.logits;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      sorted.resize(std::min<std::size_t>(sorted.size(), 4));
      for (const float value : sorted) {
        outcome_.bits.push_back(std::bit_cast<std::uint32_t>(value));
      }
    }
  }

  const Model& model_;
  ThreadPool threads_;
  KvPool pool_;
  ForwardState state_;
  std::vector<KvSequence> sequences_;
  std::mt19937 dice_;
  RankOutcome outcome_;
};

Result<Model> LoadAt(const std::filesystem::path& path, LoadOptions options, Ranks* ranks) {
  auto threads = ThreadPool::Create(kThreads).value();
  Decisions decisions;
  options.ranks = ranks;
  return Model::Load(formats::Checkpoint::Open(path).value(), threads, &decisions, options);
}

/// The life of a rank that follows: one model.
void FollowOne(const std::filesystem::path& path, const LoadOptions& options, Ranks* ranks) {
  const auto model = LoadAt(path, options, ranks);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  RankFollower follower(&*model);
  for (;;) {
    const std::vector<std::byte> message = BytesOfFirst(*ranks, {});
    PackedReader in(message);
    const auto command = in.Value<RankCommand>();
    static_cast<void>(in.Value<std::uint64_t>());
    if (command == RankCommand::kDrop) return;
    ASSERT_TRUE(follower.Run(in).has_value());
  }
}

using Use = std::function<RankOutcome(const Model&)>;

/// The outcome that `use` makes of the model on so many ranks; 0: in one process.
RankOutcome OnRanks(int count, const SmallModel& small, const LoadOptions& options,
                    const Use& use) {
  const auto path = small.Write();
  RankOutcome outcome;
  if (count == 0) {
    outcome = use(LoadAt(path, options, nullptr).value());
  } else {
    ThreadRanksHub hub(count);
    std::vector<std::unique_ptr<ThreadRanks>> ranks;
    for (int r = 0; r < count; ++r) ranks.push_back(std::make_unique<ThreadRanks>(&hub, r));
    std::vector<std::thread> others;
    for (int r = 1; r < count; ++r) {
      others.emplace_back(
          [&, r] { FollowOne(path, options, ranks[static_cast<std::size_t>(r)].get()); });
    }
    outcome = use(LoadAt(path, options, ranks[0].get()).value());
    for (std::thread& other : others) other.join();
  }
  std::filesystem::remove(path);
  return outcome;
}

void ExpectSame(const RankOutcome& one, const RankOutcome& shared) {
  ASSERT_FALSE(one.bits.empty());
  EXPECT_EQ(one.bits == shared.bits, true);
  EXPECT_EQ(one.traces, shared.traces);
  EXPECT_EQ(one.failures, shared.failures);
}

void ExpectSameOnRanks(const SmallModel& small, const LoadOptions& options = {},
                       KvType kv_type = KvType::kF16) {
  const Use script = [&](const Model& model) { return SharedScript(model, kv_type).Run(); };
  const RankOutcome one = OnRanks(0, small, options, script);
  EXPECT_GT(one.traces.size(), 100u);
  for (const int ranks : {1, 2, 3, 4}) {
    SCOPED_TRACE(small.architecture + " on " + std::to_string(ranks));
    ExpectSame(one, OnRanks(ranks, small, options, script));
  }
}

/// The head is screened, so that candidates are searched by all ranks.
LoadOptions WithScreen() { return {.head = HeadMode::kScreened}; }

TEST(SharedOut, EveryArchitectureGivesTheSameBits) {
  for (const char* architecture : {"bitnet-b1.58", "bitnet", "llama", "qwen3", "maple", "minicpm",
                                   "hunyuan-dense", "qwen35"}) {
    ExpectSameOnRanks(FourHeads(architecture), WithScreen());
  }
}

TEST(SharedOut, EveryWayToMultiplyGivesTheSameBits) {
  const SmallModel small = FourHeads("bitnet-b1.58");
  for (const SkipMode skip : {SkipMode::kOff, SkipMode::kOn}) {
    for (const MatrixLayout layout : {MatrixLayout::kTile16, MatrixLayout::kTile48}) {
      LoadOptions options = WithScreen();
      options.layout = layout;
      options.zero_skip = skip;
      ExpectSameOnRanks(small, options);
    }
  }
  for (const MatrixLayout layout : {MatrixLayout::kTl1, MatrixLayout::kTl2}) {
    ExpectSameOnRanks(small, {.layout = layout, .head = HeadMode::kScreened});
  }
}

TEST(SharedOut, EveryTypeOfTheCacheGivesTheSameBits) {
  for (const KvType type : {KvType::kF32, KvType::kI8}) {
    ExpectSameOnRanks(FourHeads("bitnet-b1.58"), WithScreen(), type);
  }
}

TEST(SharedOut, ScalesOfRowsAndGroupsGiveTheSameBits) {
  const auto scale = [](std::size_t r, std::size_t g) {
    return 0.0625f * static_cast<float>(1 + (r * 7 + g * 3) % 5);
  };
  for (const auto layout :
       {quant::TernaryLayout::kTq2_0, quant::TernaryLayout::kQ2_0, quant::TernaryLayout::kIq2Bn}) {
    SmallModel small = FourHeads("llama");
    small.Recode(quant::CodecOf(layout), scale);
    ExpectSameOnRanks(small, WithScreen());
    ExpectSameOnRanks(small, {.layout = MatrixLayout::kTile48, .head = HeadMode::kScreened});
  }
}

// Each rank lays out its own rows of a head of ternary weights. A code that is not ternary, in the
// rows of one rank, gives planes to all.
TEST(SharedOut, AHeadOfTernaryWeightsGivesTheSameBits) {
  for (const bool broken : {false, true}) {
    SmallModel small = FourHeads("llama");
    small.AddTernary("output.weight", SmallModel::kHidden, SmallModel::kVocab);
    small.Recode(quant::CodecOf(quant::TernaryLayout::kPq2_0));
    if (broken) small.tensors.at("output.weight").data[3] = std::byte{0xff};
    ExpectSameOnRanks(small, WithScreen());
  }
}

// Groups that differ in one row make the whole matrix grouped, on every rank.
TEST(SharedOut, OneRowWithGroupsCountsOnEveryRank) {
  SmallModel small = FourHeads("llama");
  small.Recode(quant::CodecOf(quant::TernaryLayout::kQ2_0),
               [](std::size_t r, std::size_t g) { return r == 5 && g == 1 ? 0.25f : 0.125f; });
  ExpectSameOnRanks(small, WithScreen());
}

TEST(SharedOut, DeadNeuronsAreLeftOutOnEveryRank) {
  SmallModel small = FourHeads("bitnet-b1.58");
  for (std::size_t row = 0; row < SmallModel::kFfn; row += 2) {
    small.ZeroRow("blk.0.ffn_gate.weight", row);
    small.ZeroRow("blk.0.ffn_gate.weight", row + (row / 2) % 2);
  }
  LoadOptions options = WithScreen();
  options.zero_skip = SkipMode::kOn;
  ExpectSameOnRanks(small, options);
}

SmallModel RotatedDelta() {
  SmallModel small = FourHeads("qwen35");
  small.Rotate(5);
  return small;
}

TEST(SharedOut, RotatedWeightsAndAnExactHeadGiveTheSameBits) {
  SmallModel small = FourHeads("llama");
  small.Rotate(3);
  ExpectSameOnRanks(RotatedDelta(), WithScreen());
  LoadOptions options;
  options.head = HeadMode::kExact;
  const Use script = [&](const Model& model) {
    return SharedScript(model, KvType::kF16).RunLong();
  };
  const RankOutcome one = OnRanks(0, small, options, script);
  for (const int ranks : {2, 3}) ExpectSame(one, OnRanks(ranks, small, options, script));
}

TEST(SharedOut, RandomBatchesGiveTheSameBits) {
  const char* architectures[] = {"bitnet-b1.58", "qwen35", "maple", "qwen3", "llama"};
  const KvType types[] = {KvType::kF16, KvType::kF32, KvType::kI8};
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const SmallModel small = FourHeads(architectures[seed % std::size(architectures)]);
    const Use script = [&](const Model& model) {
      return RandomScript(model, types[seed % std::size(types)], seed).Run();
    };
    const RankOutcome one = OnRanks(0, small, WithScreen(), script);
    for (const int ranks : {1, 2, 3, 4}) {
      SCOPED_TRACE(small.architecture + " " + std::to_string(seed) + " " + std::to_string(ranks));
      ExpectSame(one, OnRanks(ranks, small, WithScreen(), script));
    }
  }
}

TEST(SharedOut, ALongPastGivesTheSameBits) {
  const Use script = [&](const Model& model) {
    return SharedScript(model, KvType::kF16).RunLong();
  };
  for (const char* architecture : {"bitnet-b1.58", "maple", "qwen35"}) {
    const SmallModel small = FourHeads(architecture);
    const RankOutcome one = OnRanks(0, small, WithScreen(), script);
    for (const int ranks : {2, 4}) ExpectSame(one, OnRanks(ranks, small, WithScreen(), script));
  }
}

// A head of zeros has no norm where epsilon is 0. One rank alone sees it; all must learn of it
// before the head.
TEST(SharedOut, TokensThatAreNotFiniteAreTheSame) {
  SmallModel small = FourHeads("qwen3");
  small.rms_norm_eps = 0;
  for (std::size_t row = 192; row < 256; ++row) small.ZeroRow("blk.1.attn_q.weight", row);
  const Use script = [&](const Model& model) { return SharedScript(model, KvType::kF32).Run(); };
  const RankOutcome one = OnRanks(0, small, WithScreen(), script);
  ASSERT_FALSE(one.failures.empty());
  for (const auto& failure : one.failures) {
    EXPECT_EQ(failure, (RowFailure{1, TracePoint::kRope}));
  }
  for (const int ranks : {2, 4}) ExpectSame(one, OnRanks(ranks, small, WithScreen(), script));
}

// Two key heads make two parts, whatever the attention heads are.
TEST(SharedOut, MoreRanksThanKeyHeadsAreRefused) {
  SmallModel small("qwen35");
  small.keys["attention.head_count"] = 4;
  const auto path = small.Write();
  ThreadRanksHub hub(3);
  ThreadRanks ranks(&hub, 0);
  const auto model = LoadAt(path, {}, &ranks);
  std::filesystem::remove(path);
  ASSERT_FALSE(model.has_value());
  EXPECT_NE(model.error().message.find("2 key heads of delta layers make 2 parts at most"),
            std::string::npos)
      << model.error().message;
}

TEST(SharedOut, MoreRanksThanHeadsAreRefused) {
  const auto path = SmallModel().Write();
  ThreadRanksHub hub(3);
  ThreadRanks ranks(&hub, 0);
  const auto model = LoadAt(path, {}, &ranks);
  std::filesystem::remove(path);
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().message,
            "3 ranks are too many for this network: its 2 heads make 2 parts at most");
}

// A rank that waits for another message takes no part, so that telling it would wait forever.
TEST(SharedOut, LostRanksAreToldNothing) {
  ThreadRanksHub hub(2);
  ThreadRanks ranks(&hub, 0);
  ranks.MarkLost();
  {
    const RankLeader leader(&ranks, 1);
  }
  EXPECT_EQ(ranks.calls, 0u);
}

}  // namespace
}  // namespace bittern::model
