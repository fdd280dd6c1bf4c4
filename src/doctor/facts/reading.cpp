// SPDX-License-Identifier: Apache-2.0
// Edits copy the bytes that they change and nothing else. One thread.
#include "doctor/facts/reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <set>

namespace bittern::doctor {
namespace {

using formats::Checkpoint;
using formats::Tensor;
using quant::WeightFormat;

tl::unexpected<Error> DoesNotFit(std::string_view why) {
  return Fail(ErrorCode::kUnsupported, std::string(why));
}

/// The tensors to be changed, and memory for what is changed in them.
struct Draft {
  explicit Draft(const Checkpoint& checkpoint)
      : tensors(checkpoint.tensors().begin(), checkpoint.tensors().end()) {}

  /// The tensor's bytes as a copy that may be written.
  std::span<std::byte> Own(Tensor* tensor) {
    memory.emplace_back(tensor->bytes.begin(), tensor->bytes.end());
    tensor->bytes = memory.back();
    return memory.back();
  }
  void Put(Checkpoint* checkpoint) && {
    checkpoint->ReplaceTensors(std::move(tensors), std::move(memory));
  }

  std::vector<Tensor> tensors;
  std::vector<std::vector<std::byte>> memory;
};

std::size_t CodeBytes(const Tensor& tensor) { return tensor.num_elements() / 4; }

bool HoldsI2s(const Tensor& tensor) {
  return tensor.format == WeightFormat::kI2_S && tensor.bytes.size() >= CodeBytes(tensor) + 4;
}

/// Renames the tensors by `renamed`, all at once.
Result<void> Rename(Checkpoint* checkpoint,
                    const std::function<std::string(const std::string&)>& renamed) {
  Draft draft(*checkpoint);
  std::set<std::string> names;
  bool changed = false;
  for (Tensor& tensor : draft.tensors) {
    const std::string name = renamed(tensor.name);
    changed = changed || name != tensor.name;
    tensor.name = name;
    if (!names.insert(name).second) return DoesNotFit("two tensors would have one name");
  }
  if (!changed) return DoesNotFit("there are no such tensors");
  std::move(draft).Put(checkpoint);
  return {};
}

/// "blk.3.ffn_up.weight" -> {"blk.3.", "ffn_up.weight"}
std::pair<std::string, std::string> SplitName(const std::string& name) {
  if (!name.starts_with("blk.")) return {"", name};
  const std::size_t dot = name.find('.', 4);
  if (dot == std::string::npos) return {"", name};
  return {name.substr(0, dot + 1), name.substr(dot + 1)};
}

/// Sets a tensor's scale. That of I2_S lies behind the codes, so the bytes are copied first. A
/// factor that the tensor has beside it is divided out.
void SetScaleOf(Tensor* tensor, float scale, Draft* draft) {
  if (tensor->format == WeightFormat::kI2_S) {
    const auto bytes = draft->Own(tensor);
    const float stored = scale / tensor->scale;
    std::memcpy(bytes.data() + CodeBytes(*tensor), &stored, sizeof stored);
  } else {
    tensor->scale = scale;
  }
}

bool IsNorm(const Tensor& tensor) {
  return tensor.rank == 1 && tensor.name.find("norm") != std::string::npos &&
         tensor.format == WeightFormat::kF32;
}

}  // namespace

Result<Checkpoint> OpenReading(const Opener& open, const std::vector<Edit>& edits) {
  Checkpoint checkpoint = BITTERN_TRY(open());
  for (const Edit& edit : edits) BITTERN_TRY(edit(&checkpoint));
  return checkpoint;
}

/// A new architecture also renames the keys that begin with the old one, which Override does.
Edit SetKey(std::string key, std::string type, std::string value) {
  return [=](Checkpoint* checkpoint) -> Result<void> {
    formats::Metadata& metadata = checkpoint->metadata();
    if (key == "general.architecture") return metadata.Override(key + "=" + type + ":" + value);
    if (type == "int") {
      std::uint32_t number = 0;
      std::from_chars(value.data(), value.data() + value.size(), number);
      metadata.Remove(key);
      return metadata.AddUint(key, number);
    }
    if (type == "float") {
      float number = 0;
      std::from_chars(value.data(), value.data() + value.size(), number);
      metadata.Remove(key);
      return metadata.AddFloat(key, number);
    }
    metadata.Remove(key);
    return metadata.AddString(key, value);
  };
}

Edit RemoveKey(std::string key) {
  return [=](Checkpoint* checkpoint) -> Result<void> {
    if (checkpoint->metadata().Remove(key)) return {};
    return DoesNotFit("there is no such key");
  };
}

Edit ExchangeKinds(std::string a, std::string b) {
  return [=](Checkpoint* checkpoint) {
    return Rename(checkpoint, [&](const std::string& name) {
      const auto [prefix, kind] = SplitName(name);
      if (prefix.empty()) return name;
      return kind == a ? prefix + b : kind == b ? prefix + a : name;
    });
  };
}

Edit ExchangeTensors(std::string a, std::string b) {
  return [=](Checkpoint* checkpoint) {
    return Rename(checkpoint, [&](const std::string& name) {
      return name == a ? b : name == b ? a : name;
    });
  };
}

/// A table of 256 bytes maps four codes at once. The scale behind the codes stays.
Edit MapCodes(std::array<std::uint8_t, 4> map, Chosen chosen) {
  return [=](Checkpoint* checkpoint) -> Result<void> {
    std::array<std::byte, 256> table;
    for (unsigned i = 0; i < 256; ++i) {
      unsigned mapped = 0;
      for (unsigned shift = 0; shift < 8; shift += 2) {
        mapped |= unsigned{map[i >> shift & 3]} << shift;
      }
      table[i] = static_cast<std::byte>(mapped);
    }
    Draft draft(*checkpoint);
    bool any = false;
    for (Tensor& tensor : draft.tensors) {
      if (!HoldsI2s(tensor) || (chosen && !chosen(tensor.name))) continue;
      any = true;
      for (std::byte& byte : draft.Own(&tensor).first(CodeBytes(tensor))) {
        byte = table[std::to_integer<unsigned>(byte)];
      }
    }
    if (!any) return DoesNotFit("there are no I2_S tensors");
    std::move(draft).Put(checkpoint);
    return {};
  };
}

std::optional<float> ScaleOf(const Tensor& tensor) {
  if (tensor.format == WeightFormat::kHfPacked) return tensor.scale;
  if (!HoldsI2s(tensor)) return std::nullopt;
  float scale = 0;
  std::memcpy(&scale, tensor.bytes.data() + CodeBytes(tensor), sizeof scale);
  return scale * tensor.scale;
}

/// All scales are read before the first is written: a change may depend on all of them, as an
/// exchange of neighbours does.
Edit ChangeScales(
    std::function<std::optional<float>(std::size_t index, const std::vector<float>& scales)>
        scale) {
  return [=](Checkpoint* checkpoint) -> Result<void> {
    Draft draft(*checkpoint);
    std::vector<Tensor*> scaled;
    std::vector<float> scales;
    for (Tensor& tensor : draft.tensors) {
      const auto own = ScaleOf(tensor);
      if (!own) continue;
      scaled.push_back(&tensor);
      scales.push_back(*own);
    }
    if (scaled.empty()) return DoesNotFit("no tensor has a scale of its own");
    for (std::size_t i = 0; i < scaled.size(); ++i) {
      if (const auto wanted = scale(i, scales)) SetScaleOf(scaled[i], *wanted, &draft);
    }
    std::move(draft).Put(checkpoint);
    return {};
  };
}

Edit SetScale(std::string name, float scale) {
  return [=](Checkpoint* checkpoint) -> Result<void> {
    Draft draft(*checkpoint);
    for (Tensor& tensor : draft.tensors) {
      if (tensor.name != name || !ScaleOf(tensor)) continue;
      SetScaleOf(&tensor, scale, &draft);
      std::move(draft).Put(checkpoint);
      return {};
    }
    return DoesNotFit("there is no such tensor with a scale");
  };
}

Edit ChangeNorms(std::function<float(float)> change, Chosen chosen) {
  return [=](Checkpoint* checkpoint) -> Result<void> {
    Draft draft(*checkpoint);
    bool any = false;
    for (Tensor& tensor : draft.tensors) {
      if (!IsNorm(tensor) || (chosen && !chosen(tensor.name))) continue;
      any = true;
      const auto bytes = draft.Own(&tensor);
      for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
        float weight = 0;
        std::memcpy(&weight, bytes.data() + i, 4);
        weight = change(weight);
        std::memcpy(bytes.data() + i, &weight, 4);
      }
    }
    if (!any) return DoesNotFit("there are no such norms");
    std::move(draft).Put(checkpoint);
    return {};
  };
}

