// SPDX-License-Identifier: Apache-2.0
// The folder may come from anywhere: sizes are checked before they are used.
#include "proof/trace/dump.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/files/atomic_file.hpp"
#include "base/files/mapped_file.hpp"
#include "base/files/npy.hpp"
#include "base/json/json.hpp"
#include "proof/trace/dump_arrays.hpp"

namespace bittern::proof {
namespace {

constexpr const char* kVersion = "bittern trace v1";
constexpr std::size_t kMostLayers = 1000, kMostTokens = 65536;
// A step of a token is some 30 values.
constexpr JsonLimits kTraceLimits = {.max_bytes = std::size_t{4} << 30,
                                     .max_values = std::size_t{1} << 28};

std::string Npy(const Trace& trace, std::size_t step) {
  std::string file = NpyHeader(trace.tokens.size(), trace.at(step, 0).count);
  for (std::size_t p = 0; p < trace.tokens.size(); ++p) {
    const std::vector<float>& values = trace.at(step, p).values;
    file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  }
  return file;
}

Result<void> WriteFile(const std::filesystem::path& path, std::string_view text) {
  auto file = BITTERN_TRY(AtomicFile::Create(path));
  BITTERN_TRY(file.Write(text));
  return file.Commit();
}

Result<void> MakeFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return {};
  return Fail(ErrorCode::kIo, fmt::format("{}: {}", folder.string(), error.message()));
}

/// Whether all positions have values of one size.
bool HasValues(const Trace& trace, std::size_t step) {
  const std::size_t count = trace.at(step, 0).count;
  for (std::size_t p = 0; p < trace.tokens.size(); ++p) {
    const TraceStep& own = trace.at(step, p);
    if (own.values.empty() || own.count != count || own.values.size() != count) return false;
  }
  return true;
}

/// JSON has no infinities: they become the largest numbers, what is not a number null.
Json Number(double value) {
  if (std::isnan(value)) return nullptr;
  return std::clamp(value, -1e300, 1e300);
}

Json StepJson(const Trace& trace, std::size_t step, std::size_t position) {
  const auto [layer, operation] = PlaceOf(step, trace.num_layers);
  const TraceStep& own = trace.at(step, position);
  Json sketch = Json::MakeArray();
  for (const double sum : own.sketch) sketch.push_back(Number(sum));
  return {{"layer", layer},
          {"operation", OperationName(operation)},
          {"position", position},
          {"count", own.count},
          {"norm", Number(own.norm)},
          {"mean", Number(own.mean)},
          {"min", Number(own.least)},
          {"max", Number(own.most)},
          {"zeros", own.zeros},
          {"hash", own.hash},
          {"sketch", std::move(sketch)}};
}

double NumberOf(const Json& value) {
  return value.AsNumber().value_or(std::numeric_limits<double>::quiet_NaN());
}

std::string TextIn(const Json& object, std::string_view key, std::string otherwise = "") {
  const std::string* text = object[key].AsString();
  return text == nullptr ? std::move(otherwise) : *text;
}

/// A whole number of 0 to `most`; nothing where there is another value.
std::optional<std::size_t> IndexIn(const Json& object, std::string_view key, std::size_t most) {
  const auto number = object[key].AsUint();
  if (!number || *number > most) return std::nullopt;
  return static_cast<std::size_t>(*number);
}

/// A folder while it is read: the trace, and the steps whose facts come from arrays alone.
struct Reading {
  Trace trace = {};
  bool arrays_only = false;
  std::vector<bool> bare = {};  ///< as Trace::steps
};

Result<void> ReadStep(const Json& object, Reading* reading) {
  Trace* const trace = &reading->trace;
  const auto bad = [&](std::string_view what) {
    return Fail(ErrorCode::kCorruptFile, fmt::format("a step has {}", what));
  };
  if (!object.is_object()) return bad("the form of no object");
  const auto operation = OperationOf(TextIn(object, "operation"));
  const auto position = IndexIn(object, "position", trace->tokens.size() - 1);
  if (!operation) return bad("an operation that is not known: " + TextIn(object, "operation"));
  if (!position) return bad("a position outside the tokens");
  int layer = -1;
  if (IsOfLayer(*operation)) {
    const auto index = IndexIn(object, "layer", static_cast<std::size_t>(trace->num_layers) - 1);
    if (!index || trace->num_layers == 0) return bad("a layer outside the network");
    layer = static_cast<int>(*index);
  }
  const std::size_t step = StepOf(layer, *operation, trace->num_layers);
  const Json& sketch = object["sketch"];
  if (sketch.is_null()) {
    reading->bare[step * trace->tokens.size() + *position] = true;
    return {};
  }
  TraceStep& own = trace->at(step, *position);
  own.count = IndexIn(object, "count", std::size_t{1} << 32).value_or(0);
  own.norm = NumberOf(object["norm"]);
  own.mean = NumberOf(object["mean"]);
  own.least = NumberOf(object["min"]);
  own.most = NumberOf(object["max"]);
  own.zeros = NumberOf(object["zeros"]);
  own.hash = TextIn(object, "hash");
  if (sketch.elements().size() != kSketch) return bad("a sketch of other than 16 numbers");
  for (std::size_t k = 0; k < kSketch; ++k) own.sketch[k] = NumberOf(sketch[k]);
  return {};
}

/// All but the steps.
Result<Trace> ReadIndex(const Json& root) {
  if (!root.is_object() || TextIn(root, "trace") != kVersion) {
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("a JSON object with \"trace\": \"{}\" expected", kVersion));
  }
  Trace trace{.program = TextIn(root, "program"),
              .precision = TextIn(root, "precision", "float32"),
              .kv = TextIn(root, "kv", "f32"),
              .isa = TextIn(root, "isa"),
              .tokens = {},
              .steps = {}};
  const auto layers = IndexIn(root, "layers", kMostLayers);
  const auto& tokens = root["tokens"].elements();
  if (!layers || tokens.empty() || tokens.size() > kMostTokens) {
    return Fail(ErrorCode::kCorruptFile, "layers and tokens expected");
  }
  trace.num_layers = static_cast<int>(*layers);
  for (const Json& token : tokens) {
    const auto id = token.AsUint();
    if (!id) return Fail(ErrorCode::kCorruptFile, "a token is no number");
    trace.tokens.push_back(static_cast<TokenId>(*id));
  }
  return trace;
}

