// SPDX-License-Identifier: Apache-2.0
// A model file and the changes with which it is read. The file itself stays as it is: every trial
// opens it anew.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "formats/checkpoint.hpp"

namespace bittern::doctor {

/// One change to an opened file. An error says that it does not fit the file.
using Edit = std::function<Result<void>(formats::Checkpoint*)>;

/// Opens the file that is looked at; may be called many times.
using Opener = std::function<Result<formats::Checkpoint>()>;

/// The file with the edits applied in their order.
[[nodiscard]] Result<formats::Checkpoint> OpenReading(const Opener& open,
                                                      const std::vector<Edit>& edits);

/// `text`: what --override-kv takes, but a number replaces one of the key's own type (u32, f32
/// where there is none).
[[nodiscard]] Edit SetKey(std::string key, std::string type, std::string value);
[[nodiscard]] Edit RemoveKey(std::string key);

/// Exchanges two kinds of tensors, e.g. "ffn_gate.weight" and "ffn_up.weight", in every layer.
[[nodiscard]] Edit ExchangeKinds(std::string a, std::string b);
/// Exchanges two tensors by their names.
[[nodiscard]] Edit ExchangeTensors(std::string a, std::string b);

/// Which tensors an edit is about, by name; empty: all.
using Chosen = std::function<bool(const std::string& name)>;
/// Every two-bit code c of the I2_S tensors becomes map[c].
[[nodiscard]] Edit MapCodes(std::array<std::uint8_t, 4> map, Chosen chosen = {});

/// The scale of a ternary tensor with one scale (I2_S, Hugging Face's packed weights); nullopt for
/// others.
[[nodiscard]] std::optional<float> ScaleOf(const formats::Tensor& tensor);
/// Gives tensors new scales: those for which `scale` returns one. Called with the index among the
/// tensors that have a scale, and all their scales.
[[nodiscard]] Edit ChangeScales(
    std::function<std::optional<float>(std::size_t index, const std::vector<float>& scales)> scale);
/// Sets the scale of one tensor.
[[nodiscard]] Edit SetScale(std::string name, float scale);

/// Every weight w of a norm becomes change(w) (F32 only).
[[nodiscard]] Edit ChangeNorms(std::function<float(float)> change, Chosen chosen = {});

/// Another shape for a matrix: the dimensions exchanged; with `transpose` the values, too (F32, F16
/// and BF16).
[[nodiscard]] Edit TurnMatrix(std::string name, bool transpose);

/// Leaves a tensor out.
[[nodiscard]] Edit DropTensor(std::string name);

}  // namespace bittern::doctor
