// SPDX-License-Identifier: Apache-2.0
// Sets of keys, and the options of the layers below that they become. The keys stand in
// request/options/option_table and request/options/sampler_option_table.
#include "capi/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>

#include "base/json/json.hpp"
#include "base/threads/process_fork.hpp"
#include "capi/call.hpp"
#include "model/matrix_layout.hpp"
#include "request/options/choice_names.hpp"
#include "request/options/option_table.hpp"
#include "request/options/option_text.hpp"
#include "request/options/sampler_option_text.hpp"
#include "runtime/sampling/sampling_defaults.hpp"
#include "runtime/tune/layout_choice.hpp"

namespace bittern::capi {
namespace {

/// The keys that say what a text must be; one of them at a time.
constexpr std::pair<std::string_view, grammar::ConstraintKind> kConstraintKeys[] = {
    {"grammar", grammar::ConstraintKind::kGbnf},
    {"json_schema", grammar::ConstraintKind::kJsonSchema},
    {"regex", grammar::ConstraintKind::kRegex}};

/// The value of a key; null if it is not set.
const std::string* Last(const Settings& settings, std::string_view key) {
  const auto found = settings.find(key);
  return found == settings.end() ? nullptr : &found->second.back();
}

/// The values of a key that may be repeated.
std::vector<std::string> All(const Settings& settings, std::string_view key) {
  const auto found = settings.find(key);
  return found == settings.end() ? std::vector<std::string>() : found->second;
}

/// Settings were checked when they were set.
template <class T>
void Take(const Settings& settings, std::string_view key, T* value) {
  const std::string* text = Last(settings, key);
  if (text == nullptr) return;
  if constexpr (std::is_same_v<T, bool>) {
    *value = request::IsOn(*text);
  } else if constexpr (std::is_integral_v<T>) {
    *value = static_cast<T>(
        request::ParseNumber<std::int64_t>(*text).value_or(static_cast<std::int64_t>(*value)));
  } else {
    *value = *text;
  }
}

/// True if a switch that is off by default is on.
bool IsOn(const Settings& settings, std::string_view key) {
  bool on = false;
  Take(settings, key, &on);
  return on;
}

/// Take() of each key and its place, in turn.
template <class T, class... Rest>
void TakeAll(const Settings& settings, std::string_view key, T* value, Rest... rest) {
  Take(settings, key, value);
  if constexpr (sizeof...(rest) > 0) TakeAll(settings, rest...);
}

/// The sizes that sequences and engines have.
template <class Options>
void TakeSizes(const Settings& settings, Options* options) {
  TakeAll(settings, "context_length", &options->context_length, "batch_size", &options->batch_size,
          "threads", &options->num_threads, "max_sequences", &options->max_sequences);
}

model::KvType KvTypeOf(const Settings& settings) {
  std::string name;
  Take(settings, "kv_type", &name);
  return request::ChoiceByName(request::kKvTypes, name);
}

/// "ROWS,COLS,BM,BK,bm", five numbers above 0.
Result<formats::ShapeTiling> TilingOf(std::string_view text) {
  std::size_t numbers[5] = {};
  std::string_view rest = text;
  for (std::size_t i = 0; i < 5; ++i) {
    const std::size_t end = i < 4 ? rest.find(',') : rest.size();
    const auto number = end == std::string_view::npos
                            ? std::nullopt
                            : request::ParseNumber<std::uint32_t>(rest.substr(0, end));
    if (!number || *number == 0) {
      return request::WrongText("tiling", "ROWS,COLS,BM,BK,bm", text);
    }
    numbers[i] = *number;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return formats::ShapeTiling{numbers[0], numbers[1], {numbers[2], numbers[3], numbers[4]}};
}

/// The one constraint that is set: CheckConstraintKey lets no second one in.
std::optional<grammar::Constraint> ConstraintOf(const Settings& settings) {
  for (const auto& [key, kind] : kConstraintKeys) {
    const std::string* text = Last(settings, key);
    if (text != nullptr && !text->empty()) return grammar::Constraint{kind, *text};
  }
  return std::nullopt;
}

/// Error kInvalidArgument: what is wrong with a constraint, or another one is set.
Result<void> CheckConstraintKey(std::string_view key, std::string_view value,
                                const Settings& settings) {
  const auto wanted =
      std::ranges::find(kConstraintKeys, key, [](const auto& pair) { return pair.first; });
  if (wanted == std::end(kConstraintKeys) || value.empty()) return {};
  for (const auto& [other, kind] : kConstraintKeys) {
    const std::string* text = Last(settings, other);
    if (other == key || text == nullptr || text->empty()) continue;
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: {} is set; one of grammar, json_schema, regex expected", key, other));
  }
  const auto checked = grammar::CheckConstraint({wanted->second, std::string(value)});
  if (checked) return {};
  return Fail(checked.error().code, fmt::format("{}: {}", key, checked.error().message),
              checked.error().hint);
}

/// The entry of one key in bittern_options_describe().
Json RowJson(std::string_view key, unsigned uses, std::string_view value, std::string_view initial,
             bool repeated, std::string_view description) {
  constexpr std::pair<unsigned, std::string_view> kNames[] = {
      {request::kForModel, "model"},       {request::kForSequence, "sequence"},
      {request::kForGenerate, "generate"}, {request::kForConvert, "convert"},
      {request::kForPull, "pull"},         {request::kForScore, "score"},
      {request::kForDoctor, "doctor"},     {request::kForEmbed, "embed"},
      {request::kForTrace, "trace"}};
  auto names = Json::MakeArray();
  for (const auto& [use, name] : kNames) {
    if ((uses & use) != 0) names.push_back(name);
  }
  return {{"key", key},         {"kinds", names},       {"value", value},
          {"default", initial}, {"repeated", repeated}, {"description", description}};
}

/// The JSON of bittern_options_describe: the sampler's rows come last.
std::string Describe() {
  Json rows = Json::MakeArray();
  for (const request::Option& row : request::OptionTable()) {
    rows.push_back(RowJson(row.name, row.uses, request::ExpectedText(row), row.initial,
                           row.repeated, row.help));
  }
  const auto key_of = [](const request::SamplerOption& other) { return std::string(other.name); };
  for (const request::SamplerOption& row : request::SamplerOptionTable()) {
    rows.push_back(RowJson(row.name, request::kForGenerate, request::ExpectedText(row),
                           request::DefaultText(row), request::TakesSeveral(row),
                           request::HelpOf(row, key_of)));
  }
  return rows.Dump(1);
}

/// Error kNotFound: there is no such key.
tl::unexpected<Error> NoSuchKey(std::string_view key) {
  return Fail(ErrorCode::kNotFound, fmt::format("there is no option {}", request::QuotedText(key)),
              "bittern_options_describe() lists the keys");
}

/// The words for what holds where the key is not set.
Result<std::string> DefaultOf(std::string_view key) {
  if (const auto* option = request::FindSamplerOption(key); option != nullptr) {
    return request::DefaultText(*option);
  }
  const request::Option* row = request::FindOption(key);
  if (row == nullptr) return NoSuchKey(key);
  return std::string(row->initial);
}

/// Error as OptionsObject::Set; else whether several values of the key add up.
Result<bool> CheckValue(std::string_view key, std::string_view value, const Settings& settings) {
  if (const auto* option = request::FindSamplerOption(key); option != nullptr) {
    runtime::SamplerOptions unused;
    const std::string text(value);
    BITTERN_TRY(request::SetSamplerOption(*option, {&text, 1}, &unused));
    return request::TakesSeveral(*option);
  }
  const request::Option* row = request::FindOption(key);
  if (row == nullptr) return NoSuchKey(key);
  if (!request::Accepts(*row, value)) {
    return request::WrongText(key, request::ExpectedText(*row), value);
  }
  BITTERN_TRY(CheckConstraintKey(key, value, settings));
  return row->repeated;
}

}  // namespace

/// Checks without the lock, since a grammar may take long.
Result<void> OptionsObject::Set(std::string_view key, std::string_view value) {
  const bool repeated = BITTERN_TRY(CheckValue(key, value, settings()));
  const std::lock_guard lock(ProcessMutex<Settings>());
  std::vector<std::string>& values = settings_[std::string(key)];
  if (!repeated) values.clear();
  values.emplace_back(value);
  return {};
}

Settings OptionsObject::settings() const {
  const std::lock_guard lock(ProcessMutex<Settings>());
  return settings_;
}

Result<Settings> SettingsOf(const void* options) {
  if (options == nullptr) return Settings();
  const auto found = BITTERN_TRY(Find<OptionsObject>(options));
  return found->settings();
}

/// i2s_layout and tl_tiling are short ways to set two metadata keys of ours.
std::vector<std::string> OverridesOf(const Settings& settings) {
  std::vector<std::string> overrides = All(settings, "override_kv");
  std::string layout;
  Take(settings, "i2s_layout", &layout);
  if (!layout.empty()) overrides.push_back("ternary.layout=str:" + layout);
  const auto tilings = All(settings, "tl_tiling");
  if (!tilings.empty()) {
    overrides.push_back(fmt::format("ternary.tl.tiling=str:{}", fmt::join(tilings, ",")));
  }
  return overrides;
}

/// Connections and retries start from the hub's own defaults.
PullOptions PullOptionsOf(const Settings& settings) {
  PullOptions options;
  TakeAll(settings, "cache", &options.given.cache, "endpoint", &options.given.endpoint, "token",
          &options.given.token, "offline", &options.given.offline, "update", &options.update);
  hub::Settings defaults;
  Take(settings, "connections", &defaults.connections);
  Take(settings, "retries", &defaults.retries);
  options.given.connections = defaults.connections;
  options.given.retries = defaults.retries;
  return options;
}

Result<runtime::LoadOptions> LoadOptionsOf(const Settings& settings,
                                           std::unique_ptr<runtime::LayoutCache>* cache) {
  runtime::LoadOptions options;
  options.overrides = OverridesOf(settings);
  Take(settings, "threads", &options.num_threads);
  Take(settings, "isa", &options.weights.isa);
  std::string kernel = "auto", head, skip, activations, batch_kernel, file;
  Take(settings, "kernel", &kernel);
  options.weights.layout = BITTERN_TRY(model::ParseMatrixLayout(kernel));
  Take(settings, "head", &head);
  options.weights.head = request::ChoiceByName(request::kHeadModes, head);
  options.weights.head_copy = model::HeadCopy::kBehindFirstToken;
  Take(settings, "zero_skip", &skip);
  options.weights.zero_skip = request::ChoiceByName(request::kSkipModes, skip);
  Take(settings, "activations", &activations);
  options.weights.activations = request::ChoiceByName(request::kActivations, activations);
  Take(settings, "batch_kernel", &batch_kernel);
  options.weights.batch_kernel = request::ChoiceByName(request::kBatchKernels, batch_kernel);
  Take(settings, "layout_cache", &file);
  if (!file.empty()) {
    *cache = std::make_unique<runtime::LayoutCache>(file);
    options.layout_cache = cache->get();
  }
  return options;
}

runtime::SessionOptions SessionOptionsOf(const Settings& settings) {
  runtime::SessionOptions options{.kv_type = KvTypeOf(settings)};
  TakeSizes(settings, &options);
  return options;
}

/// As SessionOptionsOf, with the keys that only an engine has.
runtime::EngineOptions EngineOptionsOf(const Settings& settings) {
  runtime::EngineOptions options{.kv_type = KvTypeOf(settings)};
  TakeSizes(settings, &options);
  TakeAll(settings, "cache_tokens", &options.cache_tokens, "prefix_cache", &options.prefix_cache);
  return options;
}

eval::JobOptions ScoreSettingsOf(const Settings& settings) {
  eval::JobOptions options;
  options.input = "text";
  TakeAll(settings, "window", &options.window, "stride", &options.stride, "most", &options.most,
          "every_token", &options.every_token);
  return options;
}

DoctorSettings DoctorSettingsOf(const Settings& settings) {
  DoctorSettings options;
  TakeAll(settings, "fix", &options.fix, "like", &options.like, "overwrite", &options.overwrite,
          "threads", &options.num_threads);
  return options;
}

EmbedSettings EmbedSettingsOf(const Settings& settings) {
  EmbedSettings options;
  std::string pooling = "auto";
  Take(settings, "pooling", &pooling);
  options.pooling = request::ChoiceByName(request::kPoolings, pooling);
  Take(settings, "normalize", &options.normalize);
  return options;
}

bool WantsHidden(const Settings& settings) { return IsOn(settings, "hidden"); }
bool WantsReceipt(const Settings& settings) { return IsOn(settings, "receipt"); }
bool WantsValues(const Settings& settings) { return IsOn(settings, "values"); }

/// The model's recommendations come first and only for keys that are not set; then the settings.
Result<runtime::GenerateOptions> GenerateOptionsOf(const Settings& settings,
                                                   const runtime::LoadedModel* model) {
  runtime::GenerateOptions options{.max_tokens = 128};
  if (model != nullptr) {
    Decisions unused;
    for (const runtime::SamplingKey& key : runtime::SamplingKeys()) {
      if (settings.contains(key.option)) continue;
      runtime::TakeSamplingDefault(model->model.checkpoint().metadata(), key, &options.sampler,
                                   &unused);
    }
  }
  Take(settings, "n_predict", &options.max_tokens);
  for (const request::SamplerOption& option : request::SamplerOptionTable()) {
    BITTERN_TRY(request::SetSamplerOption(option, All(settings, option.name), &options.sampler));
  }
  Take(settings, "stop_on_loop", &options.stop_on_loop);
  options.stops = All(settings, "stop");
  options.constraint = ConstraintOf(settings);
  Take(settings, "ignore_eos", &options.ignore_eos);
  Take(settings, "special", &options.render_special);
  Take(settings, "logprobs", &options.logprobs);
  std::string speculation;
  Take(settings, "speculation", &speculation);
  options.speculation = request::ChoiceByName(request::kSpeculations, speculation);
  return options;
}

/// 0 threads mean the default here, as everywhere in the interface.
Result<formats::ConvertOptions> ConvertOptionsOf(const Settings& settings) {
  formats::ConvertOptions options{};
  Take(settings, "to", &options.to);
  if (options.to.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("to: one of {} expected, nothing found",
                            fmt::join(formats::ConvertTargets(), ", ")));
  }
  options.embeddings = "keep";
  Take(settings, "embeddings", &options.embeddings);
  for (const std::string& text : All(settings, "tiling")) {
    options.tilings.push_back(BITTERN_TRY(TilingOf(text)));
  }
  std::string scales;
  Take(settings, "scale_type", &scales);
  options.float_scales = scales == "f32";
  Take(settings, "prove", &options.prove);
  Take(settings, "overwrite", &options.overwrite);
  options.num_threads = 0;
  Take(settings, "threads", &options.num_threads);
  if (options.num_threads == 0) options.num_threads = DefaultThreadCount();
  return options;
}

}  // namespace bittern::capi

