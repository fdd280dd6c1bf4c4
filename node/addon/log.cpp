// SPDX-License-Identifier: Apache-2.0
// The listener of bittern_set_log. The last environment that set one has it. The loop of that
// environment calls it, some time after the library said its sentence.
#include <memory>
#include <mutex>

#include "functions.hpp"

namespace bittern::node {
namespace {

struct Sentence {
  std::int32_t level;
  std::string text;
};

std::mutex log_mutex;
napi_threadsafe_function log_function = nullptr;  // with log_mutex held

/// The library's callback, by any thread. A sentence is lost where there is no memory for it.
void OnLog(void*, std::int32_t level, const char* text, std::size_t size) {
  try {
    auto sentence = std::make_unique<Sentence>(Sentence{level, {text, size}});
    const std::lock_guard lock(log_mutex);
    if (log_function == nullptr) return;
    const napi_status status =
        napi_call_threadsafe_function(log_function, sentence.get(), napi_tsfn_nonblocking);
    if (status == napi_ok) static_cast<void>(sentence.release());
    if (status == napi_closing) log_function = nullptr;  // it may be gone from here on
  } catch (const std::exception&) {
    return;
  }
}

/// By the loop: listener(level, text). The environment is null where it ends.
void OnSentence(napi_env env, napi_value listener, void*, void* data) {
  const std::unique_ptr<Sentence> sentence(static_cast<Sentence*>(data));
  if (env == nullptr) return;
  napi_value level = nullptr, answer = nullptr;
  napi_create_int32(env, sentence->level, &level);
  napi_value values[] = {level, NewText(env, sentence->text.data(), sentence->text.size())};
  if (values[1] != nullptr) {
    napi_call_function(env, Undefined(env), listener, std::size(values), values, &answer);
  }
}

/// `data` is the function, in memory of its own: the environment ends, or another one was set.
void OnClose(napi_env, void* data, void*) {
  const std::unique_ptr<napi_threadsafe_function> function(
      static_cast<napi_threadsafe_function*>(data));
  const std::lock_guard lock(log_mutex);
  if (log_function == *function) log_function = nullptr;
}

/// setLog(listener or null)
napi_value SetLog(Arguments& arguments, Environment&) {
  napi_env env = arguments.env();
  napi_value listener = nullptr;
  napi_threadsafe_function made = nullptr;
  if (!arguments.Function(0, &listener)) return nullptr;
  if (listener != nullptr) {
    auto own = std::make_unique<napi_threadsafe_function>(nullptr);
    if (napi_create_threadsafe_function(
            env, listener, nullptr, NewText(env, "bittern log", NAPI_AUTO_LENGTH), 0, 1, own.get(),
            OnClose, nullptr, OnSentence, own.get()) != napi_ok) {
      return nullptr;
    }
    made = *own.release();
    napi_unref_threadsafe_function(env, made);  // a program may end while somebody listens
  }
  const std::lock_guard lock(log_mutex);
  if (log_function != nullptr) napi_release_threadsafe_function(log_function, napi_tsfn_abort);
  log_function = made;
  return Done(env, bittern_set_log(made == nullptr ? nullptr : OnLog, nullptr));
}

constexpr Row kRowsOfLog[] = {{"setLog", SetLog}};

}  // namespace

std::span<const Row> LogFunctions() { return kRowsOfLog; }

}  // namespace bittern::node
