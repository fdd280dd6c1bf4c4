// SPDX-License-Identifier: Apache-2.0
// The line, and what two certificates say about each other.
#include "proof/certificate/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text/display.hpp"
#include "model/trace.hpp"

namespace bittern::proof {
namespace {

using model::kNumLayerPoints;
using model::TracePoint;

constexpr std::string_view kMagic = "bittern-certificate v1";

struct Field {
  std::string_view name;
  std::string Certificate::* value;
};
constexpr std::array<Field, 4> kHashes = {{{"model", &Certificate::model},
                                           {"code", &Certificate::code},
                                           {"logits", &Certificate::logits},
                                           {"tokens", &Certificate::tokens}}};

bool IsHash(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The next word of a line, and the line without it.
std::string_view TakeWord(std::string_view* line) {
  line->remove_prefix(std::min(line->find_first_not_of(" \t\r"), line->size()));
  const std::size_t end = std::min(line->find_first_of(" \t\r"), line->size());
  const std::string_view word = line->substr(0, end);
  line->remove_prefix(end);
  return word;
}

/// The value of the word NAME=VALUE that has to come next.
Result<std::string> TakeField(std::string_view name, std::string_view* line) {
  const std::string_view word = TakeWord(line);
  if (word.starts_with(name) && word.substr(name.size()).starts_with('=')) {
    return std::string(word.substr(name.size() + 1));
  }
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("certificate line: {}=... expected, {} found", name, Quoted(word)));
}

/// An operation that differs, the earliest over all prompts and phases.
struct Difference {
  std::size_t operation, prompt;
  bool decode;
};

std::optional<Difference> FirstDifference(const Certificate& expected, const Certificate& found) {
  std::optional<Difference> first;
  for (std::size_t p = 0; p < expected.prompts.size(); ++p) {
    for (const bool decode : {false, true}) {
      // After other tokens everything differs, beginning with the embedding.
      if (decode && expected.prompts[p].fed != found.prompts[p].fed) continue;
      const auto& a = decode ? expected.prompts[p].decode : expected.prompts[p].prefill;
      const auto& b = decode ? found.prompts[p].decode : found.prompts[p].prefill;
      const auto at = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
      if (at < a.size() && (!first || at < first->operation)) first = Difference{at, p, decode};
    }
  }
  return first;
}

std::string FirstPosition(const PromptCertificate& expected, const PromptCertificate& found) {
  const auto at = std::ranges::mismatch(expected.positions, found.positions).in1;
  if (at == expected.positions.end()) return "no logits differ";
  return fmt::format("logits differ from position {} of {} on", at - expected.positions.begin(),
                     expected.positions.size());
}

/// Which tensors differ: the first by name, the others by number.
void CompareTensors(const Certificate& expected, const Certificate& found,
                    std::vector<std::string>* differences) {
  const auto same = [](const model::NamedHash& a, const model::NamedHash& b) {
    return a.name == b.name && a.hash == b.hash;
  };
  std::size_t count = 0;
  std::string first;
  for (std::size_t i = 0; i < std::max(expected.tensors.size(), found.tensors.size()); ++i) {
    const bool both = i < expected.tensors.size() && i < found.tensors.size();
    if (both && same(expected.tensors[i], found.tensors[i])) continue;
    if (count++ == 0) first = (i < found.tensors.size() ? found : expected).tensors[i].name;
  }
  if (count == 0) return;
  differences->push_back(fmt::format("the model's first part that differs: {}{}", first,
                                     count == 1 ? "" : fmt::format(" (of {})", count)));
}

/// A difference of the tokens after a prompt, for want of anything better.
void ReportOtherTokens(const Certificate& expected, const Certificate& found,
                       std::vector<std::string>* differences) {
  for (std::size_t p = 0; p < expected.prompts.size(); ++p) {
    const auto& a = expected.prompts[p].fed;
    const auto& b = found.prompts[p].fed;
    if (a == b) continue;
    differences->push_back(
        fmt::format("prompt {}: other tokens from number {} on; no operation differs before them",
                    p + 1, std::ranges::mismatch(a, b).in1 - a.begin() + 1));
    return;
  }
}

/// The layer and operation, or why none can be named.
void CompareOperations(const Certificate& expected, const Certificate& found,
                       std::vector<std::string>* differences) {
  if (expected.code != found.code || expected.prompts.size() != found.prompts.size() ||
      expected.num_layers != found.num_layers) {
    differences->push_back(
        "operations are not compared: other prompts, cache type, numerics "
        "contract or number of layers");
    return;
  }
  for (std::size_t p = 0; p < expected.prompts.size(); ++p) {
    if (expected.prompts[p].prompt_ids == found.prompts[p].prompt_ids) continue;
    differences->push_back(fmt::format("prompt {}: the tokenizer gives other ids", p + 1));
    return;
  }
  const auto first = FirstDifference(expected, found);
  if (!first) return ReportOtherTokens(expected, found, differences);
  differences->push_back(
      fmt::format("first operation that differs: {} (prompt {}, {}; {})",
                  OperationName(first->operation, expected.num_layers), first->prompt + 1,
                  first->decode ? "decoding" : "prefill",
                  FirstPosition(expected.prompts[first->prompt], found.prompts[first->prompt])));
}

}  // namespace

std::string CertificateLine(const Certificate& c) {
  std::string line(kMagic);
  for (const Field& field : kHashes) line += fmt::format(" {}={}", field.name, c.*field.value);
  return line + " version=" + c.version;
}

Result<Certificate> ParseCertificateLine(std::string_view line) {
  const std::string_view magic = TakeWord(&line), version = TakeWord(&line);
  if (fmt::format("{} {}", magic, version) != kMagic) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("certificate line: it begins with \"{}\", {} found", kMagic,
                            Quoted(fmt::format("{} {}", magic, version))));
  }
  Certificate certificate;
  for (const Field& field : kHashes) {
    std::string value = BITTERN_TRY(TakeField(field.name, &line));
    if (!IsHash(value)) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("certificate line: {}: 32 hexadecimal digits expected, {} found",
                              field.name, Quoted(value)));
    }
    certificate.*field.value = std::move(value);
  }
  certificate.version = BITTERN_TRY(TakeField("version", &line));
  if (const std::string_view rest = TakeWord(&line); !rest.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("certificate line: nothing after the version expected, {} found",
                            Quoted(rest)));
  }
  return certificate;
}

