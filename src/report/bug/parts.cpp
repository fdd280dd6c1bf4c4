// SPDX-License-Identifier: Apache-2.0
// Every part is a list of lines. A part that fails gives the error as its line.
#include "report/bug/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>

#include "base/json/json.hpp"
#include "base/os/memory.hpp"
#include "base/os/process.hpp"
#include "base/threads/thread_pool.hpp"
#include "doctor/outcome/diagnosis_json.hpp"
#include "proof/selftest/known_models.hpp"
#include "report/cpu_report.hpp"
#include "report/inspect/report.hpp"
#include "report/inspect/values.hpp"
#include "runtime/session.hpp"
#include "runtime/tune/machine_probe.hpp"

namespace bittern::report {
namespace {

using runtime::TokenId;

constexpr std::size_t kMostValueBytes = 300;  // of a key of the file
constexpr int kReportPrompt = 128, kReportGen = 32;

std::string Kilobytes(std::uint64_t bytes) {
  return bytes == 0 ? "" : fmt::format("{} kB", bytes / 1024);
}

/// A line for each tensor: name, format, shape, and for ternary ones the counts of -1, 0 and +1.
Json TensorLines(const InspectReport& report) {
  Json lines = Json::MakeArray();
  for (std::size_t i = 0; i < report.ternary.size(); ++i) {
    const formats::Tensor& tensor = report.checkpoint->tensors()[i];
    std::string shape;
    for (int d = 0; d < tensor.rank; ++d) {
      const auto size = tensor.shape[static_cast<std::size_t>(d)];
      shape += fmt::format("{}{}", d == 0 ? "" : "x", size);
    }
    std::string line =
        fmt::format("{} {} {}", tensor.name, quant::InfoOf(tensor.format).name, shape);
    if (const auto& ternary = report.ternary[i]) {
      const auto& stats = ternary->stats;
      line += fmt::format(", scale {:.6g}, codes {}/{}/{}{}", ternary->scale, stats.minus,
                          stats.zero, stats.plus,
                          stats.invalid == 0 ? "" : fmt::format(" and {} invalid", stats.invalid));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

/// Keys in which people write what they like, and name themselves; no developer needs them.
bool IsProse(std::string_view key) {
  constexpr std::array<std::string_view, 8> kNames = {"description",  "author",      "authors",
                                                      "organization", "comment",     "contact",
                                                      "email",        "quantized_by"};
  return std::ranges::find(kNames, key.substr(key.rfind('.') + 1)) != kNames.end();
}

/// Keys with their values; of arrays and prose their sizes, of long texts the beginning.
Json KeysOf(const formats::Metadata& metadata) {
  Json keys = Json::MakeObject();
  for (const auto& entry : metadata.entries()) {
    if (std::holds_alternative<formats::MetaArray>(entry.value.value)) {
      keys[entry.key] = ValueTypeText(entry.value);
      continue;
    }
    Json value = ValueJson(entry.value);
    if (value.is_string() && IsProse(entry.key)) {
      value = fmt::format("(a text of {} bytes)", value.text().size());
    } else if (value.is_string() && value.text().size() > kMostValueBytes) {
      const std::string& text = value.text();
      value = fmt::format("{}... ({} bytes)", text.substr(0, kMostValueBytes), text.size());
    }
    keys[entry.key] = std::move(value);
  }
  return keys;
}

/// A short measurement: 128 tokens read and 32 written, or fewer where the context is small. The
/// first reading only warms the caches.
Result<Json> MeasureModel(const doctor::Opener& open, int num_threads) {
  auto file = BITTERN_TRY(open());
  const auto model =
      BITTERN_TRY(runtime::LoadedModel::Load(std::move(file), {.num_threads = num_threads}));
  const int limit = model->model.config().context_length;
  const int prompt = std::clamp(limit - kReportGen - 1, 1, kReportPrompt);
  const int context = std::min(limit, prompt + kReportGen + 1);
  auto session = BITTERN_TRY(
      runtime::Session::Create(model, {.context_length = context, .num_threads = num_threads}));
  std::vector<TokenId> ids(static_cast<std::size_t>(prompt));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<TokenId>(i * 37 % static_cast<std::size_t>(model->tokenizer.vocab_size()));
  }
  BITTERN_TRY(session.Prefill(ids));  // for the caches
  session.Truncate(0);
  const auto start = std::chrono::steady_clock::now();
  BITTERN_TRY(session.Prefill(ids));
  const std::chrono::duration<double> read = std::chrono::steady_clock::now() - start;
  const int most = std::min(kReportGen, context - prompt);
  const double before = session.timings().predicted_s;
  BITTERN_TRY(session.Generate({.max_tokens = most,
                                .sampler = {.temperature = 0},
                                .ignore_eos = true,
                                .speculation = runtime::Speculation::kOff},
                               {}));
  const double wrote = session.timings().predicted_s - before;
  return Json{{"prompt_tokens", prompt},
              {"prompt_tokens_per_second", prompt / std::max(read.count(), 1e-9)},
              {"generated_tokens", most},
              {"generated_tokens_per_second", most / std::max(wrote, 1e-9)},
              {"threads", session.num_threads()},
              {"load_seconds", model->load_s}};
}

/// A value in one line: "name: tile16, kernels: (isa: avx2, state: slower), (...)".
std::string InLine(const Json& value) {
  std::string line;
  if (value.is_object()) {
    for (const auto& [key, member] : value.members()) {
      line += fmt::format("{}{}: {}", line.empty() ? "" : ", ", key, InLine(member));
    }
    return line;
  }
  if (!value.is_array()) return value.is_string() ? value.text() : value.Dump();
  for (const Json& element : value.elements()) {
    const std::string text = InLine(element);
    line += (line.empty() ? "" : ", ") + (element.is_object() ? "(" + text + ")" : text);
  }
  return line.empty() ? "none" : line;
}

/// Writes JSON as indented lines for people; an element of an array becomes one line.
void AddLines(const Json& value, const std::string& name, int depth, std::string* text) {
  const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
  if (value.is_object() && !value.empty()) {
    *text += fmt::format("{}{}:\n", indent, name);
    for (const auto& [key, member] : value.members()) AddLines(member, key, depth + 1, text);
  } else if (value.is_array() && !value.empty()) {
    *text += fmt::format("{}{}:\n", indent, name);
    for (const Json& element : value.elements()) {
      *text += fmt::format("{}  {}\n", indent, InLine(element));
    }
  } else {
    *text += fmt::format("{}{}: {}\n", indent, name, InLine(value));
  }
}

}  // namespace

Json MachinePart(const Wording& word) {
  auto cpu = MakeCpuReport();
  Json part = {{"cpu", runtime::CpuName()},
               {"logical_cpus", UsableCpuCount()},
               {"threads_by_default", DefaultThreadCount()},
               {"cache_bytes", runtime::LastLevelCacheBytes()},
               {"memory", Kilobytes(os::TotalMemory())},
               {"memory_available", Kilobytes(os::AvailableMemory())},
               {"system", os::SystemName()},
               {"kernel", os::KernelVersion()}};
  if (cpu) {
    for (auto& operation : cpu->operations) {
      for (auto& kernel : operation.kernels) kernel.state = word(kernel.state);
    }
    part["instructions_and_kernels"] = CpuReportJson(*cpu);
  } else {
    part["instructions_and_kernels"] = cpu.error().message;
  }
  return part;
}

Json FilePart(const formats::Checkpoint& file, const Wording& word) {
  InspectReport report = MakeInspectReport(file, /*count_codes=*/true);
  for (std::string& finding : report.findings) finding = word(finding);
  Json formats = Json::MakeObject(), decisions = Json::MakeArray();
  for (const FormatTotal& total : report.totals) {
    formats[total.format] = fmt::format("{} tensors, {} weights, {} bytes", total.tensors,
                                        total.parameters, total.bytes);
  }
  for (const Decision& decision : report.decisions) {
    decisions.push_back(
        fmt::format("{} = {} ({})", decision.subject, decision.choice, decision.reason));
  }
  return {{"kind", file.kind()},
          {"bytes", file.file_bytes()},
          {"keys", KeysOf(file.metadata())},
          {"formats", std::move(formats)},
          {"decisions", std::move(decisions)},
          {"findings", report.findings},
          {"tensors", TensorLines(report)}};
}

Json DoctorPart(const doctor::Opener& open, const std::string& path, int num_threads,
                const std::function<void(std::string_view)>& on_progress) {
  const auto diagnosis = doctor::Diagnose(
      open, path,
      {.num_threads = num_threads, .on_progress = on_progress, .identify = proof::NameOfKnownFile});
  return doctor::DiagnosisJson(diagnosis);
}

Json BenchPart(const doctor::Opener& open, int num_threads) {
  auto part = MeasureModel(open, num_threads);
  return part ? *std::move(part) : Json{{"error", part.error().message}};
}

void CleanTexts(Json* value, const PrivateWords& words) {
  if (value->is_string()) {
    *value = WithoutPrivate(value->text(), words);
  } else if (value->is_array()) {
    for (std::size_t i = 0; i < value->size(); ++i) CleanTexts(&(*value)[i], words);
  } else {
    for (const Json::Member& member : value->members()) {
      CleanTexts(value->Find(member.key), words);
    }
  }
}

std::string PartsText(const Json& parts) {
  std::string text;
  for (const auto& [name, part] : parts.members()) {
    if (part.is_object()) text += "\n";
    AddLines(part, name, 0, &text);
  }
  return text;
}

}  // namespace bittern::report