using namespace bittern;        // NOLINT: the C functions below stand outside of any namespace
using namespace bittern::capi;  // NOLINT

bittern_status bittern_options_create(bittern_options** options) {
  return Call([&]() -> Result<void> {
    BITTERN_TRY(NeedPointer(options, "options"));
    *options = static_cast<bittern_options*>(AddHandle(std::make_shared<OptionsObject>()));
    return {};
  });
}

bittern_status bittern_options_set(bittern_options* options, const char* key, const char* value) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<OptionsObject>(options));
    BITTERN_TRY(NeedPointer(key, "key"));
    BITTERN_TRY(NeedPointer(value, "value"));
    return found->Set(key, value);
  });
}

bittern_status bittern_options_get(const bittern_options* options, const char* key,
                                   bittern_result** result) {
  return Call([&]() -> Result<void> {
    BITTERN_TRY(NeedPointer(key, "key"));
    BITTERN_TRY(NeedPointer(result, "result"));
    const Settings settings = BITTERN_TRY(SettingsOf(options));
    auto given = std::make_shared<ResultObject>();
    given->text = BITTERN_TRY(DefaultOf(key));
    Json values = Json::MakeArray();
    for (const std::string& value : All(settings, key)) {
      given->text = value;
      values.push_back(value);
    }
    given->json = Json{{"values", std::move(values)}}.Dump();
    Give(std::move(given), result);
    return {};
  });
}

void bittern_options_free(bittern_options* options) { RemoveHandle(options, OptionsObject::kKind); }

/// The text is made once and never freed, as the header promises.
const char* bittern_options_describe(void) {
  static const std::string* const text = new std::string(Describe());
  return text->c_str();
}
