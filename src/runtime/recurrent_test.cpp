// SPDX-License-Identifier: Apache-2.0
// Sessions of a network with a recurrent state. They forget, copy, save and abandon tokens. Their
// logits equal those of a new session that reads the same tokens once.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <map>
#include <random>
#include <vector>

#include "model/small_model_for_test.hpp"
#include "runtime/session.hpp"
#include "runtime/session_state.hpp"

namespace bittern::runtime {
namespace {

constexpr int kContext = 600;

std::shared_ptr<const LoadedModel> Recurrent() {
  static const std::shared_ptr<const LoadedModel> model = [] {
    model::SmallModel small("qwen35");
    small.keys["context_length"] = kContext;
    small.AddTokenizer();
    const auto path = small.Write();
    auto loaded = LoadedModel::Load(path, {.num_threads = 1});
    std::filesystem::remove(path);
    if (!loaded) throw std::runtime_error(loaded.error().message);
    return *loaded;
  }();
  return model;
}

Session MakeSession(int batch_size = 512, int num_threads = 1) {
  return Session::Create(Recurrent(),
                         {.batch_size = batch_size, .num_threads = num_threads, .max_sequences = 8})
      .value();
}

std::vector<TokenId> RandomTokens(std::size_t count, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<TokenId> tokens(count);
  for (TokenId& token : tokens) token = static_cast<TokenId>(rng() % 256);
  return tokens;
}

std::vector<float> Logits(Session* session) {
  const auto needed = session->NeedLogits();
  EXPECT_TRUE(needed.has_value()) << needed.error().message;
  return {session->logits().begin(), session->logits().end()};
}

std::vector<TokenId> TokensOf(const Session& session) {
  return {session.tokens().begin(), session.tokens().end()};
}

/// The logits after these tokens, read at once by a session of its own.
const std::vector<float>& Once(const std::vector<TokenId>& tokens) {
  static std::map<std::vector<TokenId>, std::vector<float>> known;
  std::vector<float>& logits = known[tokens];
  if (logits.empty()) {
    Session session = MakeSession();
    EXPECT_TRUE(session.Prefill(tokens).has_value());
    logits = Logits(&session);
  }
  return logits;
}

TEST(Recurrent, ChunksAndThreadsChangeNoBit) {
  const auto tokens = RandomTokens(300, 1);
  for (const int batch_size : {1, 2, 3, 7, 64, 257}) {
    Session session = MakeSession(batch_size, batch_size % 3 + 1);
    ASSERT_TRUE(session.Prefill(tokens).has_value());
    EXPECT_EQ(Logits(&session), Once(tokens)) << batch_size;
  }
}

TEST(Recurrent, ATruncatedSessionReadsAgain) {
  const auto tokens = RandomTokens(40, 2);
  Session session = MakeSession(16);
  ASSERT_TRUE(session.Prefill(tokens).has_value());
  for (const std::size_t length : {39u, 33u, 16u, 15u, 1u}) {
    session.Truncate(static_cast<int>(length));
    const std::vector<TokenId> left(tokens.begin(),
                                    tokens.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_EQ(TokensOf(session), left);
    EXPECT_EQ(Logits(&session), Once(left)) << length;
    EXPECT_EQ(TokensOf(session), left);
  }
  // Twice in a row, then on.
  session.Truncate(1);
  ASSERT_TRUE(session.Prefill(std::vector<TokenId>(tokens.begin() + 1, tokens.end())).has_value());
  session.Truncate(20);
  session.Truncate(10);
  std::vector<int> positions;
  ASSERT_TRUE(session
                  .PrefillAll(std::vector<TokenId>(tokens.begin() + 10, tokens.begin() + 12),
                              [&](int position, std::span<const float> logits) {
                                positions.push_back(position);
                                const std::vector<TokenId> until(tokens.begin(),
                                                                 tokens.begin() + position + 1);
                                EXPECT_EQ(std::vector<float>(logits.begin(), logits.end()),
                                          Once(until));
                              })
                  .has_value());
  EXPECT_EQ(positions, (std::vector<int>{10, 11}));
}

TEST(Recurrent, RandomForksTruncationsAndStates) {
  std::mt19937 rng(3);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(rng()) % n; };
  std::vector<Session> sessions;
  std::vector<std::vector<TokenId>> texts(1);
  sessions.push_back(MakeSession(17));
  for (int step = 0; step < 150; ++step) {
    const std::size_t at = below(sessions.size());
    Session& session = sessions[at];
    std::vector<TokenId>& text = texts[at];
    const std::size_t length = below(text.size() + 1);
    switch (below(5)) {
      case 0:
        if (sessions.size() >= 6) break;
        sessions.push_back(session.Fork(static_cast<int>(length)).value());
        texts.emplace_back(texts[at].begin(),
                           texts[at].begin() + static_cast<std::ptrdiff_t>(length));
        break;
      case 1:
        session.Truncate(static_cast<int>(length));
        text.resize(length);
        break;
      case 2: {
        const std::string state = session.SaveState();
        const std::size_t to = below(sessions.size());
        const auto restored =
            sessions[to].RestoreState(std::as_bytes(std::span(state.data(), state.size())));
        ASSERT_TRUE(restored.has_value()) << restored.error().message;
        texts[to] = texts[at];
        break;
      }
      default: {
        if (text.size() > 80) break;
        const auto more = RandomTokens(1 + below(20), static_cast<unsigned>(rng()));
        ASSERT_TRUE(session.Prefill(more).has_value());
        text.insert(text.end(), more.begin(), more.end());
      }
    }
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      ASSERT_EQ(TokensOf(sessions[i]), texts[i]) << step;
    }
    const std::size_t one = below(sessions.size());
    if (texts[one].empty()) continue;
    ASSERT_EQ(Logits(&sessions[one]), Once(texts[one])) << step;
  }
}

TEST(Recurrent, AnAbandonedPassLeavesNoTrace) {
  const auto tokens = RandomTokens(60, 4);
  Session session = MakeSession();
  const std::vector<TokenId> first(tokens.begin(), tokens.begin() + 20);
  const std::vector<TokenId> rest(tokens.begin() + 20, tokens.end());
  ASSERT_TRUE(session.Prefill(first).has_value());
  std::atomic<bool> cancel = false;
  GenerateOptions options{.max_tokens = 1, .cancel = &cancel};
  options.on_prompt = [&](double done) { cancel = done > 0; };  // after the first layer
  const auto read = session.PrefillFor(rest, options);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(TokensOf(session), first);
  EXPECT_EQ(Logits(&session), Once(first));
  ASSERT_TRUE(session.Prefill(rest).has_value());
  EXPECT_EQ(Logits(&session), Once(tokens));
}

TEST(Recurrent, WhatIsKeptSavesReading) {
  const auto tokens = RandomTokens(600, 6);
  const auto first = [&](std::size_t count) {
    return std::vector<TokenId>(tokens.begin(),
                                tokens.begin() + static_cast<std::ptrdiff_t>(count));
  };
  for (const std::size_t kept : {0u, 1u, 2u}) {
    Session session =
        Session::Create(Recurrent(), {.num_threads = 1, .max_sequences = 8, .kept_states = kept})
            .value();
    ASSERT_TRUE(session.Prefill(tokens).has_value());
    // Kept at 512 and 584, of which the last ones stay.
    const int read = session.timings().prompt_tokens;
    EXPECT_EQ(read, 600);
    for (const std::size_t length : {599u, 590u, 584u, 570u, 512u, 511u, 40u}) {
      Session fork = session.Fork(static_cast<int>(length)).value();
      EXPECT_EQ(Logits(&fork), Once(first(length))) << length;
      session.Truncate(static_cast<int>(length));
      EXPECT_EQ(Logits(&session), Once(first(length))) << length;
      const std::string state = session.SaveState();
      Session other = MakeSession();
      ASSERT_TRUE(other.RestoreState(std::as_bytes(std::span(state))).has_value());
      EXPECT_EQ(Logits(&other), Once(first(length))) << length;
    }
  }
}

TEST(Recurrent, PagesKeepStatesAndGoBackToThem) {
  const model::ModelConfig& config = Recurrent()->model.config();
  auto pool = model::KvPool::Create(config, 8, model::KvType::kF16).value();
  model::KvSequence sequence(&pool);
  const auto extend_to = [&](int length, float mark) {
    ASSERT_TRUE(sequence.Reserve(length - sequence.length()));
    std::ranges::fill(sequence.state(), mark);
    sequence.Extend(length - sequence.length());
  };
  EXPECT_FALSE(sequence.KeepState());  // there is nothing yet
  extend_to(10, 1);
  EXPECT_TRUE(sequence.KeepState());
  extend_to(300, 2);
  EXPECT_TRUE(sequence.KeepState());
  EXPECT_TRUE(sequence.KeepState());  // the same one
  EXPECT_EQ(sequence.kept().size(), 2u);
  extend_to(310, 3);
  const model::KvSequence fork = sequence.Fork(299);
  EXPECT_EQ(fork.length(), 10);
  EXPECT_EQ(fork.state()[0], 1);
  EXPECT_EQ(fork.kept().size(), 1u);
  const model::KvSequence whole = sequence.Fork(310);
  EXPECT_EQ(whole.state()[0], 3);
  EXPECT_EQ(whole.kept().size(), 2u);
  sequence.GoBack();
  EXPECT_EQ(sequence.length(), 300);
  EXPECT_EQ(sequence.state()[0], 2);
  sequence.Truncate(299);
  EXPECT_EQ(sequence.length(), 10);
  EXPECT_EQ(sequence.state()[0], 1);
  EXPECT_EQ(sequence.kept().size(), 1u);
  sequence.LimitKept(0);
  sequence.Truncate(9);
  EXPECT_EQ(sequence.length(), 0);
  EXPECT_TRUE(sequence.state().empty());
}

TEST(Recurrent, DraftsThatFailGoBack) {
  std::vector<TokenId> tokens = RandomTokens(6, 8);  // repeats itself: there is something to draft
  while (tokens.size() < 48) tokens.push_back(tokens[tokens.size() - 6]);
  const auto generate = [&](Speculation speculation, float temperature, Session* session) {
    EXPECT_TRUE(session->Prefill(tokens).has_value());
    return session
        ->Generate({.max_tokens = 120,
                    .sampler = {.temperature = temperature,
                                .seed = 5,
                                .logit_bias = {{tokens[0], 100}, {tokens[1], 100}}},
                    .ignore_eos = true,
                    .speculation = speculation},
                   nullptr)
        .value()
        .ids;
  };
  int drafted = 0, accepted = 0;
  for (const std::size_t kept : {0u, 2u}) {
    for (const float temperature : {0.1f, 0.3f, 1.0f}) {
      const SessionOptions options{.num_threads = 1, .kept_states = kept};
      Session plain = Session::Create(Recurrent(), options).value();
      Session drafts = Session::Create(Recurrent(), options).value();
      EXPECT_EQ(generate(Speculation::kOff, temperature, &plain),
                generate(Speculation::kAlways, temperature, &drafts));
      EXPECT_EQ(plain.timings().drafted_tokens, 0);
      EXPECT_EQ(Logits(&drafts), Once(TokensOf(drafts)));
      drafted += drafts.timings().drafted_tokens;
      accepted += drafts.timings().accepted_tokens;
    }
  }
  std::printf("  %d drafted, %d came true\n", drafted, accepted);
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, drafted);
}

TEST(Recurrent, AStateThatHasSeenNothingIsNotSaved) {
  const model::ModelConfig& config = Recurrent()->model.config();
  auto pool = model::KvPool::Create(config, 1, model::KvType::kF16).value();
  for (const std::vector<TokenId>& waiting : {std::vector<TokenId>(), RandomTokens(3, 5)}) {
    model::KvSequence sequence(&pool);
    ASSERT_TRUE(sequence.Reserve(3));  // of a pass that failed then
    const std::string bytes = WriteSessionState(config, waiting, sequence);
    const auto read = ReadSessionState(std::as_bytes(std::span(bytes)), config, pool);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(read->tokens, waiting);
    EXPECT_TRUE(read->pages.empty());
  }
}

TEST(Recurrent, AStateIsOfAKnownSize) {
  const auto memory = MemoryOf(*Recurrent(), {}).value();
  EXPECT_EQ(memory.state_bytes, 4u * (4 * 32 * 32 + 3 * (2 * 2 + 4) * 32));
  // Keys and values of one layer of two: 256 positions, one head of 128, two bytes each.
  EXPECT_EQ(memory.page_bytes, 2u * 256 * 128 * 2);
}

}  // namespace
}  // namespace bittern::runtime
