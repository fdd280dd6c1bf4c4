// SPDX-License-Identifier: Apache-2.0
// Models of the C interface: loading, and what is known about one.
#include <fmt/format.h>

#include <cstring>

#include "base/json/json.hpp"
#include "capi/log.hpp"
#include "capi/objects.hpp"
#include "capi/options.hpp"
#include "formats/checkpoint.hpp"
#include "kernels/instruction_sets.hpp"
#include "model/weights.hpp"
#include "runtime/tune/layout_choice.hpp"

// The model that is part of the library, put there by builtin_model.S.
extern "C" {
extern const std::byte bittern_builtin_model[];
extern const std::byte bittern_builtin_model_end[];
}

namespace bittern::capi {
namespace {

std::string Dump(const Json& json) {  // paths need not be UTF-8, JSON must
  return json.Dump();
}

/// The end of all three ways to load. `object` may hold the file's bytes already; the handle is
/// given out only when all has gone well.
Result<void> Load(Result<formats::Checkpoint> checkpoint, const void* options,
                  bittern_progress_fn function, void* user, std::shared_ptr<ModelObject> object,
                  bittern_model** model) {
  const Settings settings = BITTERN_TRY(SettingsOf(options));
  std::unique_ptr<runtime::LayoutCache> cache;
  runtime::LoadOptions load = BITTERN_TRY(LoadOptionsOf(settings, &cache));
  if (function != nullptr) {
    load.weights.on_progress = [=](double done) { return function(user, done) == 0; };
  }
  auto opened = BITTERN_TRY(std::move(checkpoint));
  object->loaded = BITTERN_TRY(runtime::LoadedModel::Load(std::move(opened), load));
  LogDecisions(object->loaded->decisions);
  *model = static_cast<bittern_model*>(AddHandle(std::move(object)));
  return {};
}

Json ValueJson(const formats::MetaValue& value);

/// An array of numbers. `raw` need not be aligned, so each is copied out.
template <class T>
Json NumbersJson(const formats::MetaArray& array) {
  Json list = Json::MakeArray();
  for (std::uint64_t i = 0; i < array.count; ++i) {
    T number;
    std::memcpy(&number, array.raw.data() + i * sizeof(T), sizeof(T));
    list.push_back(number);
  }
  return list;
}

/// An array of metadata: its numbers, or its texts. An array of arrays comes out empty.
Json ArrayJson(const formats::MetaArray& array) {
  using formats::MetaType;
  switch (array.element_type) {
    case MetaType::kU8:
      return NumbersJson<std::uint8_t>(array);
    case MetaType::kI8:
      return NumbersJson<std::int8_t>(array);
    case MetaType::kU16:
      return NumbersJson<std::uint16_t>(array);
    case MetaType::kI16:
      return NumbersJson<std::int16_t>(array);
    case MetaType::kU32:
      return NumbersJson<std::uint32_t>(array);
    case MetaType::kI32:
      return NumbersJson<std::int32_t>(array);
    case MetaType::kF32:
      return NumbersJson<float>(array);
    case MetaType::kBool:
      return NumbersJson<std::uint8_t>(array);
    case MetaType::kU64:
      return NumbersJson<std::uint64_t>(array);
    case MetaType::kI64:
      return NumbersJson<std::int64_t>(array);
    case MetaType::kF64:
      return NumbersJson<double>(array);
    case MetaType::kString:
    case MetaType::kArray:
      break;
  }
  Json list = Json::MakeArray();
  for (const std::string_view text : array.strings) list.push_back(text);
  return list;
}

Json ValueJson(const formats::MetaValue& value) {
  return std::visit(
      [](const auto& v) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, formats::MetaArray>) {
          return ArrayJson(v);
        } else {
          return v;
        }
      },
      value.value);
}

/// The object of bittern_model_info.
Json InfoJson(const runtime::LoadedModel& loaded) {
  const model::Model& model = loaded.model;
  const model::Weights& weights = model.weights();
  Json decisions = Json::MakeArray();
  for (const Decision& decision : loaded.decisions) {
    decisions.push_back({{"subject", decision.subject},
                         {"choice", decision.choice},
                         {"reason", decision.reason},
                         {"hint", decision.hint},
                         {"notable", decision.notable}});
  }
  return {{"path", model.checkpoint().path()},
          {"kind", model.checkpoint().kind()},
          {"architecture", model.config().architecture},
          {"name", model.config().name},
          {"bytes", model.tensor_bytes()},
          {"parameters", model.num_parameters()},
          {"isa", kernels::IsaName(kernels::KernelOf(*weights.kernels, "tile16").isa)},
          {"layout", model::MatrixLayoutName(weights.layers.front().qkv_proj.layout)},
          {"load_s", loaded.load_s},
          {"decisions", std::move(decisions)}};
}

