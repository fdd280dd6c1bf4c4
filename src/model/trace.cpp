// SPDX-License-Identifier: Apache-2.0
#include "model/trace.hpp"

namespace bittern::model {
namespace {

constexpr std::string_view kNames[] = {
#define POINT(id, name) name,
#define INPUT(id, name)
#include "model/operations.def"
#undef POINT
#undef INPUT
};

}  // namespace

std::string_view TracePointName(TracePoint point) noexcept {
  return kNames[static_cast<std::size_t>(point)];
}

void Tracer::Change(const TracePlace& /*place*/, std::span<float> /*values*/) noexcept {}

}  // namespace bittern::model
