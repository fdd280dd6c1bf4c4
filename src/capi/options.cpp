// SPDX-License-Identifier: Apache-2.0
// The table of keys but those of the sampler, which are in request/sampler_option_table, and what
// sets of them mean.
#include "capi/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "base/json/json.hpp"
#include "base/threads/process_fork.hpp"
#include "base/threads/thread_pool.hpp"
#include "capi/call.hpp"
#include "model/matrix_layout.hpp"
#include "request/choice_names.hpp"
#include "request/option_text.hpp"
#include "request/sampler_option_text.hpp"
#include "request/text_request.hpp"
#include "runtime/sampling/sampling_defaults.hpp"
#include "runtime/tune/layout_choice.hpp"

namespace bittern::capi {
namespace {

/// The calls that a key is for, as bits.
constexpr unsigned kModel = 1, kSequence = 2, kGenerate = 4, kConvert = 8, kPull = 16, kScore = 32,
                   kDoctor = 64, kEmbed = 128, kTrace = 256;
constexpr double kMostInt = std::numeric_limits<int>::max();

enum class Type { kWhole, kSwitch, kChoice, kText };

/// One key.
struct Row {
  std::string_view key;
  unsigned kinds;
  Type type;
  double least, most;         // kWhole
  std::string_view choices;   // kChoice: separated by spaces
  std::string_view fallback;  // what holds where the key is not set
  bool repeated;
  std::string_view description;
};

// Makers of rows, one for each type.
constexpr Row Whole(std::string_view key, unsigned kinds, double least, double most,
                    std::string_view fallback, std::string_view description) {
  return {key, kinds, Type::kWhole, least, most, "", fallback, false, description};
}
constexpr Row Switch(std::string_view key, unsigned kinds, std::string_view fallback,
                     std::string_view description) {
  return {key, kinds, Type::kSwitch, 0, 0, "", fallback, false, description};
}
constexpr Row Choice(std::string_view key, unsigned kinds, std::string_view choices,
                     std::string_view fallback, std::string_view description) {
  return {key, kinds, Type::kChoice, 0, 0, choices, fallback, false, description};
}
constexpr Row Text(std::string_view key, unsigned kinds, std::string_view fallback, bool repeated,
                   std::string_view description) {
  return {key, kinds, Type::kText, 0, 0, "", fallback, repeated, description};
}

/// Every key but the sampler's, in the order in which bittern_options_describe lists them.
constexpr auto kRows = std::to_array<Row>({
    Whole("threads", kModel | kSequence | kConvert | kScore | kDoctor, 0, ThreadPool::kMaxThreads,
          "0", "threads at most; 0: one per physical core that this process may use"),
    Choice("kernel", kModel, "auto tile16 tile48 tl1 tl2", "auto",
           "how ternary matrices are multiplied: same bits, other speed and memory"),
    Choice("head", kModel, "auto exact screened", "auto",
           "how the output head is computed: same bits, other speed and memory"),
    Choice("batch_kernel", kModel, "auto tile16 vlut", "auto",
           "how batches are multiplied; changes speed only"),
    Choice("activations", kModel, "auto int8 int16", "auto",
           "bits of activations, of models that were trained without rounding them"),
    Choice("zero_skip", kModel, "auto on off", "auto",
           "skip weights that would be multiplied by zero: same bits, other speed"),
    Text("isa", kModel, "", false, "instruction set to use, e.g. scalar or avx2; empty: the best"),
    Text("layout_cache", kModel, "", false,
         "a file that keeps which layout of weights is faster on this machine; it is measured once "
         "and written there. Empty: nothing is measured or written"),
    Text("override_kv", kModel | kConvert, "", true,
         "KEY=TYPE:VALUE (int, float, bool, str) in place of a metadata value of the file"),
    Choice("i2s_layout", kModel | kConvert, "x86-128 arm-64 row4 sequential", "",
           "how an I2_S file orders its weights, where the file does not say"),
    Text("tl_tiling", kModel | kConvert, "", true,
         "ROWS,COLS,BM,BK,bm of a TL1 or TL2 file's matrices of one shape"),
    Whole("context_length", kSequence, 0, kMostInt, "0",
          "tokens of a sequence at most; 0: as many as the model allows"),
    Choice("kv_type", kSequence, "f16 f32 i8", "f16",
           "how keys and values are kept; i8 is an approximation"),
    Whole("batch_size", kSequence, 1, 1 << 20, "512", "tokens of one pass at most"),
    Whole("max_sequences", kSequence, 1, 1024, "1 for sequences, 8 for engines",
          "full contexts that a sequence and its forks have room for; requests of an engine that "
          "run at the same time"),
    Whole("cache_tokens", kSequence, 0, kMostInt, "0",
          "tokens of all requests and the prefix cache of an engine together; 0: enough for "
          "max_sequences contexts"),
    Switch("prefix_cache", kSequence, "on", "an engine keeps what earlier requests have read"),
    Switch("hidden", kSequence, "off", "keep the last hidden state (bittern_sequence_hidden)"),
    Whole("n_predict", kGenerate, -1, kMostInt, "128",
          "new tokens at most; -1: until the text ends or the context is full"),
    Switch("stop_on_loop", kGenerate, "off", "end a text that repeats itself"),
    Text("stop", kGenerate, "", true, "end before this text"),
    Text("grammar", kGenerate, "", false, "a GBNF grammar that the text obeys; empty: none"),
    Text("json_schema", kGenerate, "", false,
         "a JSON schema that the text is valid under; {}: any JSON; empty: none"),
    Text("regex", kGenerate, "", false,
         "a regular expression that the text matches from end to end; empty: none"),
    Switch("ignore_eos", kGenerate, "off", "go on after the token that ends a text"),
    Switch("special", kGenerate, "off", "write special tokens into the text"),
    Whole("logprobs", kGenerate, -1, request::kMostLogprobs, "-1",
          "0 or more: the result has the log-probability of each new token, and of so many best "
          "ones beside it; -1: none"),
    Switch("receipt", kGenerate, "off",
           "the result has a receipt, which bittern_verify replays on any machine"),
    Choice("speculation", kGenerate, "ngram off always", "ngram",
           "guess tokens from repetitions and check them together: same text, other speed"),
    Text("to", kConvert, "", false, "format of the ternary weights: i2_s, tq2_0, safetensors, ..."),
    Text("embeddings", kConvert, "keep", false, "format of embedding and head: keep, f16, ..."),
    Choice("scale_type", kConvert, "bf16 f32", "bf16", "how safetensors keep scales"),
    Text("tiling", kConvert, "", true, "ROWS,COLS,BM,BK,bm: tiling that tl1 or tl2 gets"),
    Switch("prove", kConvert, "off", "read the output back and compare every weight"),
    Switch("overwrite", kConvert | kDoctor, "off", "replace a file that is there"),
    Choice("pooling", kEmbed, "auto last first mean", "auto",
           "the positions of a text that count; auto: as the model's file says, else the last"),
    Switch("normalize", kEmbed, "off", "vectors of length 1"),
    Switch("values", kTrace, "off", "write all values beside the facts, as .npy files"),
    Whole("window", kScore, 0, kMostInt, "0",
          "tokens of a window; 0: 512 for texts, the model's limit for questions"),
    Whole("stride", kScore, 0, kMostInt, "0",
          "tokens from one window to the next; 0: they lie end to end"),
    Whole("most", kScore, -1, kMostInt, "-1", "windows or questions at most; -1: all"),
    Switch("every_token", kScore, "off", "score every token of a text but the first once"),
    Text("fix", kDoctor, "", false,
         "where to write the model with all that can be put right put right; empty: nowhere"),
    Text("like", kDoctor, "", false, "a healthy file or folder to compare with"),
    Text("cache", kPull, "", false,
         "folder of downloaded models; empty: HF_HUB_CACHE or what else Hugging Face's programs "
         "use"),
    Text("endpoint", kPull, "", false,
         "address of the hub; empty: HF_ENDPOINT, else https://huggingface.co"),
    Text("token", kPull, "", false,
         "token for private and gated repositories; empty: HF_TOKEN, else the file of a log-in"),
    Switch("offline", kPull, "off", "use downloaded models only; HF_HUB_OFFLINE=1 does the same"),
    Switch("update", kPull, "on",
           "ask the hub for the newest state; off: only where the cache lacks the model"),
    Whole("connections", kPull, 1, 16, "4", "connections for one file"),
    Whole("retries", kPull, 0, 100, "5",
          "tries in a row that may bring nothing before it is given up"),
});

/// The keys that say what a text must be; one of them at a time.
constexpr std::pair<std::string_view, grammar::ConstraintKind> kConstraintKeys[] = {
    {"grammar", grammar::ConstraintKind::kGbnf},
    {"json_schema", grammar::ConstraintKind::kJsonSchema},
    {"regex", grammar::ConstraintKind::kRegex}};

/// Spellings of a switch.
constexpr std::string_view kOn[] = {"on", "1", "true"}, kOff[] = {"off", "0", "false"};

bool IsOneOf(std::string_view value, std::span<const std::string_view> names) {
  return std::ranges::find(names, value) != names.end();
}

/// True if `value` is one of the words.
bool IsChoice(std::string_view value, std::string_view choices) {
  while (!choices.empty()) {
    const std::size_t end = std::min(choices.find(' '), choices.size());
    if (choices.substr(0, end) == value) return true;
    choices.remove_prefix(std::min(end + 1, choices.size()));
  }
  return false;
}

/// True if the row takes this value. Texts have checks of their own, such as CheckConstraintKey.
bool Accepts(const Row& row, std::string_view value) {
  if (row.type == Type::kText) return true;
  if (row.type == Type::kSwitch) return IsOneOf(value, kOn) || IsOneOf(value, kOff);
  if (row.type == Type::kChoice) return IsChoice(value, row.choices);
  const auto number = request::ParseNumber<std::int64_t>(value);
  return number && static_cast<double>(*number) >= row.least &&
         static_cast<double>(*number) <= row.most;
}

/// The words for what the row takes, in messages and descriptions.
std::string Expected(const Row& row) {
  switch (row.type) {
    case Type::kWhole:
      return request::WholeNumberWords(row.least, row.most);
    case Type::kSwitch:
      return "on or off";
    case Type::kChoice:
      return fmt::format("one of {}", row.choices);
    case Type::kText:
      break;
  }
  return "a text";
}

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
    *value = IsOneOf(*text, kOn);
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
Json RowJson(std::string_view key, unsigned kinds, std::string_view value,
             std::string_view fallback, bool repeated, std::string_view description) {
  constexpr std::pair<unsigned, std::string_view> kNames[] = {
      {kModel, "model"},     {kSequence, "sequence"}, {kGenerate, "generate"},
      {kConvert, "convert"}, {kPull, "pull"},         {kScore, "score"},
      {kDoctor, "doctor"},   {kEmbed, "embed"},       {kTrace, "trace"}};
  auto names = Json::MakeArray();
  for (const auto& [kind, name] : kNames) {
    if ((kinds & kind) != 0) names.push_back(name);
  }
  return {{"key", key},          {"kinds", names},       {"value", value},
          {"default", fallback}, {"repeated", repeated}, {"description", description}};
}

/// The JSON of bittern_options_describe: our own rows, then the sampler's.
std::string Describe() {
  Json rows = Json::MakeArray();
  for (const Row& row : kRows) {
    rows.push_back(
        RowJson(row.key, row.kinds, Expected(row), row.fallback, row.repeated, row.description));
  }
  const auto key_of = [](const request::SamplerOption& other) { return std::string(other.name); };
  for (const request::SamplerOption& row : request::SamplerOptionTable()) {
    rows.push_back(RowJson(row.name, kGenerate, request::ExpectedText(row),
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
  const auto row = std::ranges::find(kRows, key, &Row::key);
  if (row == kRows.end()) return NoSuchKey(key);
  return std::string(row->fallback);
}

/// Error as OptionsObject::Set; else whether several values of the key add up.
Result<bool> CheckValue(std::string_view key, std::string_view value, const Settings& settings) {
  if (const auto* option = request::FindSamplerOption(key); option != nullptr) {
    runtime::SamplerOptions unused;
    const std::string text(value);
    BITTERN_TRY(request::SetSamplerOption(*option, {&text, 1}, &unused));
    return request::TakesSeveral(*option);
  }
  const auto row = std::ranges::find(kRows, key, &Row::key);
  if (row == kRows.end()) return NoSuchKey(key);
  if (!Accepts(*row, value)) return request::WrongText(key, Expected(*row), value);
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
