// SPDX-License-Identifier: Apache-2.0
#include "bench/subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/threads/thread_pool.hpp"
#include "kernels/instruction_sets.hpp"
#include "model/weights.hpp"
#include "runtime/tune/layout_choice.hpp"
#include "runtime/tune/machine_probe.hpp"

namespace bittern::bench {
namespace {

/// "bitnet-b1.58 2.41B I2_S": architecture, size, and the format that holds most weights.
std::string ModelType(const model::Model& model) {
  std::map<quant::WeightFormat, std::uint64_t> elements;
  for (const formats::Tensor& tensor : model.checkpoint().tensors()) {
    elements[tensor.format] += tensor.num_elements();
  }
  const auto most = std::max_element(elements.begin(), elements.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  const auto count = static_cast<double>(model.num_parameters());
  const std::string size =
      count < 1e9 ? fmt::format("{:.2f}M", count / 1e6) : fmt::format("{:.2f}B", count / 1e9);
  return fmt::format("{} {} {}", model.config().architecture, size,
                     most == elements.end() ? "" : quant::InfoOf(most->first).name);
}

/// The kernel table's name of the operation that multiplies matrices of this layout.
std::string_view OperationOf(model::MatrixLayout layout) {
  switch (layout) {
    case model::MatrixLayout::kTl1:
      return "tl1";
    case model::MatrixLayout::kTl2:
      return "tl2";
    case model::MatrixLayout::kTile48:
      return "tile48";
    default:
      return "tile16";
  }
}

/// Why this layout; "asked for" where the user chose.
std::string ReasonOf(const Decisions& decisions, bool grouped) {
  const auto subject = grouped ? runtime::kGroupedLayoutSubject : runtime::kLayoutSubject;
  const auto chosen = std::ranges::find(decisions, subject, &Decision::subject);
  return chosen == decisions.end() ? "asked for" : chosen->reason;
}

}  // namespace

/// The first layer stands for all: layouts and zero skipping are chosen for the whole model.
Result<BenchSubject> DescribeSubject(const runtime::LoadedModel& loaded, model::KvType kv_type) {
  const model::Model& model = loaded.model;
  std::string isa = BITTERN_TRY(kernels::IsaInUse());
  const model::Weights& weights = model.weights();
  const model::TernaryMatrix& first = weights.layers.front().qkv_proj;
  const model::MatrixLayout layout = first.layout;
  const bool skips = weights.layers.front().skips_zeros();
  const int limit = model.config().context_length;
  const auto name_of = [&](std::string_view operation) {
    return std::string(kernels::KernelOf(*weights.kernels, operation).name);
  };
  const auto kv_bytes = [&](int position) {
    return runtime::CostOfToken(model, position, kv_type).bytes();
  };
  return BenchSubject{.model_path = model.checkpoint().path(),
                      .model_type = ModelType(model),
                      .cpu = runtime::CpuName(),
                      .isa = std::move(isa),
                      .model_bytes = model.tensor_bytes(),
                      .num_parameters = model.num_parameters(),
                      .layout = std::string(model::MatrixLayoutName(layout)),
                      .layout_reason = ReasonOf(loaded.decisions, first.grouped()),
                      .matrix_kernel = name_of(OperationOf(layout)),
                      .float_kernel = name_of("float32"),
                      .sparse_kernel = skips ? name_of("sparse") : "",
                      .screen_kernel = weights.screened_head->empty() ? "" : name_of("screen"),
                      .usable_threads = DefaultThreadCount(),
                      .cache_bytes = runtime::LastLevelCacheBytes(),
                      .context_length = limit,
                      .full_kv_bytes = kv_bytes(limit - 1) - kv_bytes(0),
                      .forced_isa = kernels::ForcedIsa()};
}

}  // namespace bittern::bench
