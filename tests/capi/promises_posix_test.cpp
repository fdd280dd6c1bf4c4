// SPDX-License-Identifier: Apache-2.0
// The promises of bittern.h that need a system of POSIX to be tried: memory comes and goes with
// tokens, and a child of fork() is refused.
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/threads/forked_child_for_test.hpp"
#include "capi/capi_support.hpp"

namespace {

using namespace capi_test;  // NOLINT: the helpers of this program

/// Resident bytes of this process.
size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

int ThreadsOfProcess() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "Threads:") continue;
    int count = 0;
    status >> count;
    return count;
  }
  return -1;
}

size_t NumberIn(const std::string& json, const std::string& name) {
  const size_t at = json.find("\"" + name + "\":");
  return at == std::string::npos ? 0 : std::stoull(json.substr(at + name.size() + 3));
}

TEST(Promises, MemoryComesWithTokensAndGoes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep freed memory";
#endif
  constexpr size_t kCount = 1000, kMega = size_t{1} << 20;
  bittern_result* result = nullptr;
  Ok(bittern_model_memory(Shared(), nullptr, &result));
  const size_t page = NumberIn(JsonOf(result), "page_bytes");
  EXPECT_GT(NumberIn(JsonOf(result), "scratch_bytes"), 0u);
  EXPECT_GT(NumberIn(JsonOf(result), "kv_bytes"), page);
  bittern_result_free(result);
  {
    Sequence first;  // threads and scratch memory, which all share
    Ok(bittern_sequence_eval(first.handle, Prompt().data(), Prompt().size()));
  }
  const size_t before = ResidentBytes();
  const int threads = ThreadsOfProcess();
  for (int round = 0; round < 2; ++round) {
    std::vector<bittern_sequence*> all(kCount);
    for (bittern_sequence*& sequence : all) {
      Ok(bittern_sequence_create(Shared(), nullptr, &sequence));
      Ok(bittern_sequence_eval(sequence, Prompt().data(), 1));
    }
    EXPECT_EQ(ThreadsOfProcess(), threads);
    const size_t each = (ResidentBytes() - std::min(before, ResidentBytes())) / kCount;
    EXPECT_LT(each, page + kMega) << "page_bytes " << page;
    for (bittern_sequence* sequence : all) bittern_sequence_free(sequence);
    EXPECT_LT(ResidentBytes(), before + 20 * kMega);
  }
}

TEST(Promises, AChildProcessIsTold) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer knows no fork with threads";
#endif
  Sequence sequence;
  Engine engine;
  Ok(bittern_engine_start(engine.handle));
  const Options options("n_predict", "8", "temperature", "0", "regex", " [a-z ]*", "receipt", "on");
  Ok(bittern_sequence_eval(sequence.handle, Prompt().data(), Prompt().size()));
  const auto child = [&] {
    bittern_result* result = nullptr;
    if (bittern_sequence_generate(sequence.handle, options.handle, nullptr, nullptr, &result) !=
            BITTERN_ERROR_UNSUPPORTED ||
        std::strstr(bittern_error_message(), "fork()") == nullptr) {
      return 1;
    }
    int32_t more = 0;
    if (bittern_engine_step(engine.handle, &more) != BITTERN_ERROR_UNSUPPORTED) return 2;
    // The model works, with threads of its own.
    if (bittern_generate(Shared(), kPrompt, std::strlen(kPrompt), options.handle, nullptr, nullptr,
                         &result) != BITTERN_OK) {
      return 3;
    }
    bittern_sequence_free(sequence.handle);  // neither waits for threads of the parent
    bittern_engine_free(engine.handle);
    return 0;
  };
  EXPECT_EQ(bittern::InForkedChild(child), 0);
  EXPECT_FALSE(Continue(sequence.handle, options).empty());  // the parent goes on
#if defined(__SANITIZE_ADDRESS__)
  return;  // a lock of its allocator stays held in the child of a process whose threads allocate
#endif
  // Also while other threads use everything.
  std::atomic<bool> stop = false;
  std::vector<std::thread> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back([&] {
      while (!stop.load()) {
        bittern_result* result = nullptr;
        Ok(bittern_generate(Shared(), kPrompt, std::strlen(kPrompt), options.handle, nullptr,
                            nullptr, &result));
        bittern_result_free(result);
      }
    });
  }
  for (int i = 0; i < 5; ++i) EXPECT_EQ(bittern::InForkedChild(child), 0);
  stop.store(true);
  for (std::thread& thread : busy) thread.join();
}

}  // namespace
