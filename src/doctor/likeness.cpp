// SPDX-License-Identifier: Apache-2.0
// Tensors by their names first. One that differs is looked for among the others of its shape; where
// most codes differ, the layouts of I2_S are tried. One thread.
#include "doctor/likeness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text/display.hpp"
#include "doctor/facts/finding.hpp"
#include "doctor/tensor_likeness.hpp"
#include "formats/convert/convert_plan.hpp"

namespace bittern::doctor {
namespace {

using formats::Checkpoint;
using formats::MetaArray;
using formats::MetaType;
using formats::MetaValue;
using formats::Tensor;

std::string ShapeOf(const Tensor& tensor) {
  std::string text;
  for (int i = 0; i < tensor.rank; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : " x ", tensor.shape[static_cast<std::size_t>(i)]);
  }
  return text;
}

class Comparing {
 public:
  Comparing(ComparedFile& file, ComparedFile& other) : file_(file), other_(other) {}

  Result<Likeness> Run() {
    found_.path = other_.checkpoint().path();
    for (const Tensor& tensor : file_.checkpoint().tensors()) {
      if (formats::IsScaleOfProjection(file_.checkpoint(), tensor)) continue;
      ++found_.tensors;
      const Tensor* partner = other_.checkpoint().Find(tensor.name);
      if (partner == nullptr) {
        found_.unlike.push_back({tensor.name, "The other file has no such tensor."});
      } else {
        ++common_;
        Compare(tensor, *partner);
      }
    }
    for (const Tensor& tensor : other_.checkpoint().tensors()) {
      if (formats::IsScaleOfProjection(other_.checkpoint(), tensor)) continue;
      if (file_.checkpoint().Find(tensor.name) != nullptr) continue;
      ++found_.tensors;
      found_.unlike.push_back({tensor.name, "It is missing: only the other file has it."});
    }
    if (common_ == 0) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: has no tensor in common with the file", found_.path));
    }
    return std::move(found_);
  }

 private:
  /// Compares two tensors of one name; what differs becomes a sentence.
  void Compare(const Tensor& tensor, const Tensor& partner) {
    if (tensor.shape != partner.shape) {
      const bool turned =
          tensor.shape[0] == partner.shape[1] && tensor.shape[1] == partner.shape[0];
      found_.unlike.push_back(
          {tensor.name, fmt::format("Its shape is {}, the other's {}{}.", ShapeOf(tensor),
                                    ShapeOf(partner), turned ? ": it lies on its side" : "")});
      return;
    }
    auto likeness = CompareTensors(file_, tensor, other_, partner);
    if (!likeness) {
      found_.unlike.push_back({tensor.name, AsSentence(likeness.error().message)});
    } else if (likeness->equal) {
      ++found_.equal;
    } else {
      std::string what = likeness->what;
      if (const auto elsewhere = SameElsewhere(tensor, *likeness)) what = *elsewhere;
      found_.unlike.push_back({tensor.name, std::move(what)});
    }
  }

  /// Whether another tensor of the other file has this one's weights, or its scale.
  std::optional<std::string> SameElsewhere(const Tensor& tensor, const TensorLikeness& likeness) {
    for (const Tensor& candidate : other_.checkpoint().tensors()) {
      if (candidate.name == tensor.name) continue;
      if (likeness.same_codes) {
        const auto scale = ScaleOf(tensor);
        if (!scale || scale != ScaleOf(candidate)) continue;
        return fmt::format("{} That is the scale of {}.", likeness.what, candidate.name);
      }
      const bool fits = candidate.shape == tensor.shape && !likeness.rows.empty();
      if (!fits || HashesOf(candidate) != likeness.rows) continue;
      return fmt::format("It holds the weights of {}.", candidate.name);
    }
    return std::nullopt;
  }

  const std::vector<std::uint64_t>& HashesOf(const Tensor& tensor) {
    const auto [place, is_new] = hashes_.try_emplace(tensor.name);
    if (is_new) {
      if (auto hashes = RowHashes(other_, tensor)) place->second = *std::move(hashes);
    }
    return place->second;
  }

  ComparedFile &file_, &other_;
  Likeness found_;
  std::size_t common_ = 0;
  std::map<std::string, std::vector<std::uint64_t>> hashes_;
};

Result<Likeness> CompareWeights(const Checkpoint& file, const Checkpoint& other) {
  ComparedFile a = BITTERN_TRY(ComparedFile::Create(file));
  ComparedFile b = BITTERN_TRY(ComparedFile::Create(other));
  return Comparing(a, b).Run();
}

/// The layout of I2_S in which more tensors are equal, if one is.
Result<void> TryLayouts(const Opener& open, const Checkpoint& other, Likeness* found) {
  if (2 * found->equal > found->tensors) return {};
  for (const char* layout : {"x86-128", "arm-64", "row4", "sequential"}) {
    const auto file = BITTERN_TRY(OpenReading(open, {SetKey("ternary.layout", "str", layout)}));
    const bool has_i2s = std::ranges::any_of(file.tensors(), [](const Tensor& tensor) {
      return tensor.format == quant::WeightFormat::kI2_S;
    });
    if (!has_i2s) return {};
    auto again = CompareWeights(file, other);
    if (!again || again->equal <= found->equal) continue;
    *found = *std::move(again);
    found->unlike.insert(found->unlike.begin(),
                         {"ternary.layout", fmt::format("The weights are ordered as {}, which "
                                                        "nothing in the file says; so they were "
                                                        "compared.",
                                                        layout)});
  }
  return {};
}

