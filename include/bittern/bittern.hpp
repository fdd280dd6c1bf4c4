// SPDX-License-Identifier: Apache-2.0
// Bittern for C++20: a thin, header-only wrapper of bittern.h. Handles free themselves and can be
// moved, not copied; what can fail returns Expected<T>, a value or an Error, and nothing throws but
// std::bad_alloc and Expected::value(). What a function does, and which threads may call it, is
// said in bittern.h.
#pragma once

#include <bittern/bittern.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace bittern::api {

/// The failure in words.
struct Error {
  bittern_status status = BITTERN_OK;
  std::string message, hint;
};

/// Thrown by Expected::value() where there is none.
class Exception : public std::runtime_error {
 public:
  explicit Exception(Error error) : std::runtime_error(error.message), error_(std::move(error)) {}
  [[nodiscard]] const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

struct Nothing {};

/// A value or an error, in the shape of std::expected.
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }
  /// The value; throws Exception where there is none.
  T& value() & {
    if (!has_value()) throw Exception(error());
    return std::get<0>(state_);
  }
  const T& value() const& {
    if (!has_value()) throw Exception(error());
    return std::get<0>(state_);
  }
  T&& value() && { return std::move(value()); }
  /// REQUIRES: has_value().
  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }
  /// REQUIRES: !has_value().
  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

namespace internal {

/// The calling thread's last error.
inline Error LastError() {
  return {bittern_error_status(), bittern_error_message(), bittern_error_hint()};
}

inline Expected<Nothing> Check(bittern_status status) {
  if (status == BITTERN_OK) return Nothing{};
  return LastError();
}

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* handle) const noexcept {
    Free(handle);
  }
};
template <class T, auto Free>
using Handle = std::unique_ptr<T, Deleter<Free>>;

/// A text callback around a function object; an empty one cancels nothing.
using TextFunction = std::function<bool(std::string_view)>;
inline int32_t OnText(void* user, const char* text, size_t size) {
  const auto& function = *static_cast<const TextFunction*>(user);
  return !function || function({text, size}) ? 0 : 1;
}

}  // namespace internal

/// Gets new text; false ends it. Must not throw. TextPart() says more about the text.
using OnText = internal::TextFunction;

/// Gets the logits, or the hidden state, of a position, valid during the call; false ends the work.
/// Must not throw.
using OnRow = std::function<bool(size_t position, std::span<const float> values)>;

/// Told the share that is done, 0 to 1; false ends the work. Must not throw.
using OnProgress = std::function<bool(double done)>;

/// Gets a sentence of the log; `level`: BITTERN_LOG_... Must not throw.
using OnLog = std::function<void(int32_t level, std::string_view text)>;

namespace internal {
inline int32_t OnRowOf(void* user, size_t position, const float* values, size_t count) {
  const auto& function = *static_cast<const OnRow*>(user);
  return !function || function(position, {values, count}) ? 0 : 1;
}
inline int32_t OnProgressOf(void* user, double done) {
  const auto& function = *static_cast<const OnProgress*>(user);
  return !function || function(done) ? 0 : 1;
}
inline void OnLogOf(void* user, int32_t level, const char* text, size_t size) {
  (*static_cast<const OnLog*>(user))(level, {text, size});
}
}  // namespace internal

/// Sets the listener of this process in place of the one before; an empty one: none. It is kept for
/// as long as the process lives, since another thread may be calling it.
inline Expected<Nothing> SetLog(OnLog on_log) {
  if (!on_log) return internal::Check(bittern_set_log(nullptr, nullptr));
  auto kept = std::make_unique<OnLog>(std::move(on_log));
  const auto set = internal::Check(bittern_set_log(internal::OnLogOf, kept.get()));
  if (set) static_cast<void>(kept.release());
  return set;
}

/// The result of a larger call. Any number of threads.
class Result {
 public:
  explicit Result(bittern_result* result) noexcept : handle_(result) {}
  [[nodiscard]] std::string_view text() const noexcept {
    const char* text = "";
    size_t size = 0;
    static_cast<void>(bittern_result_text(handle_.get(), &text, &size));
    return {text, size};
  }
  [[nodiscard]] std::span<const int32_t> ids() const noexcept {
    const int32_t* ids = nullptr;
    size_t count = 0;
    static_cast<void>(bittern_result_ids(handle_.get(), &ids, &count));
    return {ids, count};
  }
  [[nodiscard]] std::span<const float> floats() const noexcept {
    const float* floats = nullptr;
    size_t count = 0;
    static_cast<void>(bittern_result_floats(handle_.get(), &floats, &count));
    return {floats, count};
  }
  [[nodiscard]] std::string_view json() const noexcept {
    const char* json = "{}";
    size_t size = 2;
    static_cast<void>(bittern_result_json(handle_.get(), &json, &size));
    return {json, size};
  }