/// Turns the shape, and with `transpose` the numbers as well: converters do the one without the
/// other.
Edit TurnMatrix(std::string name, bool transpose) {
  return [=](Checkpoint* checkpoint) -> Result<void> {
    Draft draft(*checkpoint);
    for (Tensor& tensor : draft.tensors) {
      if (tensor.name != name || tensor.rank != 2) continue;
      const std::size_t size = tensor.bytes.size() / tensor.num_elements();
      if (size * tensor.num_elements() != tensor.bytes.size() || (size != 2 && size != 4)) {
        return DoesNotFit("the matrix is quantised");
      }
      const std::size_t cols = tensor.shape[0], rows = tensor.shape[1];
      if (transpose) {
        const auto from = tensor.bytes;
        const auto to = draft.Own(&tensor);
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t c = 0; c < cols; ++c) {
            std::memcpy(&to[(c * rows + r) * size], &from[(r * cols + c) * size], size);
          }
        }
      }
      std::swap(tensor.shape[0], tensor.shape[1]);
      std::move(draft).Put(checkpoint);
      return {};
    }
    return DoesNotFit("there is no such matrix");
  };
}

Edit DropTensor(std::string name) {
  return [=](Checkpoint* checkpoint) -> Result<void> {
    Draft draft(*checkpoint);
    if (std::erase_if(draft.tensors, [&](const Tensor& t) { return t.name == name; }) == 0) {
      return DoesNotFit("there is no such tensor");
    }
    std::move(draft).Put(checkpoint);
    return {};
  };
}

}  // namespace bittern::doctor