/// A value as people write it; of an array its length.
std::string TextOf(const MetaValue& value) {
  struct Render {
    std::string operator()(std::uint64_t number) const { return fmt::to_string(number); }
    std::string operator()(std::int64_t number) const { return fmt::to_string(number); }
    std::string operator()(double number) const { return fmt::format("{:.7g}", number); }
    std::string operator()(bool truth) const { return truth ? "true" : "false"; }
    std::string operator()(std::string_view text) const { return Quoted(text, 40); }
    std::string operator()(const MetaArray& array) const {
      return fmt::format("a list of {}", array.count);
    }
  };
  return std::visit(Render(), value.value);
}

/// The element of a list at `index`, for comparing and for showing.
std::string ElementOf(const MetaArray& array, std::size_t index) {
  if (!array.strings.empty()) return std::string(array.strings[index]);
  const std::size_t size = array.count == 0 ? 0 : array.raw.size() / array.count;
  const auto bytes = array.raw.subspan(index * size, size);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Says how two values differ; nullopt if they do not. Lists of one length are compared element by
/// element.
std::optional<std::string> DifferenceOf(const MetaValue& a, const MetaValue& b) {
  const auto *list = std::get_if<MetaArray>(&a.value), *list_b = std::get_if<MetaArray>(&b.value);
  if (list == nullptr || list_b == nullptr || list->count != list_b->count) {
    const std::string here = TextOf(a), there = TextOf(b);
    if (here == there) return std::nullopt;
    return fmt::format("{} here, {} there.", here, there);
  }
  std::size_t differing = 0, first = 0;
  for (std::size_t i = 0; i < list->count; ++i) {
    if (ElementOf(*list, i) == ElementOf(*list_b, i)) continue;
    if (differing++ == 0) first = i;
  }
  if (differing == 0) return std::nullopt;
  const bool texts = !list->strings.empty();
  return fmt::format("{} of {} elements differ, first number {}{}.", differing, list->count, first,
                     texts ? fmt::format(": {} here, {} there", Quoted(list->strings[first], 40),
                                         Quoted(list_b->strings[first], 40))
                           : "");
}

/// Keys of an architecture with a star for its name, so that a wrong name is one difference.
std::map<std::string, const MetaValue*> KeysOf(const Checkpoint& file) {
  const auto architecture = file.metadata().GetString("general.architecture");
  const std::string prefix =
      architecture && *architecture ? std::string(**architecture) + "." : "?";
  std::map<std::string, const MetaValue*> keys;
  for (const auto& entry : file.metadata().entries()) {
    const bool own = entry.key.starts_with(prefix);
    keys[own ? "*." + entry.key.substr(prefix.size()) : entry.key] = &entry.value;
  }
  return keys;
}

/// Compares the keys of both files, in the order of their names.
void CompareKeys(const Checkpoint& file, const Checkpoint& other, Likeness* found) {
  const auto here = KeysOf(file), there = KeysOf(other);
  std::set<std::string> names;
  for (const auto& [name, value] : here) names.insert(name);
  for (const auto& [name, value] : there) names.insert(name);
  found->keys = names.size();
  for (const std::string& name : names) {
    const auto a = here.find(name), b = there.find(name);
    if (b == there.end()) {
      found->unlike_keys.push_back(
          {name, TextOf(*a->second) + " here; the other file does not have it."});
    } else if (a == here.end()) {
      found->unlike_keys.push_back({name, "Missing; " + TextOf(*b->second) + " there."});
    } else if (const auto difference = DifferenceOf(*a->second, *b->second)) {
      found->unlike_keys.push_back({name, *difference});
    }
  }
}

/// One sentence about all tensors and keys.
std::string SummaryOf(const Likeness& found) {
  if (found.unlike.empty()) {
    return found.unlike_keys.empty()
               ? "All weights and keys are those of the other file."
               : fmt::format("All weights are those of the other file; {} of {} keys differ.",
                             found.unlike_keys.size(), found.keys);
  }
  return fmt::format("{} of {} tensors and {} of {} keys are not as in the other file.",
                     found.tensors - found.equal, found.tensors, found.unlike_keys.size(),
                     found.keys);
}

}  // namespace

Result<Likeness> CompareFiles(const Opener& open, const Opener& open_other) {
  const auto file = BITTERN_TRY(open());
  const auto other = BITTERN_TRY(open_other());
  Likeness found = BITTERN_TRY(CompareWeights(file, other));
  BITTERN_TRY(TryLayouts(open, other, &found));
  CompareKeys(file, other, &found);
  found.summary = SummaryOf(found);
  return found;
}

}  // namespace bittern::doctor
