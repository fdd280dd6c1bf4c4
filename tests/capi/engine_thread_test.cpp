// SPDX-License-Identifier: Apache-2.0
// An engine that works in a thread of its own: requests from many threads, and every way to end it.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "capi_support.hpp"

namespace {

using capi_test::Done;
using capi_test::Engine;
using capi_test::JsonOf;
using capi_test::Ok;
using capi_test::Options;
using capi_test::Prompt;
using testing::HasSubstr;

/// Done, told by another thread.
struct Awaited {
  Done done;
  std::atomic<bool> ended = false;

  static void Callback(void* user, uint64_t request, bittern_status status,
                       bittern_result* result) {
    auto& awaited = *static_cast<Awaited*>(user);
    Done::Callback(&awaited.done, request, status, result);
    awaited.ended.store(true);
  }
  void Wait() const {
    while (!ended.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

std::string TextByRun(const Options& options) {
  Engine engine("context_length", "256");
  Done done;
  Ok(bittern_engine_submit(engine.handle, Prompt().data(), Prompt().size(), options.handle, nullptr,
                           Done::Callback, &done, nullptr));
  Ok(bittern_engine_run(engine.handle));
  return done.text;
}

TEST(EngineThread, ManySubmittersGetTheTextOfRun) {
  const Options options("n_predict", "8", "temperature", "0");
  Engine engine("max_sequences", "4", "context_length", "256");
  Ok(bittern_engine_start(engine.handle));
  constexpr int kThreads = 4, kRequests = 5;
  std::vector<Awaited> all(kThreads * kRequests);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int r = 0; r < kRequests; ++r) {
        Ok(bittern_engine_submit(engine.handle, Prompt().data(), Prompt().size(), options.handle,
                                 nullptr, Awaited::Callback, &all[t * kRequests + r], nullptr));
      }
      for (int r = 0; r < kRequests; ++r) all[t * kRequests + r].Wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string expected = TextByRun(options);
  for (const Awaited& one : all) {
    EXPECT_EQ(one.done.calls, 1);
    EXPECT_EQ(one.done.text, expected);
  }
}

TEST(EngineThread, StepsAreItsOwn) {
  Engine engine("context_length", "256");
  Ok(bittern_engine_start(engine.handle));
  EXPECT_EQ(bittern_engine_start(engine.handle), BITTERN_ERROR_BUSY);
  EXPECT_EQ(bittern_engine_step(engine.handle, nullptr), BITTERN_ERROR_BUSY);
  EXPECT_THAT(bittern_error_message(), HasSubstr("bittern_engine_start"));
  EXPECT_EQ(bittern_engine_run(engine.handle), BITTERN_ERROR_BUSY);
}

TEST(EngineThread, ACancelReachesIt) {
  Engine engine("context_length", "256");
  Ok(bittern_engine_start(engine.handle));
  const Options endless("n_predict", "-1", "ignore_eos", "on");
  for (int i = 0; i < 10; ++i) {
    Awaited one;
    uint64_t request = 0;
    Ok(bittern_engine_submit(engine.handle, Prompt().data(), Prompt().size(), endless.handle,
                             nullptr, Awaited::Callback, &one, &request));
    Ok(bittern_engine_cancel(engine.handle, request));
    one.Wait();
    EXPECT_EQ(one.done.calls, 1);
  }
}

/// Once on_done is called, the statistics do not count the request as running.
TEST(EngineThread, TheStatisticsKnowTheEnd) {
  Engine engine("context_length", "256");
  struct Told {
    bittern_engine* engine;
    std::string stats = {};
    std::atomic<bool> ended = false;
  } told{engine.handle};
  Ok(bittern_engine_start(engine.handle));
  const auto on_done = [](void* user, uint64_t, bittern_status, bittern_result* result) {
    bittern_result_free(result);
    auto& t = *static_cast<Told*>(user);
    Ok(bittern_engine_stats(t.engine, &result));
    t.stats = JsonOf(result);
    bittern_result_free(result);
    t.ended.store(true);
  };
  const Options options("n_predict", "4");
  Ok(bittern_engine_submit(told.engine, Prompt().data(), Prompt().size(), options.handle, nullptr,
                           on_done, &told, nullptr));
  while (!told.ended.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_THAT(told.stats, HasSubstr("\"running\":0,\"waiting\":0"));
}

TEST(EngineThread, NoCallbackComesAfterItsEnd) {
  const Options endless("n_predict", "-1", "ignore_eos", "on");
  for (int i = 0; i < 10; ++i) {
    std::atomic<bool> gone = false, late = false;
    struct State {
      std::atomic<bool>*gone, *late;
    } state{&gone, &late};
    const auto on_text = [](void* user, const char*, size_t) {
      auto& s = *static_cast<State*>(user);
      if (s.gone->load()) s.late->store(true);
      return int32_t{0};
    };
    const auto on_done = [](void* user, uint64_t, bittern_status, bittern_result* result) {
      auto& s = *static_cast<State*>(user);
      if (s.gone->load()) s.late->store(true);
      bittern_result_free(result);
    };
    {
      Engine engine("context_length", "256");
      Ok(bittern_engine_start(engine.handle));
      for (int r = 0; r < 3; ++r) {
        Ok(bittern_engine_submit(engine.handle, Prompt().data(), Prompt().size(), endless.handle,
                                 on_text, on_done, &state, nullptr));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2 * i));
    }
    gone.store(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_FALSE(late.load());
  }
}

TEST(EngineThread, FreedByItsOwnCallback) {
  struct State {
    bittern_engine* engine = nullptr;
    std::atomic<int> calls = 0;
  };
  State state;
  Ok(bittern_engine_create(capi_test::Shared(), nullptr, &state.engine));
  const auto on_done = [](void* user, uint64_t, bittern_status, bittern_result* result) {
    auto& s = *static_cast<State*>(user);
    bittern_result_free(result);
    if (s.calls.fetch_add(1) == 0) bittern_engine_free(s.engine);
  };
  const Options options("n_predict", "2", "temperature", "0");
  for (int r = 0; r < 3; ++r) {
    Ok(bittern_engine_submit(state.engine, Prompt().data(), Prompt().size(), options.handle,
                             nullptr, on_done, &state, nullptr));
  }
  Ok(bittern_engine_start(state.engine));
  while (state.calls.load() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the thread ends on its own
  EXPECT_EQ(bittern_engine_cancel(state.engine, 1), BITTERN_ERROR_HANDLE);
}

}  // namespace
