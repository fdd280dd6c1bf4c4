// SPDX-License-Identifier: Apache-2.0
// Names of the ways of computing that a caller may choose, whichever way it asks. The first name of
// a table is the default. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/kv_pool.hpp"
#include "model/load_options.hpp"
#include "runtime/pooling.hpp"
#include "runtime/speculation.hpp"

namespace bittern::request {

template <class T>
struct ChoiceName {
  std::string_view name;
  T value;
};

inline constexpr ChoiceName<model::HeadMode> kHeadModes[] = {
    {"auto", model::HeadMode::kAuto},
    {"exact", model::HeadMode::kExact},
    {"screened", model::HeadMode::kScreened}};
inline constexpr ChoiceName<model::Activations> kActivations[] = {
    {"auto", model::Activations::kAuto},
    {"int8", model::Activations::kInt8},
    {"int10", model::Activations::kInt10},
    {"int16", model::Activations::kInt16}};
inline constexpr ChoiceName<model::SkipMode> kSkipModes[] = {
    {"auto", model::SkipMode::kAuto}, {"on", model::SkipMode::kOn}, {"off", model::SkipMode::kOff}};
inline constexpr ChoiceName<model::BatchKernel> kBatchKernels[] = {
    {"auto", model::BatchKernel::kAuto},
    {"tile16", model::BatchKernel::kTile16},
    {"vlut", model::BatchKernel::kVlut}};
inline constexpr ChoiceName<model::KvType> kKvTypes[] = {
    {"f16", model::KvType::kF16}, {"f32", model::KvType::kF32}, {"i8", model::KvType::kI8}};
inline constexpr ChoiceName<runtime::Speculation> kSpeculations[] = {
    {"ngram", runtime::Speculation::kNgram},
    {"off", runtime::Speculation::kOff},
    {"always", runtime::Speculation::kAlways}};

/// None: as the model's file says.
inline constexpr ChoiceName<std::optional<runtime::Pooling>> kPoolings[] = {
    {"auto", std::nullopt},
    {"last", runtime::Pooling::kLast},
    {"first", runtime::Pooling::kFirst},
    {"mean", runtime::Pooling::kMean}};

/// The row of this name; null where there is none.
template <class T, std::size_t N>
[[nodiscard]] constexpr const ChoiceName<T>* FindChoice(const ChoiceName<T> (&table)[N],
                                                        std::string_view name) {
  for (const ChoiceName<T>& row : table) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

/// The value of this name; the default for a name that is not in the table.
template <class T, std::size_t N>
[[nodiscard]] constexpr T ChoiceByName(const ChoiceName<T> (&table)[N], std::string_view name) {
  const ChoiceName<T>* row = FindChoice(table, name);
  return row == nullptr ? table[0].value : row->value;
}

/// The name of a value, which is in the table.
template <class T, std::size_t N>
[[nodiscard]] constexpr std::string_view ChoiceNameOf(const ChoiceName<T> (&table)[N], T value) {
  for (const ChoiceName<T>& row : table) {
    if (row.value == value) return row.name;
  }
  return {};
}

/// All names, in the order of the table.
template <class T, std::size_t N>
[[nodiscard]] std::vector<std::string> NamesOf(const ChoiceName<T> (&table)[N]) {
  std::vector<std::string> names;
  for (const ChoiceName<T>& row : table) names.emplace_back(row.name);
  return names;
}

}  // namespace bittern::request
