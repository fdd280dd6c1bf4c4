// SPDX-License-Identifier: Apache-2.0
// Every tensor against what training makes, and against its siblings in other layers. One thread.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "base/hash.hpp"
#include "base/text/display.hpp"
#include "doctor/facts/tensor_facts.hpp"
#include "doctor/hypotheses/hypotheses.hpp"
#include "doctor/static_checks.hpp"
#include "model/config.hpp"
#include "model/load/check_weights.hpp"

namespace bittern::doctor {
namespace {

using formats::Checkpoint;
using formats::Tensor;

constexpr std::size_t kMostNamed = 3;  // tensors that one finding names

/// The first few names, and how many more there are.
std::string Named(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMostNamed) text += fmt::format(" and {} more", names.size() - kMostNamed);
  return text;
}

Cure Lost(std::string id, std::string cause, std::string evidence) {
  return {{std::move(id), std::move(cause), std::move(evidence),
           "nothing in the file can bring this back: fetch or make the file again", false},
          {}};
}

/// Tensors that hold the same bytes, and tensors of zero bytes only.
void CheckCopies(const Checkpoint& file, std::vector<Cure>* cures) {
  std::map<std::string, std::string> seen;
  std::vector<std::string> copies, holes;
  for (const Tensor& tensor : file.tensors()) {
    constexpr std::size_t kLeast = 1024;  // small vectors may well be equal
    if (!tensor.name.starts_with("blk.") || tensor.rank != 2 || tensor.bytes.size() < kLeast)
      continue;
    const auto codes =
        tensor.bytes.first(tensor.bytes.size() - std::min<std::size_t>(32, tensor.bytes.size()));
    if (std::ranges::all_of(codes, [](std::byte b) { return b == std::byte{0}; })) {
      holes.push_back(tensor.name);
      continue;
    }
    const auto [place, is_new] = seen.try_emplace(HashOf(codes), tensor.name);
    if (!is_new) copies.push_back(fmt::format("{} (of {})", tensor.name, place->second));
  }
  if (!holes.empty()) {
    cures->push_back(Lost("hole",
                          "A part of the file is missing: tensors hold nothing but zero bytes.",
                          Named(holes) + "."));
  }
  if (!copies.empty()) {
    cures->push_back(Lost("duplicate", "Tensors are copies of others, which training never makes.",
                          Named(copies) + "."));
  }
}

/// Code 3 here and there is damage; where it is as common as the others, codes mean something else.
void CheckCodes(const Checkpoint& file, std::vector<Cure>* cures) {
  std::vector<std::string> damaged;
  std::uint64_t invalid = 0, all = 0;
  for (const Tensor& tensor : file.tensors()) {
    const auto counts = CodeCounts(tensor);
    if (!counts) continue;
    const std::uint64_t weights = tensor.num_elements();
    all += weights;
    invalid += (*counts)[3];
    if ((*counts)[3] != 0) damaged.push_back(tensor.name);
  }
  if (invalid == 0 || invalid > all / 20) return;
  cures->push_back(Lost("invalid_codes",
                        "Weights are damaged: they have code 3, which no ternary weight has.",
                        fmt::format("{} of {} weights, in {}.", invalid, all, Named(damaged))));
}

/// A matrix of one value only carries nothing from its input to its output.
void CheckEmpty(const Checkpoint& file, std::vector<Cure>* cures) {
  std::vector<std::string> empty;
  for (const Tensor& tensor : file.tensors()) {
    const auto counts = CodeCounts(tensor);
    if (!counts || tensor.num_elements() < 1024) continue;
    const bool one_value = std::ranges::find(*counts, tensor.num_elements()) != counts->end();
    if (one_value && (*counts)[0] == 0) empty.push_back(tensor.name);  // zero bytes: CheckCopies
  }
  if (empty.empty()) return;
  cures->push_back(Lost("empty_matrix", "Matrices hold nothing: all of their weights are equal.",
                        Named(empty) + "."));
}

/// Finds scales that are no positive numbers, or all 1: then a converter has lost them.
void CheckScales(const Checkpoint& file, std::vector<Cure>* cures) {
  std::vector<std::string> bad;
  std::size_t scaled = 0, ones = 0;
  for (const Tensor& tensor : file.tensors()) {
    const auto scale = ScaleOf(tensor);
    if (!scale) continue;
    ++scaled;
    if (!std::isfinite(*scale) || *scale <= 0)
      bad.push_back(fmt::format("{} ({})", tensor.name, *scale));
    ones += *scale == 1 ? 1 : 0;
  }
  if (!bad.empty()) {
    cures->push_back(Lost("scale_lost",
                          "Scales are not positive numbers, so the weights have no size.",
                          Named(bad) + "."));
  } else if (scaled >= 7 && ones == scaled) {
    cures->push_back(Lost("scale_lost", "The scales of the weights are lost.",
                          fmt::format("All {} ternary tensors have the scale 1.", scaled)));
  }
}

/// Weights of norms lie around 1; what is thousands of times that came from elsewhere.
void CheckNorms(const Checkpoint& file, std::vector<Cure>* cures) {
  constexpr double kMostRatio = 300;
  std::map<std::string, std::vector<std::pair<std::string, double>>> kinds;
  for (const Tensor& tensor : file.tensors()) {
    const auto size = LargestMagnitude(tensor);
    if (!size || tensor.name.find("norm") == std::string::npos) continue;
    kinds[KindOf(tensor.name)].emplace_back(tensor.name, *size);
  }
  std::vector<std::string> absurd;
  for (const auto& [kind, tensors] : kinds) {
    std::vector<double> sizes;
    for (const auto& [name, size] : tensors) sizes.push_back(size);
    std::ranges::nth_element(sizes, sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2));
    const double usual = tensors.size() < 3 ? 1.5 : std::max(sizes[sizes.size() / 2], 1e-3);
    for (const auto& [name, size] : tensors) {
      const bool far = size > kMostRatio * usual || size < usual / kMostRatio;
      if (far && std::isfinite(size))
        absurd.push_back(fmt::format("{} (up to {:.3g})", name, size));
    }
  }
  if (absurd.empty() || NormsMayBeMisread(file)) return;
  cures->push_back(Lost("norm_absurd", "Norms have weights that no training makes.",
                        fmt::format("{}; the others of their kind lie around 1.", Named(absurd))));
}