 private:
  internal::Handle<bittern_result, bittern_result_free> handle_;
};

namespace internal {
/// Calls a function whose last argument is a bittern_result**.
template <class Function, class... Args>
Expected<Result> Give(Function function, Args... args) {
  bittern_result* result = nullptr;
  if (function(args..., &result) != BITTERN_OK) return LastError();
  return Result(result);
}
}  // namespace internal

/// From inside an OnText: the text that it was given, with ids and log-probabilities.
[[nodiscard]] inline Expected<Result> TextPart() { return internal::Give(bittern_text_part); }

/// Settings by key. Made from pairs: Options::Of({{"temperature", "0"}}).
class Options {
 public:
  /// None.
  Options() = default;
  static Expected<Options> Of(
      std::initializer_list<std::pair<std::string_view, std::string_view>> settings) {
    Options options;
    for (const auto& [key, value] : settings) {
      if (auto set = options.Set(key, value); !set) return set.error();
    }
    return options;
  }
  Expected<Nothing> Set(std::string_view key, std::string_view value) {
    if (handle_ == nullptr) {
      bittern_options* made = nullptr;
      if (bittern_options_create(&made) != BITTERN_OK) return internal::LastError();
      handle_.reset(made);
    }
    return internal::Check(
        bittern_options_set(handle_.get(), std::string(key).c_str(), std::string(value).c_str()));
  }
  /// The value of a key, or what holds where it is not set: the result's text.
  [[nodiscard]] Expected<Result> Get(const std::string& key) const {
    return internal::Give(bittern_options_get, get(), key.c_str());
  }
  [[nodiscard]] const bittern_options* get() const noexcept { return handle_.get(); }

 private:
  internal::Handle<bittern_options, bittern_options_free> handle_;
};

/// Finds a model by its name in the cache, or fetches it: the result's text is its path.
/// `environment`: as `environ`; null: none.
[[nodiscard]] inline Expected<Result> Pull(const std::string& name, const char* const* environment,
                                           const Options& options = {},
                                           OnProgress on_progress = {}) {
  return internal::Give(bittern_pull, name.c_str(), environment, options.get(),
                        internal::OnProgressOf, static_cast<void*>(&on_progress));
}

/// Converts a model file or folder to another format (option "to").
[[nodiscard]] inline Expected<Result> Convert(const std::string& input, const std::string& output,
                                              const Options& options, OnProgress on_progress = {}) {
  return internal::Give(bittern_convert, input.c_str(), output.c_str(), options.get(),
                        internal::OnProgressOf, static_cast<void*>(&on_progress));
}

/// A file's contents, or why its model talks nonsense: JSON.
[[nodiscard]] inline Expected<Result> Inspect(const std::string& path,
                                              const Options& options = {}) {
  return internal::Give(bittern_inspect, path.c_str(), options.get());
}
[[nodiscard]] inline Expected<Result> Doctor(const std::string& path, const Options& options = {}) {
  return internal::Give(bittern_doctor, path.c_str(), options.get());
}

/// A model with its tokenizer. Any number of threads.
class Model {
 public:
  static Expected<Model> Load(const std::string& path, const Options& options = {},
                              OnProgress on_progress = {}) {
    bittern_model* model = nullptr;
    if (bittern_model_load(path.c_str(), options.get(), internal::OnProgressOf, &on_progress,
                           &model) != BITTERN_OK) {
      return internal::LastError();
    }
    return Model(model);
  }
  /// From a GGUF file in memory, which is copied. `name` stands in messages where a path would.
  static Expected<Model> LoadMemory(std::span<const std::byte> bytes,
                                    const std::string& name = "memory", const Options& options = {},
                                    OnProgress on_progress = {}) {
    bittern_model* model = nullptr;
    if (bittern_model_load_memory(bytes.data(), bytes.size(), name.c_str(), options.get(),
                                  internal::OnProgressOf, &on_progress, &model) != BITTERN_OK) {
      return internal::LastError();
    }
    return Model(model);
  }
  /// The small one that is part of the library.
  static Expected<Model> BuiltIn(const Options& options = {}) {
    bittern_model* model = nullptr;
    if (bittern_model_load_builtin(options.get(), &model) != BITTERN_OK) {
      return internal::LastError();
    }
    return Model(model);
  }