/// The number of that name; the error lists all names.
Result<std::int64_t> NumberOf(const runtime::LoadedModel& loaded, std::string_view name) {
  const model::ModelConfig& config = loaded.model.config();
  const std::pair<std::string_view, std::int64_t> numbers[] = {
      {"vocab_size", config.vocab_size},        {"context_length", config.context_length},
      {"hidden_size", config.hidden_size},      {"num_layers", config.num_layers},
      {"bos_id", loaded.tokenizer.bos_id()},    {"eos_id", loaded.tokenizer.eos_id()},
      {"adds_bos", loaded.tokenizer.adds_bos()}};
  std::string known;
  for (const auto& [key, value] : numbers) {
    if (key == name) return value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", key);
  }
  return Fail(ErrorCode::kNotFound, fmt::format("one of {} expected, another name found", known));
}

}  // namespace
}  // namespace bittern::capi

using namespace bittern;        // NOLINT: the C functions below stand outside of any namespace
using namespace bittern::capi;  // NOLINT

/// A bad options handle is told before the file is opened.
bittern_status bittern_model_load(const char* path, const bittern_options* options,
                                  bittern_progress_fn progress, void* user, bittern_model** model) {
  return Call([&]() -> Result<void> {
    BITTERN_TRY(NeedPointer(path, "path"));
    BITTERN_TRY(NeedPointer(model, "model"));
    BITTERN_TRY(SettingsOf(options));
    return Load(formats::Checkpoint::Open(path), options, progress, user,
                std::make_shared<ModelObject>(), model);
  });
}

/// Copies the bytes: the caller's may go, and weights must be aligned.
bittern_status bittern_model_load_memory(const void* data, size_t size, const char* name,
                                         const bittern_options* options,
                                         bittern_progress_fn progress, void* user,
                                         bittern_model** model) {
  return Call([&]() -> Result<void> {
    BITTERN_TRY(NeedPointer(data, "data"));
    BITTERN_TRY(NeedPointer(model, "model"));
    BITTERN_TRY(SettingsOf(options));
    auto object = std::make_shared<ModelObject>();
    object->memory = BITTERN_TRY(AlignedBuffer<std::byte>::Create(size, "a model in memory"));
    if (size > 0) std::memcpy(object->memory.data(), data, size);
    const std::span<const std::byte> bytes(object->memory.data(), size);
    return Load(formats::Checkpoint::OpenBytes(bytes, name == nullptr ? "memory" : name), options,
                progress, user, std::move(object), model);
  });
}

/// The bytes are part of the program, so nothing is copied and nothing kept alive.
bittern_status bittern_model_load_builtin(const bittern_options* options, bittern_model** model) {
  return Call([&]() -> Result<void> {
    BITTERN_TRY(NeedPointer(model, "model"));
    return Load(formats::Checkpoint::OpenBytes({bittern_builtin_model, bittern_builtin_model_end},
                                               "built-in " BITTERN_BUILTIN_MODEL_NAME),
                options, nullptr, nullptr, std::make_shared<ModelObject>(), model);
  });
}

void bittern_model_free(bittern_model* model) { RemoveHandle(model, ModelObject::kKind); }

bittern_status bittern_model_number(const bittern_model* model, const char* name, int64_t* value) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedPointer(name, "name"));
    BITTERN_TRY(NeedPointer(value, "value"));
    *value = BITTERN_TRY(NumberOf(*found->loaded, name));
    return {};
  });
}

bittern_status bittern_model_info(const bittern_model* model, bittern_result** result) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedPointer(result, "result"));
    auto info = std::make_shared<ResultObject>();
    info->json = Dump(InfoJson(*found->loaded));
    Give(std::move(info), result);
    return {};
  });
}

bittern_status bittern_model_metadata_count(const bittern_model* model, size_t* count) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedPointer(count, "count"));
    *count = found->loaded->model.checkpoint().metadata().entries().size();
    return {};
  });
}

bittern_status bittern_model_metadata_key(const bittern_model* model, size_t index,
                                          const char** key) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedPointer(key, "key"));
    const auto entries = found->loaded->model.checkpoint().metadata().entries();
    if (index >= entries.size()) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("index: 0 to {} expected, {} found",
                              static_cast<std::int64_t>(entries.size()) - 1, index));
    }
    *key = entries[index].key.c_str();
    return {};
  });
}

/// A string is given as text as well, byte for byte: it need not be UTF-8.
bittern_status bittern_model_metadata(const bittern_model* model, const char* key,
                                      bittern_result** result) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<ModelObject>(model));
    BITTERN_TRY(NeedPointer(key, "key"));
    BITTERN_TRY(NeedPointer(result, "result"));
    const formats::MetaValue* value = found->loaded->model.checkpoint().metadata().Find(key);
    if (value == nullptr) {
      return Fail(ErrorCode::kNotFound, "the model's file has no such metadata key");
    }
    auto given = std::make_shared<ResultObject>();
    if (const auto* text = std::get_if<std::string_view>(&value->value)) given->text = *text;
    given->json = Dump(Json{{"value", ValueJson(*value)}});
    Give(std::move(given), result);
    return {};
  });
}
