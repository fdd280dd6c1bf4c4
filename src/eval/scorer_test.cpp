// SPDX-License-Identifier: Apache-2.0
// The scorer against its twin: one text at a time through a session, whatever shares pages and
// passes.
#include "eval/scorer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/session.hpp"

namespace bittern::eval {
namespace {

using runtime::LoadedModel;

std::shared_ptr<const LoadedModel> Model() {
  static const auto model =
      LoadedModel::Load(std::string(BITTERN_SOURCE_DIR) + "/models/kjv-5m-i2s.gguf").value();
  return model;
}

/// One text, one pass after the other, nothing shared.
std::vector<TokenScore> Slow(runtime::Session& session, const ScoreItem& item) {
  std::vector<TokenScore> scores;
  session.Truncate(0);
  const auto inputs = std::span(item.tokens).first(item.tokens.size() - 1);
  EXPECT_TRUE(session.PrefillAll(inputs, [&](int position, std::span<const float> logits) {
    const auto next = static_cast<std::size_t>(position) + 1;
    if (next >= item.first_scored) scores.push_back(ScoreOf(logits, item.tokens[next]));
  }));
  return scores;
}

std::vector<TokenId> RandomTokens(std::mt19937& random, std::size_t count) {
  std::vector<TokenId> tokens(count);
  for (TokenId& token : tokens) token = static_cast<TokenId>(random() % 4096);
  return tokens;
}

/// Groups of texts that begin alike, of which some are the same but for their last token.
std::vector<ScoreGroup> RandomGroups(std::mt19937& random, int count) {
  std::vector<ScoreGroup> groups;
  for (int g = 0; g < count; ++g) {
    const auto common = RandomTokens(random, random() % (g % 5 == 0 ? 300 : 30));
    ScoreGroup group;
    const std::size_t items = 1 + random() % 5;
    for (std::size_t i = 0; i < items; ++i) {
      ScoreItem item{.tokens = common};
      const auto rest = RandomTokens(random, i == 1 ? 1 : 1 + random() % 12);
      item.tokens.insert(item.tokens.end(), rest.begin(), rest.end());
      if (item.tokens.size() < 2) item.tokens.push_back(7);
      item.first_scored = 1 + random() % (item.tokens.size() - 1);
      group.push_back(item);
    }
    groups.push_back(group);
  }
  return groups;
}

std::vector<GroupScores> ScoreAll(const std::vector<ScoreGroup>& groups,
                                  const ScoreOptions& options) {
  std::vector<GroupScores> found;
  const auto stats = Score(Model(), groups, options, [&](std::size_t group, const GroupScores& s) {
    EXPECT_EQ(group, found.size());
    found.push_back(s);
    return Result<void>();
  });
  EXPECT_TRUE(stats.has_value()) << stats.error().message;
  EXPECT_EQ(found.size(), groups.size());
  return found;
}

void ExpectSame(const std::vector<GroupScores>& a, const std::vector<GroupScores>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t g = 0; g < a.size(); ++g) {
    ASSERT_EQ(a[g].size(), b[g].size());
    for (std::size_t i = 0; i < a[g].size(); ++i) {
      ASSERT_EQ(a[g][i].size(), b[g][i].size()) << g << " " << i;
      for (std::size_t k = 0; k < a[g][i].size(); ++k) {
        EXPECT_EQ(a[g][i][k].nats, b[g][i][k].nats) << g << " " << i << " " << k;
        EXPECT_EQ(a[g][i][k].best, b[g][i][k].best);
      }
    }
  }
}

TEST(Scorer, EqualsOneTextAtATimeWhateverIsShared) {
  std::mt19937 random(3);
  const auto groups = RandomGroups(random, 24);
  auto session = runtime::Session::Create(Model()).value();
  std::vector<GroupScores> expected;
  for (const ScoreGroup& group : groups) {
    GroupScores scores;
    for (const ScoreItem& item : group) scores.push_back(Slow(session, item));
    expected.push_back(scores);
  }
  ExpectSame(ScoreAll(groups, {}), expected);
  ExpectSame(ScoreAll(groups, {.batch_size = 7, .num_threads = 1}), expected);
  ExpectSame(ScoreAll(groups, {.cache_mib = 1}), expected);
  ExpectSame(ScoreAll(groups, {.share = false}), expected);
}

TEST(Scorer, CommonBeginningsRunOnce) {
  std::mt19937 random(4);
  const auto common = RandomTokens(random, 100);
  ScoreGroup group;
  for (TokenId last = 0; last < 4; ++last) {
    ScoreItem item{.tokens = common, .first_scored = 100};
    item.tokens.push_back(last);
    group.push_back(item);
  }
  const auto ignore = [](std::size_t, const GroupScores&) { return Result<void>(); };
  EXPECT_EQ(Score(Model(), std::span(&group, 1), {}, ignore).value().tokens_run, 100u);
  for (ScoreItem& item : group) item.tokens.push_back(5);
  const auto stats = Score(Model(), std::span(&group, 1), {}, ignore).value();
  EXPECT_EQ(stats.tokens_run, 104u);
  EXPECT_EQ(stats.tokens_shared, 300u);
}

TEST(Scorer, BadInputIsRefused) {
  const auto score = [](ScoreItem item) {
    const ScoreGroup group = {std::move(item)};
    return Score(Model(), std::span(&group, 1), {},
                 [](std::size_t, const GroupScores&) { return Result<void>(); });
  };
  EXPECT_EQ(score({.tokens = {1}}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(score({.tokens = {1, 2}, .first_scored = 0}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(score({.tokens = {1, 4096}}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(score({.tokens = {-1, 4}}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(score({.tokens = std::vector<TokenId>(514)}).error().code, ErrorCode::kContextFull);
  EXPECT_TRUE(score({.tokens = std::vector<TokenId>(513)}));
}

TEST(Scorer, StopsWhereAsked) {
  const ScoreGroup group = {{.tokens = {1, 2}}};
  const std::vector<ScoreGroup> groups = {group, group};
  const std::atomic<bool> cancel = true;
  const auto cancelled = Score(Model(), groups, {.cancel = &cancel},
                               [](std::size_t, const GroupScores&) { return Result<void>(); });
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
  int calls = 0;
  const auto failed = Score(Model(), groups, {}, [&](std::size_t, const GroupScores&) {
    ++calls;
    return Result<void>(Fail(ErrorCode::kIo, "full"));
  });
  EXPECT_EQ(failed.error().message, "full");
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace bittern::eval