  [[nodiscard]] Expected<int64_t> Number(const std::string& name) const {
    int64_t value = 0;
    if (bittern_model_number(get(), name.c_str(), &value) != BITTERN_OK) {
      return internal::LastError();
    }
    return value;
  }
  [[nodiscard]] Expected<Result> Info() const { return internal::Give(bittern_model_info, get()); }
  [[nodiscard]] Expected<Result> Metadata(const std::string& key) const {
    return internal::Give(bittern_model_metadata, get(), key.c_str());
  }
  [[nodiscard]] Expected<Result> Tokenize(std::string_view text,
                                          uint32_t flags = BITTERN_TOKENIZE_BOS) const {
    return internal::Give(bittern_tokenize, get(), text.data(), text.size(), flags);
  }
  [[nodiscard]] Expected<Result> Detokenize(std::span<const int32_t> ids,
                                            uint32_t flags = 0) const {
    return internal::Give(bittern_detokenize, get(), ids.data(), ids.size(), flags);
  }
  /// `chat_template`: empty for the model's own.
  [[nodiscard]] Expected<Result> ApplyTemplate(std::string_view messages_json,
                                               const std::string& chat_template = {}) const {
    return internal::Give(bittern_apply_template, get(), messages_json.data(), messages_json.size(),
                          chat_template.empty() ? nullptr : chat_template.c_str());
  }
  [[nodiscard]] Expected<Result> Generate(std::string_view text, const Options& options = {},
                                          OnText on_text = {}) const {
    return internal::Give(bittern_generate, get(), text.data(), text.size(), options.get(),
                          internal::OnText, static_cast<void*>(&on_text));
  }
  /// The bytes of one token; they live as long as the model.
  [[nodiscard]] Expected<std::string_view> TokenBytes(int32_t id) const {
    const char* bytes = nullptr;
    size_t size = 0;
    if (bittern_token_bytes(get(), id, &bytes, &size) != BITTERN_OK) return internal::LastError();
    return std::string_view(bytes, size);
  }
  [[nodiscard]] Expected<bool> TokenIsEnd(int32_t id) const {
    int32_t is_end = 0;
    if (bittern_token_is_end(get(), id, &is_end) != BITTERN_OK) return internal::LastError();
    return is_end != 0;
  }
  /// The memory that a sequence or an engine would take: JSON.
  [[nodiscard]] Expected<Result> Memory(const Options& options = {}) const {
    return internal::Give(bittern_model_memory, get(), options.get());
  }
  /// A text as one vector: the result's floats.
  [[nodiscard]] Expected<Result> Embed(std::span<const int32_t> ids,
                                       const Options& options = {}) const {
    return internal::Give(bittern_embed, get(), ids.data(), ids.size(), options.get());
  }
  /// A line for each operation, with what it computed: a text. `folder`: empty, or where the trace
  /// is written.
  [[nodiscard]] Expected<Result> Trace(std::span<const int32_t> ids, const std::string& folder = {},
                                       const Options& options = {}) const {
    return internal::Give(bittern_trace, get(), ids.data(), ids.size(),
                          folder.empty() ? nullptr : folder.c_str(), options.get());
  }
  /// The calls of functions in a text that the model has made.
  [[nodiscard]] Expected<Result> ParseAnswer(std::string_view text) const {
    return internal::Give(bittern_parse_answer, get(), text.data(), text.size());
  }
  [[nodiscard]] Expected<Result> Certify(const Options& options = {},
                                         OnProgress on_progress = {}) const {
    return internal::Give(bittern_certify, get(), options.get(), internal::OnProgressOf,
                          static_cast<void*>(&on_progress));
  }
  /// Replays the answers that receipts stand for: JSON.
  [[nodiscard]] Expected<Result> Verify(std::string_view receipts,
                                        const Options& options = {}) const {
    return internal::Give(bittern_verify, get(), receipts.data(), receipts.size(), options.get());
  }
  /// Perplexity of a text; the share of questions that are answered rightly: JSON.
  [[nodiscard]] Expected<Result> ScoreText(std::string_view text, const Options& options = {},
                                           OnProgress on_progress = {}) const {
    return internal::Give(bittern_score_text, get(), text.data(), text.size(), options.get(),
                          internal::OnProgressOf, static_cast<void*>(&on_progress));
  }
  [[nodiscard]] Expected<Result> ScoreChoices(std::string_view lines, const Options& options = {},
                                              OnProgress on_progress = {}) const {
    return internal::Give(bittern_score_choices, get(), lines.data(), lines.size(), options.get(),
                          internal::OnProgressOf, static_cast<void*>(&on_progress));
  }
  [[nodiscard]] const bittern_model* get() const noexcept { return handle_.get(); }

