// SPDX-License-Identifier: Apache-2.0
// Tensors are hashed by tasks that threads share; the hash of the whole is over the tasks'
// hashes in a fixed order.
#include "model/load/fingerprint.hpp"

#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>

#include "base/hash.hpp"
#include "formats/convert/row_order.hpp"
#include "formats/ternary_source.hpp"
#include "model/load/tensor_binder.hpp"
#include "model/load/weight_binding.hpp"
#include "model/weights.hpp"
#include "quant/blocks/dequantize.hpp"

namespace bittern::model {
namespace {

using formats::TensorId;

using GoOn = std::function<bool()>;
constexpr std::size_t kRowsHashedAtOnce = 32;

Result<void> CheckGoOn(const GoOn& go_on) {
  if (!go_on || go_on()) return {};
  return Fail(ErrorCode::kCancelled, "the hash of the weights was given up");
}

/// A byte counts up to 255 matches, so that vectors need not widen.
std::size_t CountOf(std::uint8_t code, std::span<const std::uint8_t> codes) {
  std::size_t found = 0;
  while (!codes.empty()) {
    const auto part = codes.first(std::min<std::size_t>(codes.size(), 255));
    std::uint8_t few = 0;
    for (const std::uint8_t one : part) few = static_cast<std::uint8_t>(few + (one == code));
    found += few;
    codes = codes.subspan(part.size());
  }
  return found;
}

/// Scales as (how many weights in a row share one, which one): the grain of the file is gone.
class ScaleRuns {
 public:
  void Add(std::uint64_t weights, float scale) {
    if (weights == 0) return;
    if (count_ != 0 && scale != scale_) Flush();
    scale_ = scale;
    count_ += weights;
  }
  [[nodiscard]] std::string Hex() {
    Flush();
    return hash_.Hex();
  }

