// SPDX-License-Identifier: Apache-2.0
// Faults of keys that the shapes of tensors do not show. One thread.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/float16.hpp"
#include "doctor/hypotheses/subject.hpp"

namespace bittern::doctor {
namespace {

using formats::Checkpoint;
using formats::Tensor;

/// Sets all keys that follow from the size of a head.
Edit SetHeads(const std::string& architecture, std::uint64_t q_rows, std::uint64_t kv_rows,
              std::uint64_t size) {
  return [=](Checkpoint* file) -> Result<void> {
    const auto set = [&](const std::string& key, std::uint64_t value, bool only_if_there) {
      const std::string name = architecture + "." + key;
      if (only_if_there && file->metadata().Find(name) == nullptr) return Result<void>{};
      return SetKey(name, "int", fmt::format("{}", value))(file);
    };
    BITTERN_TRY(set("attention.head_count", q_rows / size, false));
    BITTERN_TRY(set("attention.head_count_kv", kv_rows / size, false));
    for (const char* key :
         {"attention.key_length", "attention.value_length", "rope.dimension_count"}) {
      BITTERN_TRY(set(key, size, true));
    }
    return {};
  };
}

/// The rows of q and k fit heads of any size that divides them.
void Heads(const Subject& s) {
  if (s.Layer(0, formats::TensorId::kAttnQNorm) != nullptr) return;  // its length says the size
  const auto q_rows = static_cast<std::uint64_t>(s.config.q_size());
  const auto kv_rows = static_cast<std::uint64_t>(s.config.kv_size());
  const auto now = static_cast<std::uint64_t>(s.config.head_dim);
  for (const std::uint64_t size : {now / 2, 2 * now, now / 4, 4 * now}) {
    const bool fits = size >= 16 && size <= 256 && size % 2 == 0 && q_rows % size == 0 &&
                      kv_rows % size == 0 && (q_rows / size) % (kv_rows / size) == 0;
    if (!fits) continue;
    s.Add({"heads",
           fmt::format("The numbers of heads are wrong: {} and {} of {} numbers instead of {} and "
                       "{} of {}.",
                       s.config.num_heads, s.config.num_kv_heads, now, q_rows / size,
                       kv_rows / size, size),
           fmt::format("set {0}.attention.head_count to {1} and {0}.attention.head_count_kv to {2}",
                       s.config.architecture, q_rows / size, kv_rows / size),
           SetHeads(s.config.architecture, q_rows, kv_rows, size), false});
  }
}

/// A rotation stretched for a longer context than the model was trained for.
void RopeScaling(const Subject& s) {
  if (s.config.rope_scaling.kind == model::RopeScaling::Kind::kNone) return;
  const std::string key = s.config.architecture + ".rope.scaling.type";
  s.Add({"rope_scaling",
         fmt::format("The rotation is stretched by {}, which this model was not trained with.",
                     s.config.rope_scaling.factor),
         fmt::format("set {} to none", key), SetKey(key, "str", "none"), false});
}

float HalfAsBfloat(float x) { return BfloatToFloat(FloatToHalf(x)); }
float BfloatAsHalf(float x) { return HalfToFloat(FloatToBfloat(x)); }

/// Whether 16 bits held every weight of every norm as `type` does, and all are usable when read the
/// other way.
bool AllNormsAre(const Checkpoint& file, const std::function<bool(float)>& is_exact,
                 float (*read)(float)) {
  bool any = false;
  for (const Tensor& tensor : file.tensors()) {
    const bool is_norm = tensor.rank == 1 && tensor.format == quant::WeightFormat::kF32 &&
                         tensor.name.find("norm") != std::string::npos;
    if (!is_norm) continue;
    for (std::size_t i = 0; i + 4 <= tensor.bytes.size(); i += 4) {
      float weight = 0;
      std::memcpy(&weight, tensor.bytes.data() + i, 4);
      constexpr float kMost = 1e4f;
      if (!is_exact(weight) || !(std::abs(read(weight)) < kMost)) return false;
      any = true;
    }
  }
  return any;
}

bool IsHalf(float x) { return HalfToFloat(FloatToHalf(x)) == x; }
bool IsBfloat(float x) { return BfloatToFloat(FloatToBfloat(x)) == x; }

/// The bits of one 16-bit type read as the other: what was 1 is 1.875 or 0.0078.
void NormTypes(const Subject& s) {
  if (AllNormsAre(s.file, IsHalf, HalfAsBfloat)) {
    s.Add({"norm_type", "The norms are bfloat16 that was read as float16.",
           "read the bits of the norms as bfloat16", ChangeNorms(HalfAsBfloat), false});
  }
  if (AllNormsAre(s.file, IsBfloat, BfloatAsHalf)) {
    s.Add({"norm_type", "The norms are float16 that was read as bfloat16.",
           "read the bits of the norms as float16", ChangeNorms(BfloatAsHalf), false});
  }
}

}  // namespace

bool NormsMayBeMisread(const Checkpoint& checkpoint) {
  if (!AllNormsAre(checkpoint, IsBfloat, BfloatAsHalf)) return false;
  std::vector<float> now, then;
  for (const Tensor& tensor : checkpoint.tensors()) {
    if (tensor.rank != 1 || tensor.name.find("norm") == std::string::npos) continue;
    for (std::size_t i = 0; i + 4 <= tensor.bytes.size(); i += 4) {
      float weight = 0;
      std::memcpy(&weight, tensor.bytes.data() + i, 4);
      now.push_back(std::abs(weight));
      then.push_back(std::abs(BfloatAsHalf(weight)));
    }
  }
  const auto median = [](std::vector<float>* values) {
    const auto middle = values->begin() + static_cast<std::ptrdiff_t>(values->size() / 2);
    std::ranges::nth_element(*values, middle);
    return *middle;
  };
  // 0.25 to 4 in float16 are 1e-6 to 8 in bfloat16, most of them far below 0.05.
  const float middle = median(&then);
  return median(&now) < 0.05f && middle > 0.1f && middle < 10;
}

void HypothesesOfKeys(const Subject& subject) {
  Heads(subject);
  RopeScaling(subject);
  NormTypes(subject);
}

}  // namespace bittern::doctor