 private:
  explicit Model(bittern_model* model) noexcept : handle_(model) {}
  internal::Handle<bittern_model, bittern_model_free> handle_;
};

/// A text being read and made. One call at a time with all forks; further ones wait.
class Sequence {
 public:
  static Expected<Sequence> Create(const Model& model, const Options& options = {}) {
    bittern_sequence* sequence = nullptr;
    if (bittern_sequence_create(model.get(), options.get(), &sequence) != BITTERN_OK) {
      return internal::LastError();
    }
    return Sequence(sequence);
  }
  Expected<Nothing> Eval(std::span<const int32_t> ids) {
    return internal::Check(bittern_sequence_eval(handle_.get(), ids.data(), ids.size()));
  }
  Expected<Nothing> SetTokens(std::span<const int32_t> ids) {
    return internal::Check(bittern_sequence_set_tokens(handle_.get(), ids.data(), ids.size()));
  }
  /// As Eval, giving out the logits, or the hidden state, of each position in order.
  Expected<Nothing> EvalAll(std::span<const int32_t> ids, OnRow on_logits) {
    return internal::Check(bittern_sequence_eval_all(handle_.get(), ids.data(), ids.size(),
                                                     internal::OnRowOf, &on_logits));
  }
  Expected<Nothing> EvalHidden(std::span<const int32_t> ids, OnRow on_hidden) {
    return internal::Check(bittern_sequence_eval_hidden(handle_.get(), ids.data(), ids.size(),
                                                        internal::OnRowOf, &on_hidden));
  }
  [[nodiscard]] Expected<size_t> Length() const {
    size_t length = 0;
    if (bittern_sequence_length(handle_.get(), &length) != BITTERN_OK) {
      return internal::LastError();
    }
    return length;
  }
  [[nodiscard]] Expected<Result> Tokens() const {
    return internal::Give(bittern_sequence_tokens, handle_.get());
  }
  [[nodiscard]] Expected<std::span<const float>> Logits() const {
    const float* logits = nullptr;
    size_t count = 0;
    if (bittern_sequence_logits(handle_.get(), &logits, &count) != BITTERN_OK) {
      return internal::LastError();
    }
    return std::span<const float>(logits, count);
  }
  [[nodiscard]] Expected<std::span<const float>> Hidden() const {
    const float* hidden = nullptr;
    size_t count = 0;
    if (bittern_sequence_hidden(handle_.get(), &hidden, &count) != BITTERN_OK) {
      return internal::LastError();
    }
    return std::span<const float>(hidden, count);
  }
  Expected<Nothing> Truncate(size_t length) {
    return internal::Check(bittern_sequence_truncate(handle_.get(), length));
  }
  [[nodiscard]] Expected<Sequence> Fork(size_t length) const {
    bittern_sequence* fork = nullptr;
    if (bittern_sequence_fork(handle_.get(), length, &fork) != BITTERN_OK) {
      return internal::LastError();
    }
    return Sequence(fork);
  }
  [[nodiscard]] Expected<Result> Save() const {
    return internal::Give(bittern_sequence_save, handle_.get());
  }
  Expected<Nothing> Restore(std::string_view state) {
    return internal::Check(bittern_sequence_restore(handle_.get(), state.data(), state.size()));
  }
  [[nodiscard]] Expected<Result> Generate(const Options& options = {}, OnText on_text = {}) {
    return internal::Give(bittern_sequence_generate, handle_.get(), options.get(), internal::OnText,
                          static_cast<void*>(&on_text));
  }
  void Cancel() noexcept { static_cast<void>(bittern_sequence_cancel(handle_.get())); }

 private:
  explicit Sequence(bittern_sequence* sequence) noexcept : handle_(sequence) {}
  internal::Handle<bittern_sequence, bittern_sequence_free> handle_;
};

/// Chooses tokens from logits that a program may change. One call at a time; further ones wait.
class Sampler {
 public:
  /// With the settings of the draw, and no vocabulary.
  static Expected<Sampler> Create(const Options& options = {}) {
    bittern_sampler* sampler = nullptr;
    if (bittern_sampler_create(options.get(), &sampler) != BITTERN_OK) {
      return internal::LastError();
    }
    return Sampler(sampler);
  }
  /// With the model's vocabulary and recommendations: it obeys grammars, too.
  static Expected<Sampler> Create(const Model& model, const Options& options = {}) {
    bittern_sampler* sampler = nullptr;
    if (bittern_sampler_create_for(model.get(), options.get(), &sampler) != BITTERN_OK) {
      return internal::LastError();
    }
    return Sampler(sampler);
  }
  Expected<Nothing> Accept(int32_t id) {
    return internal::Check(bittern_sampler_accept(handle_.get(), id));
  }
  Expected<int32_t> Sample(std::span<const float> logits) {
    int32_t id = 0;
    if (bittern_sampler_sample(handle_.get(), logits.data(), logits.size(), &id) != BITTERN_OK) {
      return internal::LastError();
    }
    return id;
  }