/// Makes room for all steps, then reads the steps that the index lists. A folder too small for them
/// is refused.
Result<void> ReadSteps(const Json& steps, std::uint64_t bytes_of_arrays, Reading* reading) {
  if (!steps.is_array() && !steps.is_null())
    return Fail(ErrorCode::kCorruptFile, "steps: a list expected");
  if (reading->arrays_only && bytes_of_arrays == 0) {
    return Fail(ErrorCode::kCorruptFile, "steps, or arrays in values/, expected");
  }
  Trace& trace = reading->trace;
  const std::size_t all = NumSteps(trace.num_layers) * trace.tokens.size();
  const std::uint64_t most =
      reading->arrays_only ? 4 * bytes_of_arrays : steps.elements().size() * std::uint64_t{1000};
  if (all > most + 1000) return Fail(ErrorCode::kCorruptFile, "nearly all steps are missing");
  trace.steps.resize(all);
  reading->bare.assign(all, reading->arrays_only);
  for (const Json& step : steps.elements()) BITTERN_TRY(ReadStep(step, reading));
  return {};
}

/// Error: a step of the index has neither a sketch nor an array.
Result<void> CheckBareSteps(const Reading& reading) {
  if (reading.arrays_only) return {};
  const Trace& trace = reading.trace;
  for (std::size_t i = 0; i < trace.steps.size(); ++i) {
    if (!reading.bare[i] || trace.steps[i].count != 0) continue;
    const auto [layer, operation] = PlaceOf(i / trace.tokens.size(), trace.num_layers);
    return Fail(ErrorCode::kCorruptFile,
                fmt::format("a step of {} has no sketch, and values/{} is not there",
                            OperationName(operation), ArrayFileName(layer, operation)));
  }
  return {};
}

}  // namespace

Result<void> WriteDump(const Trace& trace, const std::filesystem::path& folder) {
  BITTERN_TRY(MakeFolder(folder));
  Json steps = Json::MakeArray();
  bool values = false;
  for (std::size_t step = 0; step < NumSteps(trace.num_layers); ++step) {
    for (std::size_t p = 0; p < trace.tokens.size(); ++p) {
      if (trace.at(step, p).count != 0) steps.push_back(StepJson(trace, step, p));
    }
    if (trace.tokens.empty() || !HasValues(trace, step)) continue;
    if (!values) BITTERN_TRY(MakeFolder(folder / "values"));
    values = true;
    const auto [layer, operation] = PlaceOf(step, trace.num_layers);
    BITTERN_TRY(WriteFile(folder / "values" / ArrayFileName(layer, operation), Npy(trace, step)));
  }
  const Json root = {
      {"trace", kVersion},      {"program", trace.program}, {"precision", trace.precision},
      {"kv", trace.kv},         {"isa", trace.isa},         {"layers", trace.num_layers},
      {"tokens", trace.tokens}, {"steps", std::move(steps)}};
  return WriteFile(folder / "trace.json", root.Dump() + "\n");
}

Result<Trace> ReadDump(const std::filesystem::path& folder) {
  const auto path = folder / "trace.json";
  const auto in_file = [&](Error error) { return Within(path.string(), std::move(error)); };
  const auto file = BITTERN_TRY(MappedFile::Open(path));
  auto parsed = Json::Parse(
      {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, kTraceLimits);
  BITTERN_TRY(file.CheckUnchanged());
  const Json root = BITTERN_TRY(std::move(parsed).map_error(in_file));
  Reading reading;
  reading.trace = BITTERN_TRY(ReadIndex(root).map_error(in_file));
  reading.arrays_only = root["steps"].elements().empty();
  const auto arrays = BITTERN_TRY(
      ListArrays(folder / "values", reading.trace.num_layers, /*strict=*/reading.arrays_only));
  BITTERN_TRY(ReadSteps(root["steps"], BytesOf(arrays), &reading).map_error(in_file));
  for (const ArrayFile& array : arrays) {
    BITTERN_TRY(ReadArray(array, reading.bare, &reading.trace));
  }
  BITTERN_TRY(CheckBareSteps(reading).map_error(in_file));
  return std::move(reading.trace);
}

}  // namespace bittern::proof