 private:
  void Flush() {
    if (count_ == 0) return;
    hash_.Add(std::as_bytes(std::span(&count_, 1)));
    hash_.Add(std::as_bytes(std::span(&scale_, 1)));
    count_ = 0;
  }
  Hash128 hash_;
  std::uint64_t count_ = 0;
  float scale_ = 0;
};

/// The rows' order in the file for every row in Hugging Face's order; empty: the same.
Result<std::vector<std::uint32_t>> OrderOf(const formats::Checkpoint& file,
                                           const formats::Tensor& tensor) {
  const auto order = BITTERN_TRY(formats::RowOrderOf(file.metadata()));
  if (order == formats::RowOrder::kHalves || !formats::HasRowOrder(tensor.name)) {
    return std::vector<std::uint32_t>{};
  }
  const std::size_t head_dim = BITTERN_TRY(formats::HeadDimOf(file.metadata()));
  return formats::RowPermutation(order, formats::RowOrder::kHalves, tensor.rows(), head_dim);
}

/// Codes and scales are hashed apart: codes as one byte a weight, scales as runs over the weights
/// that are not zero, since a zero has the same value by any scale. So files that store the same
/// numbers in blocks of another size, or rows in another order, have one hash.
Result<std::string> HashTernary(const formats::Checkpoint& file, const formats::Tensor& tensor,
                                const formats::TernarySource& source, const GoOn& go_on) {
  const auto order = BITTERN_TRY(OrderOf(file, tensor));
  const std::size_t rows = source.rows(), cols = source.cols(), group = source.group_cols();
  const std::size_t at_once = order.empty() ? kRowsHashedAtOnce : 1;
  std::vector<std::uint8_t> codes(at_once * cols);
  std::vector<float> scales(at_once * source.scales_per_row());
  Hash128 hash;
  ScaleRuns runs;
  for (std::size_t first = 0; first < rows; first += at_once) {
    const std::size_t count = std::min(at_once, rows - first);
    const std::size_t from = order.empty() ? first : order[first];
    if (first % kRowsHashedAtOnce == 0) BITTERN_TRY(CheckGoOn(go_on));
    BITTERN_TRY(source.ReadRows(from, count, codes.data(), scales.data()));
    hash.Add(std::as_bytes(std::span(codes).first(count * cols)));
    for (std::size_t r = 0; r < count; ++r) {
      const auto row = std::span(codes).subspan(r * cols, cols);
      for (std::size_t c = 0; c < cols; c += group) {
        const auto part = row.subspan(c, std::min(group, cols - c));
        runs.Add(part.size() - CountOf(1, part), scales[r * source.scales_per_row() + c / group]);
      }
    }
  }
  file.Release(tensor);
  return fmt::format("{} {} {} {}", rows, cols, hash.Hex(), runs.Hex());
}

Result<std::string> HashFloats(std::span<const float> values) {
  return fmt::format("{} {}", values.size(), HashOf(std::as_bytes(values)));
}

Result<std::string> HashDense(const DenseMatrix& matrix, const GoOn& go_on) {
  const auto dequantize = quant::DequantizeRowFor(matrix.format);
  std::vector<float> row(matrix.cols);
  Hash128 hash;
  for (std::size_t r = 0; r < matrix.rows; ++r) {
    if (r % kRowsHashedAtOnce == 0) BITTERN_TRY(CheckGoOn(go_on));
    dequantize(matrix.row(r), matrix.cols, row.data());
    hash.Add(std::as_bytes(std::span(row)));
  }
  return fmt::format("{} {} {}", matrix.rows, matrix.cols, hash.Hex());
}

/// How the weights were rotated; empty where they were not.
std::string HashRotation(const HadamardRotation& rotation) {
  if (rotation.empty()) return "";
  std::string text = fmt::format(" hadamard {} {}", rotation.block, rotation.values_by_key);
  for (const auto& [cols, weights] : rotation.widths) {
    text += fmt::format(" {} {}", cols, HashOf(std::as_bytes(std::span(weights))));
  }
  return text;
}

}  // namespace

/// Everything of a configuration that changes a logit, in one fixed order. What is new is appended
/// where it is in use, so that older models keep their hash.
std::string ConfigText(const Model& model) {
  const ModelConfig& c = model.config();
  const DeltaShape& d = c.delta;
  const std::string delta = fmt::format(" delta {} {} {} {} {}", c.attention_interval, d.key_heads,
                                        d.value_heads, d.head_dim, d.taps);
  std::string more = c.traits->delta_layers ? delta : "";
  if (c.traits->experts) {
    more += fmt::format(" experts {} {} clamps {}", c.experts.count, c.experts.used,
                        HashOf(std::as_bytes(std::span(c.experts.clamps))));
  }
  if (!c.windowed.empty()) {
    more += fmt::format(" window {} ", c.window);
    for (const bool windowed : c.windowed) more += windowed ? 'w' : 'g';
    if (c.window_theta != 0) more += fmt::format(" rope {}", c.window_theta);
  }
  if (c.activation_bits > 8) more += fmt::format(" activations {} bits", c.activation_bits);
  if (c.input_norms) more += " input_norms";
  if (c.traits->post_norms) more += " post_norms";
  if (c.traits->rotates_first) more += " rotates_first";
  if (c.traits->scaled_stream || c.traits->scaled_embedding) {
    const float scales[] = {c.scales.embedding, c.scales.residual, c.scales.logits};
    more += " scales " + HashOf(std::as_bytes(std::span(scales)));
  }
  return fmt::format(
      "{} {} {} {} {} {} {} eps {:08x} {} sub_norms {} head_norms {} groups {} rope {}{}{}{}",
      c.hidden_size, c.intermediate_size, c.num_layers, c.num_heads, c.num_kv_heads, c.head_dim,
      c.vocab_size, std::bit_cast<std::uint32_t>(c.rms_norm_eps),
      formats::ActivationName(c.activation), c.traits->sub_norms, c.traits->head_norms,
      c.grouped_activations, HashOf(std::as_bytes(std::span(model.weights().inv_freq))), more,
      c.rope_scaling.magnitude == 1 ? "" : fmt::format(" magnitude {}", c.rope_scaling.magnitude),
      HashRotation(model.weights().rotation));
}

namespace {

/// A part of the fingerprint before it is computed.
struct Task {
  std::string name;
  std::function<Result<std::string>(const GoOn&)> text;  ///< empty: as the task `same_as`
  std::size_t same_as = 0;
};

/// Every tensor is read from the file again: what loading made of it (neurons left out, rows moved)
/// depends on the instruction set and on options.
class TaskList {
 public:
  static Result<TaskList> Create(const Model& model) {
    Decisions ignored;
    const formats::Checkpoint& file = model.checkpoint();
    auto opener = BITTERN_TRY(formats::TernaryOpener::Create(file, &ignored));
    TaskList list(model, std::move(opener));
    list.Add("config", [&model](const GoOn&) { return ConfigText(model); });
    const std::size_t embedding = list.tasks_.size();
    BITTERN_TRY(list.Dense(TensorId::kTokenEmbd));
    for (int i = 0; i < model.config().num_layers; ++i) {
      for (const formats::TensorSpec& spec : formats::kNetworkTensors) {
        if (spec.of_layer() && HasTensor(model.config(), spec, i)) BITTERN_TRY(list.Add(spec, i));
      }
    }
    BITTERN_TRY(list.Norm(TensorId::kOutputNorm, 0));
    if (HeadTensor(file) == TensorId::kTokenEmbd) {
      list.tasks_.push_back({PartOf(TensorId::kOutput, 0), {}, embedding});
    } else {
      BITTERN_TRY(list.Dense(TensorId::kOutput));
    }
    return list;
  }
  [[nodiscard]] const std::vector<Task>& tasks() const { return tasks_; }

