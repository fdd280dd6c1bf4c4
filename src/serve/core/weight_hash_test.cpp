// SPDX-License-Identifier: Apache-2.0
#include "serve/core/weight_hash.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/threads/thread_pool.hpp"
#include "model/load/fingerprint.hpp"

namespace bittern::serve {
namespace {

using std::chrono::milliseconds;

class WeightHashTest : public testing::Test {
 protected:
  [[nodiscard]] std::string Expected() const {
    auto pool = ThreadPool::Create(1).value();
    return model::FingerprintOf(model_->model, pool).value().hash;
  }
  /// Calls of go_on, one before each 32 rows.
  [[nodiscard]] int Pieces() const {
    auto pool = ThreadPool::Create(1).value();
    int pieces = 0;
    EXPECT_TRUE(model::FingerprintOf(model_->model, pool, [&] { return ++pieces, true; }));
    return pieces;
  }
  /// As long as `shut`: no thread of the hash gets any further.
  [[nodiscard]] std::function<bool()> BusyGate() {
    return [this] {
      ++asked_;
      while (shut_.load()) std::this_thread::sleep_for(milliseconds(1));
      return true;
    };
  }

  std::shared_ptr<const runtime::LoadedModel> model_ =
      runtime::LoadedModel::Load(BITTERN_SOURCE_DIR "/models/kjv-5m-i2s.gguf", {.num_threads = 1})
          .value();
  std::atomic<bool> shut_{true};
  std::atomic<int> asked_{0};
};

TEST_F(WeightHashTest, IsThatOfTheFingerprint) {
  for (const int num_threads : {1, 3}) {
    WeightHash hash(model_, num_threads, [] { return false; });
    EXPECT_EQ(hash.Wait().value(), Expected());
    ASSERT_NE(hash.Known(), nullptr);
    EXPECT_EQ(hash.Known()->value(), Expected());
  }
}

TEST_F(WeightHashTest, IsKnownInTheEndWhereRequestsNeverPause) {
  shut_ = false;
  WeightHash hash(model_, 2, BusyGate());
  while (hash.Known() == nullptr) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(hash.Known()->value(), Expected());
}

/// Before each 32 rows a thread asks whether requests run, until Wait is called.
TEST_F(WeightHashTest, RestsNoMoreOnceSomebodyWaits) {
  WeightHash hash(model_, 2, BusyGate());
  while (asked_.load() < 2) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(hash.Known(), nullptr);
  std::string found;
  std::thread waiting([&] { found = hash.Wait().value(); });
  std::this_thread::sleep_for(milliseconds(20));
  shut_ = false;
  waiting.join();
  EXPECT_EQ(found, Expected());
  EXPECT_LT(asked_.load(), Pieces() / 2);
}

TEST_F(WeightHashTest, StopGivesItUpAndTellsThoseWhoWait) {
  WeightHash hash(model_, 2, BusyGate());
  while (asked_.load() < 2) std::this_thread::sleep_for(milliseconds(1));
  std::thread opens([this] {
    std::this_thread::sleep_for(milliseconds(20));
    shut_ = false;
  });
  hash.Stop();
  opens.join();
  ASSERT_NE(hash.Known(), nullptr);
  ASSERT_FALSE(hash.Wait().has_value());
  EXPECT_EQ(hash.Wait().error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace bittern::serve