/// Finds what loading would refuse: shapes, missing tensors, numbers that are not finite.
void CheckLoading(const Checkpoint& file, std::vector<Cure>* cures) {
  Decisions decisions;
  const auto config = model::ReadConfig(file, &decisions);
  if (!config) return;  // CheckKeys tells more
  for (const std::string& finding : model::CheckWeights(file, *config, true, &decisions)) {
    const bool missing = finding.find("is missing") != std::string::npos;
    const bool finite = finding.find("finite") != std::string::npos;
    cures->push_back(Lost(missing  ? "missing_tensor"
                          : finite ? "not_finite"
                                   : "tensors",
                          missing  ? "A tensor that the network needs is not in the file."
                          : finite ? "The file holds numbers that are not finite."
                                   : "A tensor does not fit the network.",
                          finding + "."));
  }
}

}  // namespace

std::vector<Cure> CheckTensors(const Checkpoint& checkpoint) {
  std::vector<Cure> cures;
  CheckLoading(checkpoint, &cures);
  CheckCodes(checkpoint, &cures);
  CheckEmpty(checkpoint, &cures);
  CheckScales(checkpoint, &cures);
  CheckCopies(checkpoint, &cures);
  CheckNorms(checkpoint, &cures);
  // A tensor that is reported as lost needs no second finding.
  const bool lost = std::ranges::any_of(cures, [](const Cure& c) { return !c.finding.curable; });
  if (!lost) std::ranges::move(CheckPartners(checkpoint), std::back_inserter(cures));
  return cures;
}

}  // namespace bittern::doctor