 private:
  TaskList(const Model& model, formats::TernaryOpener opener)
      : model_(model), opener_(std::move(opener)), binder_(model.checkpoint()) {}

  void Add(std::string name, std::function<Result<std::string>(const GoOn&)> text) {
    tasks_.push_back({std::move(name), std::move(text), 0});
  }

  /// "blk.3.attn_q": a part's name.
  static std::string PartOf(TensorId id, int layer) {
    const formats::TensorSpec& spec = formats::SpecOf(id);
    return spec.of_layer() ? fmt::format("blk.{}.{}", layer, spec.gguf) : std::string(spec.gguf);
  }

  Result<void> Add(const formats::TensorSpec& of_layer, int layer) {
    if (of_layer.ternary()) return Ternary(of_layer.id, layer);
    if (of_layer.kind == formats::TensorKind::kNorm) return Norm(of_layer.id, layer);
    auto values = BITTERN_TRY(BindFloats(binder_, model_.config(), of_layer.id, layer));
    Add(PartOf(of_layer.id, layer),
        [values = std::move(values)](const GoOn&) { return HashFloats(values); });
    return {};
  }

  Result<void> Norm(TensorId id, int layer) {
    auto values = BITTERN_TRY(BindNorm(binder_, model_.config(), id, layer));
    Add(PartOf(id, layer),
        [values = std::move(values)](const GoOn&) { return HashFloats(values); });
    return {};
  }

  Result<void> Dense(TensorId id) {
    auto bound = BITTERN_TRY(BindDense(binder_, id, model_.config()));
    const auto matrix = std::make_shared<const DenseMatrix>(std::move(bound));
    Add(PartOf(id, 0), [matrix](const GoOn& go_on) { return HashDense(*matrix, go_on); });
    return {};
  }

  Result<void> Ternary(TensorId id, int layer) {
    const formats::Checkpoint& file = model_.checkpoint();
    const std::string name = formats::TensorName(id, layer);
    const formats::Tensor* tensor = file.Find(name);
    if (tensor == nullptr) return Fail(ErrorCode::kInternal, name + " is gone");
    auto source = BITTERN_TRY(opener_.Open(*tensor));
    Add(PartOf(id, layer), [&file, tensor, source = std::move(source)](const GoOn& go_on) {
      return HashTernary(file, *tensor, source, go_on).map_error([&](Error error) {
        error.message = TensorPrefix(tensor->name) + error.message;
        return error;
      });
    });
    return {};
  }

  const Model& model_;
  formats::TernaryOpener opener_;
  TensorBinder binder_;
  std::vector<Task> tasks_;
};

/// A task's text; a thread of the pool must not throw.
Result<std::string> RunTask(const Task& task, const GoOn& go_on) {
  try {
    return task.text ? task.text(go_on) : std::string();
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kOutOfMemory, "not enough memory to hash " + task.name);
  }
}

/// Threads take the next task as they become free; the texts are joined in the order of tasks.
Result<Fingerprint> Compute(const Model& model, ThreadPool& pool, const GoOn& go_on) {
  const TaskList list = BITTERN_TRY(TaskList::Create(model));
  const std::vector<Task>& tasks = list.tasks();
  std::vector<std::optional<Result<std::string>>> texts(tasks.size());
  std::atomic<std::size_t> next{0};
  pool.Run([&](Team&) {
    for (std::size_t i; (i = next.fetch_add(1)) < tasks.size();) {
      texts[i] = RunTask(tasks[i], go_on);
    }
  });
  Fingerprint print;
  std::string all;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::string text = BITTERN_TRY(*texts[tasks[i].text ? i : tasks[i].same_as]);
    print.parts.push_back({tasks[i].name, HashOf(text)});
    all += fmt::format("{} {}\n", print.parts.back().name, print.parts.back().hash);
  }
  print.hash = HashOf(all);
  return print;
}

}  // namespace

Result<Fingerprint> FingerprintOf(const Model& model, ThreadPool& pool, const GoOn& go_on) {
  auto print = Compute(model, pool, go_on);
  BITTERN_TRY(model.checkpoint().CheckUnchanged());
  return print;
}

}  // namespace bittern::model
