// SPDX-License-Identifier: Apache-2.0
// Handles are wrapped objects with a type tag. Typed arrays are copied, so that no thread looks
// at memory of the loop.
#include "values.hpp"

#include <cstring>

namespace bittern::node {
namespace {

/// Tells objects of NewHandle() from others, by their kind.
constexpr napi_type_tag kTags[] = {{0x6269747465726e00, 0x6d6f64656c000000},
                                   {0x6269747465726e00, 0x73657175656e6365},
                                   {0x6269747465726e00, 0x73616d706c657200},
                                   {0x6269747465726e00, 0x656e67696e650000}};
/// About how much memory a small model's object holds, for the collector, which sees none of it.
constexpr std::int64_t kBytes[] = {16 << 20, 16 << 20, 4 << 10, 48 << 20};
constexpr const char* kWhat[] = {"a model", "a sequence", "a sampler", "an engine"};

void TellCollector(napi_env env, Kind kind, int sign) noexcept {
  std::int64_t all = 0;
  napi_adjust_external_memory(env, sign * kBytes[static_cast<std::size_t>(kind)], &all);
}

struct Held {
  Kind kind;
  void* handle;
  std::weak_ptr<Reaper> reaper;

  void Free(napi_env env) noexcept {
    void* const freed = handle;
    handle = nullptr;
    if (freed == nullptr) return;
    TellCollector(env, kind, -1);
    const auto found = reaper.lock();
    if (found != nullptr) {
      found->Free(kind, freed);
    } else {
      FreeHandle(kind, freed);
    }
  }
};

/// The bytes of a typed array of `type`; false for another value.
bool TypedArray(napi_env env, napi_value value, napi_typedarray_type type, void** data,
                std::size_t* count) {
  bool is_one = false;
  napi_typedarray_type found = napi_int8_array;
  return value != nullptr && napi_is_typedarray(env, value, &is_one) == napi_ok && is_one &&
         napi_get_typedarray_info(env, value, &found, count, data, nullptr, nullptr) == napi_ok &&
         found == type;
}

napi_value NewArray(napi_env env, napi_typedarray_type type, const void* data, std::size_t bytes,
                    std::size_t count) {
  void* memory = nullptr;
  napi_value buffer = nullptr, array = nullptr;
  if (napi_create_arraybuffer(env, bytes, &memory, &buffer) != napi_ok) return nullptr;
  if (bytes > 0) std::memcpy(memory, data, bytes);
  return napi_create_typedarray(env, type, count, buffer, 0, &array) == napi_ok ? array : nullptr;
}

}  // namespace

Arguments::Arguments(napi_env env, napi_callback_info info) : env_(env) {
  std::size_t count = kMost;  // those that are missing become undefined
  napi_get_cb_info(env, info, &count, values_, nullptr, nullptr);
}

bool Arguments::Wrong(std::size_t index, const char* expected) const {
  const std::string message = "argument " + std::to_string(index) + ": " + expected + " expected";
  napi_throw_type_error(env_, nullptr, message.c_str());
  return false;
}

bool Arguments::IsNothing(std::size_t index) const {
  napi_valuetype type = napi_undefined;
  napi_typeof(env_, values_[index], &type);
  return type == napi_undefined || type == napi_null;
}

bool Arguments::Text(std::size_t index, std::string* text) const {
  std::size_t size = 0;
  if (napi_get_value_string_utf8(env_, values_[index], nullptr, 0, &size) != napi_ok) {
    return Wrong(index, "a string");
  }
  text->resize(size + 1);  // N-API ends it with a zero
  napi_get_value_string_utf8(env_, values_[index], text->data(), size + 1, &size);
  text->resize(size);
  return true;
}

bool Arguments::Bytes(std::size_t index, std::string* bytes) const {
  void* data = nullptr;
  std::size_t count = 0;
  if (!TypedArray(env_, values_[index], napi_uint8_array, &data, &count)) {
    return Text(index, bytes);
  }
  bytes->assign(static_cast<const char*>(data), data == nullptr ? 0 : count);
  return true;
}

bool Arguments::Number(std::size_t index, double* number) const {
  return napi_get_value_double(env_, values_[index], number) == napi_ok || Wrong(index, "a number");
}

bool Arguments::Ids(std::size_t index, std::vector<std::int32_t>* ids) const {
  void* data = nullptr;
  std::size_t count = 0;
  if (!TypedArray(env_, values_[index], napi_int32_array, &data, &count)) {
    return Wrong(index, "an Int32Array");
  }
  const auto* first = static_cast<const std::int32_t*>(data);
  if (first != nullptr) ids->assign(first, first + count);
  return true;
}

bool Arguments::Floats(std::size_t index, const float** floats, std::size_t* count) const {
  void* data = nullptr;
  if (!TypedArray(env_, values_[index], napi_float32_array, &data, count)) {
    return Wrong(index, "a Float32Array");
  }
  *floats = static_cast<const float*>(data);
  return true;
}

bool Arguments::Take(std::size_t index, Prompt* prompt) const {
  if (IsNothing(index)) return true;
  void* data = nullptr;
  std::size_t count = 0;
  if (TypedArray(env_, values_[index], napi_int32_array, &data, &count)) {
    return Ids(index, &prompt->ids);
  }
  prompt->is_text = true;
  return Bytes(index, &prompt->text);
}

bool Arguments::Settings(std::size_t index, std::shared_ptr<Options>* options) const {
  auto made = std::make_shared<Options>();
  std::uint32_t count = 0;
  if (napi_get_array_length(env_, values_[index], &count) != napi_ok) {
    return Wrong(index, "an array");
  }
  if (bittern_options_create(made->out()) != BITTERN_OK) return ThrowLast(env_) != nullptr;
  Arguments pair(*this);  // to read its elements as arguments are
  for (std::uint32_t i = 0; i + 1 < count; i += 2) {
    std::string key, value;
    if (napi_get_element(env_, values_[index], i, &pair.values_[0]) != napi_ok ||
        napi_get_element(env_, values_[index], i + 1, &pair.values_[1]) != napi_ok ||
        !pair.Text(0, &key) || !pair.Text(1, &value)) {
      return false;
    }
    if (bittern_options_set(made->get(), key.c_str(), value.c_str()) != BITTERN_OK) {
      return ThrowLast(env_) != nullptr;
    }
  }
  *options = std::move(made);
  return true;
}

bool Arguments::HandleOf(std::size_t index, Kind kind, void** handle) const {
  const auto row = static_cast<std::size_t>(kind);
  bool is_one = false;
  void* data = nullptr;
  if (napi_check_object_type_tag(env_, values_[index], &kTags[row], &is_one) != napi_ok ||
      !is_one || napi_unwrap(env_, values_[index], &data) != napi_ok) {
    return Wrong(index, kWhat[row]);
  }
  *handle = static_cast<Held*>(data)->handle;
  return true;
}

bool Arguments::Close(std::size_t index) const {
  for (const napi_type_tag& tag : kTags) {
    bool is_one = false;
    void* data = nullptr;
    if (napi_check_object_type_tag(env_, values_[index], &tag, &is_one) == napi_ok && is_one &&
        napi_unwrap(env_, values_[index], &data) == napi_ok) {
      static_cast<Held*>(data)->Free(env_);
      return true;
    }
  }
  return Wrong(index, "a handle");
}

bool Arguments::Keep(std::size_t index, Job* job) const {
  napi_ref reference = nullptr;
  if (napi_create_reference(env_, values_[index], 1, &reference) != napi_ok) return false;
  job->kept.push_back(reference);
  return true;
}

bool Arguments::Function(std::size_t index, napi_value* function) const {
  *function = nullptr;
  if (IsNothing(index)) return true;
  napi_valuetype type = napi_undefined;
  napi_typeof(env_, values_[index], &type);
  if (type != napi_function) return Wrong(index, "a function");
  *function = values_[index];
  return true;
}

bool Arguments::Listener(std::size_t index, Job* job) const {
  napi_value function = nullptr;
  if (!Function(index, &function)) return false;
  return function == nullptr || napi_create_reference(env_, function, 1, &job->listener) == napi_ok;
}

napi_value NewHandle(napi_env env, Kind kind, void* handle) {
  Environment* const environment = Environment::Of(env);
  auto held = std::make_unique<Held>(
      Held{kind, handle, environment == nullptr ? std::weak_ptr<Reaper>() : environment->reaper()});
  TellCollector(env, kind, 1);
  napi_value object = nullptr;
  if (napi_create_object(env, &object) == napi_ok &&
      napi_wrap(
          env, object, held.get(),
          [](napi_env closing, void* data, void*) {
            const std::unique_ptr<Held> owned(static_cast<Held*>(data));
            owned->Free(closing);
          },
          nullptr, nullptr) == napi_ok) {
    static_cast<void>(held.release());  // the finalizer's now
    return napi_type_tag_object(env, object, &kTags[static_cast<std::size_t>(kind)]) == napi_ok
               ? object
               : nullptr;
  }
  held->Free(env);
  return nullptr;
}

napi_value NewText(napi_env env, const char* text, std::size_t size) {
  napi_value value = nullptr;
  return napi_create_string_utf8(env, text, size, &value) == napi_ok ? value : nullptr;
}

napi_value NewIds(napi_env env, const std::int32_t* ids, std::size_t count) {
  return NewArray(env, napi_int32_array, ids, count * sizeof(std::int32_t), count);
}

napi_value NewFloats(napi_env env, const float* floats, std::size_t count) {
  return NewArray(env, napi_float32_array, floats, count * sizeof(float), count);
}

napi_value NewBytes(napi_env env, const char* bytes, std::size_t size) {
  return NewArray(env, napi_uint8_array, bytes, size, size);
}

napi_value TextOf(napi_env env, const Result& result) {
  const char* text = nullptr;
  std::size_t size = 0;
  if (bittern_result_text(result.get(), &text, &size) != BITTERN_OK) return ThrowLast(env);
  return NewText(env, text, size);
}

napi_value IdsOf(napi_env env, const Result& result) {
  const std::int32_t* ids = nullptr;
  std::size_t count = 0;
  if (bittern_result_ids(result.get(), &ids, &count) != BITTERN_OK) return ThrowLast(env);
  return NewIds(env, ids, count);
}

napi_value JsonOf(napi_env env, const Result& result) {
  const char* json = nullptr;
  std::size_t size = 0;
  if (bittern_result_json(result.get(), &json, &size) != BITTERN_OK) return ThrowLast(env);
  return NewText(env, json, size);
}

napi_value AllOf(napi_env env, const Result& result) {
  napi_value object = nullptr;
  napi_value text = TextOf(env, result), ids = IdsOf(env, result), json = JsonOf(env, result);
  if (text == nullptr || ids == nullptr || json == nullptr ||
      napi_create_object(env, &object) != napi_ok ||
      napi_set_named_property(env, object, "text", text) != napi_ok ||
      napi_set_named_property(env, object, "ids", ids) != napi_ok ||
      napi_set_named_property(env, object, "json", json) != napi_ok) {
    return nullptr;
  }
  return object;
}

napi_value MakeError(napi_env env, bittern_status status, const std::string& message,
                     const std::string& hint) {
  napi_value text = NewText(env, message.data(), message.size());
  napi_value help = NewText(env, hint.data(), hint.size());
  napi_value number = nullptr, error = nullptr;
  if (text == nullptr || help == nullptr || napi_create_int32(env, status, &number) != napi_ok ||
      napi_create_error(env, nullptr, text, &error) != napi_ok ||
      napi_set_named_property(env, error, "status", number) != napi_ok ||
      napi_set_named_property(env, error, "hint", help) != napi_ok) {
    return nullptr;
  }
  return error;
}

napi_value ThrowLast(napi_env env) {
  napi_value error =
      MakeError(env, bittern_error_status(), bittern_error_message(), bittern_error_hint());
  if (error != nullptr) napi_throw(env, error);
  return nullptr;
}

}  // namespace bittern::node
