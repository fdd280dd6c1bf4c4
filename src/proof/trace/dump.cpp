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

namespace bittern::proof {
namespace {

constexpr const char* kVersion = "bittern trace v1";
constexpr std::size_t kMostLayers = 1000, kMostTokens = 65536;
// A step of a token is some 30 values.
constexpr JsonLimits kTraceLimits = {.max_bytes = std::size_t{4} << 30,
                                     .max_values = std::size_t{1} << 28};

std::string FileOf(int layer, Operation operation) {
  if (layer < 0) return fmt::format("{}.npy", OperationName(operation));
  return fmt::format("{:02}.{}.npy", layer, OperationName(operation));
}

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

Result<void> ReadStep(const Json& object, Trace* trace) {
  const auto bad = [&](std::string_view what) {
    return Fail(ErrorCode::kCorruptFile, fmt::format("a step has {}", what));
  };
  if (!object.is_object()) return bad("the form of no object");
  const auto operation = OperationOf(TextIn(object, "operation"));
  const auto position = IndexIn(object, "position", trace->tokens.size() - 1);
  if (!operation) return bad("an operation that is not known: " + TextIn(object, "operation"));
  if (!position) return bad("a position outside the tokens");
  int layer = -1;
  if (*operation > Operation::kEmbedding && *operation < Operation::kFinalNorm) {
    const auto index = IndexIn(object, "layer", static_cast<std::size_t>(trace->num_layers) - 1);
    if (!index || trace->num_layers == 0) return bad("a layer outside the network");
    layer = static_cast<int>(*index);
  }
  TraceStep& own = trace->at(StepOf(layer, *operation, trace->num_layers), *position);
  own.count = IndexIn(object, "count", std::size_t{1} << 32).value_or(0);
  own.norm = NumberOf(object["norm"]);
  own.mean = NumberOf(object["mean"]);
  own.least = NumberOf(object["min"]);
  own.most = NumberOf(object["max"]);
  own.zeros = NumberOf(object["zeros"]);
  own.hash = TextIn(object, "hash");
  const Json& sketch = object["sketch"];
  if (sketch.elements().size() != kSketch) return bad("no sketch of 16 numbers");
  for (std::size_t k = 0; k < kSketch; ++k) own.sketch[k] = NumberOf(sketch[k]);
  return {};
}

/// Values of one operation, where the folder has them. What does not fit is left out.
void ReadValues(const std::filesystem::path& folder, std::size_t step, Trace* trace) {
  const auto [layer, operation] = PlaceOf(step, trace->num_layers);
  const auto file = MappedFile::Open(folder / "values" / FileOf(layer, operation));
  if (!file) return;
  const std::size_t count = trace->at(step, 0).count, positions = trace->tokens.size();
  const auto bytes = file->bytes();
  if (count == 0 || bytes.size() < 10 || bytes.size() / sizeof(float) / positions < count) return;
  const std::size_t data = positions * count * sizeof(float), head = bytes.size() - data;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), head);
  if (!text.starts_with("\x93NUMPY") || text.find("'<f4'") == std::string_view::npos ||
      text.find(fmt::format("({}, {})", positions, count)) == std::string_view::npos) {
    return;
  }
  for (std::size_t p = 0; p < positions; ++p) {
    TraceStep& own = trace->at(step, p);
    if (own.count != count) continue;
    own.values.resize(count);
    std::memcpy(own.values.data(), bytes.data() + head + p * count * sizeof(float),
                count * sizeof(float));
  }
}

Result<Trace> ReadJson(std::string_view text) {
  const Json root = BITTERN_TRY(Json::Parse(text, kTraceLimits));
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
  const Json& tokens = root["tokens"];
  const Json& steps = root["steps"];
  if (!layers || tokens.elements().empty() || tokens.elements().size() > kMostTokens ||
      !steps.is_array()) {
    return Fail(ErrorCode::kCorruptFile, "layers, tokens and steps expected");
  }
  trace.num_layers = static_cast<int>(*layers);
  for (const Json& token : tokens.elements()) {
    const auto id = token.AsUint();
    if (!id) return Fail(ErrorCode::kCorruptFile, "a token is no number");
    trace.tokens.push_back(static_cast<TokenId>(*id));
  }
  if (NumSteps(trace.num_layers) * trace.tokens.size() > steps.size() * 1000 + 1000) {
    return Fail(ErrorCode::kCorruptFile, "nearly all steps are missing");
  }
  trace.steps.resize(NumSteps(trace.num_layers) * trace.tokens.size());
  for (const Json& step : steps.elements()) BITTERN_TRY(ReadStep(step, &trace));
  return trace;
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
    BITTERN_TRY(WriteFile(folder / "values" / FileOf(layer, operation), Npy(trace, step)));
  }
  const Json root = {
      {"trace", kVersion},      {"program", trace.program}, {"precision", trace.precision},
      {"kv", trace.kv},         {"isa", trace.isa},         {"layers", trace.num_layers},
      {"tokens", trace.tokens}, {"steps", std::move(steps)}};
  return WriteFile(folder / "trace.json", root.Dump() + "\n");
}

Result<Trace> ReadDump(const std::filesystem::path& folder) {
  const auto path = folder / "trace.json";
  const auto file = BITTERN_TRY(MappedFile::Open(path));
  auto trace = ReadJson({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
  BITTERN_TRY(file.CheckUnchanged());
  if (!trace) return tl::unexpected(Within(path.string(), trace.error()));
  for (std::size_t step = 0; step < NumSteps(trace->num_layers); ++step) {
    ReadValues(folder, step, &*trace);
  }
  return trace;
}

}  // namespace bittern::proof