std::size_t NumOperations(int num_layers) noexcept {
  return 3 + static_cast<std::size_t>(num_layers) * kNumLayerPoints;
}

std::string OperationName(std::size_t operation, int num_layers) {
  const std::size_t last = NumOperations(num_layers) - 1;
  if (operation == 0) return std::string(TracePointName(TracePoint::kEmbedding));
  if (operation >= last) return std::string(TracePointName(TracePoint::kHead));
  if (operation == last - 1) return std::string(TracePointName(TracePoint::kFinalNorm));
  const std::size_t point = 1 + (operation - 1) % kNumLayerPoints;
  return fmt::format("layer {}, {}", (operation - 1) / kNumLayerPoints,
                     TracePointName(static_cast<TracePoint>(point)));
}

std::vector<std::string> CompareCertificates(const Certificate& expected,
                                             const Certificate& found) {
  std::vector<std::string> differences;
  const bool full = expected.is_full() && found.is_full();
  if (full) {
    CompareOperations(expected, found, &differences);
    CompareTensors(expected, found, &differences);
  }
  for (const Field& field : kHashes) {
    if (expected.*field.value == found.*field.value) continue;
    differences.push_back(fmt::format("{}: {} expected, {} found", field.name,
                                      expected.*field.value, found.*field.value));
  }
  return differences;
}

}  // namespace bittern::proof