 private:
  explicit Sampler(bittern_sampler* sampler) noexcept : handle_(sampler) {}
  internal::Handle<bittern_sampler, bittern_sampler_free> handle_;
};

/// Many requests on one model.
class Engine {
 public:
  /// Told once how a request ended.
  using OnDone = std::function<void(uint64_t request, Expected<Result> result)>;

  static Expected<Engine> Create(const Model& model, const Options& options = {}) {
    bittern_engine* engine = nullptr;
    if (bittern_engine_create(model.get(), options.get(), &engine) != BITTERN_OK) {
      return internal::LastError();
    }
    return Engine(engine);
  }
  /// Callbacks are kept until on_done was told; an engine that is destroyed before tells them
  /// BITTERN_ERROR_CANCELLED.
  Expected<uint64_t> Submit(std::span<const int32_t> ids, const Options& options, OnDone on_done,
                            OnText on_text = {}) {
    auto callbacks = std::make_unique<Callbacks>(Callbacks{std::move(on_text), std::move(on_done)});
    uint64_t request = 0;
    if (bittern_engine_submit(handle_.get(), ids.data(), ids.size(), options.get(), Callbacks::Text,
                              Callbacks::Done, callbacks.get(), &request) != BITTERN_OK) {
      return internal::LastError();
    }
    static_cast<void>(callbacks.release());  // Callbacks::Done frees them
    return request;
  }
  /// A request as JSON, as the server takes it (bittern_engine_submit_json).
  Expected<uint64_t> SubmitJson(std::string_view body, const Options& options, OnDone on_done,
                                OnText on_text = {}) {
    auto callbacks = std::make_unique<Callbacks>(Callbacks{std::move(on_text), std::move(on_done)});
    uint64_t request = 0;
    if (bittern_engine_submit_json(handle_.get(), body.data(), body.size(), options.get(),
                                   Callbacks::Text, Callbacks::Done, callbacks.get(),
                                   &request) != BITTERN_OK) {
      return internal::LastError();
    }
    static_cast<void>(callbacks.release());  // Callbacks::Done frees them
    return request;
  }
  /// Line `number` of a file for `bittern batch` (bittern_engine_submit_line).
  Expected<uint64_t> SubmitLine(std::string_view line, uint64_t number, const Options& options,
                                OnDone on_done) {
    auto callbacks = std::make_unique<Callbacks>(Callbacks{{}, std::move(on_done)});
    uint64_t request = 0;
    if (bittern_engine_submit_line(handle_.get(), line.data(), line.size(), number, options.get(),
                                   Callbacks::Done, callbacks.get(), &request) != BITTERN_OK) {
      return internal::LastError();
    }
    static_cast<void>(callbacks.release());  // Callbacks::Done frees them
    return request;
  }
  void Cancel(uint64_t request) {
    static_cast<void>(bittern_engine_cancel(handle_.get(), request));
  }
  /// From here on the engine works in a thread of its own, which makes all callbacks.
  Expected<Nothing> Start() { return internal::Check(bittern_engine_start(handle_.get())); }
  Expected<Nothing> Run() { return internal::Check(bittern_engine_run(handle_.get())); }
  /// True if there is more to do.
  Expected<bool> Step() {
    int32_t more = 0;
    if (bittern_engine_step(handle_.get(), &more) != BITTERN_OK) return internal::LastError();
    return more != 0;
  }
  [[nodiscard]] Expected<Result> Stats() const {
    return internal::Give(bittern_engine_stats, handle_.get());
  }

 private:
  struct Callbacks {
    OnText on_text;
    OnDone on_done;
    static int32_t Text(void* user, const char* text, size_t size) {
      return internal::OnText(&static_cast<Callbacks*>(user)->on_text, text, size);
    }
    static void Done(void* user, uint64_t request, bittern_status status, bittern_result* result) {
      const std::unique_ptr<Callbacks> callbacks(static_cast<Callbacks*>(user));
      callbacks->on_done(request, status == BITTERN_OK ? Expected<Result>(Result(result))
                                                       : Expected<Result>(internal::LastError()));
    }
  };
  explicit Engine(bittern_engine* engine) noexcept : handle_(engine) {}
  internal::Handle<bittern_engine, bittern_engine_free> handle_;
};

}  // namespace bittern::api
