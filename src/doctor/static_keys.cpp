// SPDX-License-Identifier: Apache-2.0
// Most hyperparameters can be read off the shapes of the tensors. One thread.
#include <fmt/format.h>

#include <optional>

#include "base/text/display.hpp"
#include "doctor/static_checks.hpp"
#include "formats/architecture.hpp"

namespace bittern::doctor {
namespace {

using formats::Checkpoint;
using formats::Tensor;

/// A number of 0 or more under the key.
std::optional<std::uint64_t> NumberAt(const Checkpoint& file, const std::string& key) {
  const auto value = file.metadata().GetUint(key);
  return value ? *value : std::nullopt;
}

std::string TextAt(const Checkpoint& file, const std::string& key) {
  const auto value = file.metadata().GetString(key);
  return value && *value ? std::string(**value) : std::string();
}

/// The architecture whose tensors these are: the first row of the table that has these norms.
const formats::ArchitectureSpec& ArchitectureOfTensors(const Checkpoint& file, std::string* why) {
  const bool sub_norms = file.Find("blk.0.attn_sub_norm.weight") != nullptr;
  const bool head_norms = !sub_norms && file.Find("blk.0.attn_q_norm.weight") != nullptr;
  const bool post_norms = file.Find("blk.0.post_ffw_norm.weight") != nullptr;
  *why = post_norms   ? "it has post_ffw_norm tensors, as Gemma 3 models do"
         : sub_norms  ? "it has attn_sub_norm tensors, as BitNet models do"
         : head_norms ? "it has attn_q_norm tensors, as Qwen3 models do"
                      : "it has neither sub-norms nor norms of heads, as LLaMA models have not";
  for (const auto& row : formats::Architectures()) {
    if (row.sub_norms == sub_norms && row.head_norms == head_norms && row.post_norms == post_norms)
      return row;
  }
  return formats::Architectures().front();
}

/// Collects what is wrong with keys.
class KeyChecker {
 public:
  explicit KeyChecker(const Checkpoint& file) : file_(file) {}

  /// Compares the keys with the tensors, whose shapes cannot lie. The architecture goes first: the
  /// other keys have its name in front.
  std::vector<Cure> Check() {
    if (file_.Find("token_embd.weight") == nullptr ||
        file_.Find("blk.0.attn_q.weight") == nullptr) {
      return {};
    }
    CheckArchitecture();
    CheckSizes();
    CheckHeads();
    CheckOthers();
    return std::move(cures_);
  }

 private:
  void Add(const std::string& id, std::string cause, std::string evidence, std::string cure,
           Edit edit) {
    cures_.push_back(
        {{id, std::move(cause), std::move(evidence), std::move(cure), true}, {std::move(edit)}});
  }

  /// The norms that are there tell the architecture.
  void CheckArchitecture() {
    architecture_ = TextAt(file_, "general.architecture");
    std::string why;
    const formats::ArchitectureSpec& by_tensors = ArchitectureOfTensors(file_, &why);
    const formats::ArchitectureSpec* row = formats::FindArchitecture(architecture_);
    if (row != nullptr && row->sub_norms == by_tensors.sub_norms &&
        row->head_norms == by_tensors.head_norms && row->post_norms == by_tensors.post_norms) {
      return;
    }
    const std::string fits(by_tensors.name);
    Add("architecture",
        architecture_.empty()
            ? "The key general.architecture is missing."
            : fmt::format("The file calls its architecture {}, which its tensors are not.",
                          Quoted(architecture_)),
        fmt::format("By its tensors it is {}: {}.", fits, why),
        fmt::format("set general.architecture to {}", fits),
        SetKey("general.architecture", "str", fits));
    prefix_of_keys_ = architecture_;
    architecture_ = fits;
  }

  /// A key's value as the file has it, under the name that it was given.
  std::optional<std::uint64_t> Number(const std::string& key) const {
    const std::string& prefix = prefix_of_keys_.empty() ? architecture_ : prefix_of_keys_;
    return NumberAt(file_, prefix + "." + key);
  }

  /// Adds a cure unless the key holds the number that the tensors tell.
  void Expect(const std::string& key, std::uint64_t expected, const std::string& evidence) {
    const auto found = Number(key);
    if (found == expected) return;
    const std::string name = architecture_ + "." + key;
    Add("key",
        found ? fmt::format("The key {} says {}, but the tensors say {}.", name, *found, expected)
              : fmt::format("The key {} is missing or holds no number.", name),
        evidence, fmt::format("set {} to {}", name, expected),
        SetKey(name, "int", fmt::format("{}", expected)));
  }

  /// Layers, widths and vocabulary, counted on the tensors.
  void CheckSizes() {
    const Tensor& embedding = *file_.Find("token_embd.weight");
    const Tensor& query = *file_.Find("blk.0.attn_q.weight");
    std::uint64_t layers = 0;
    while (file_.Find(fmt::format("blk.{}.attn_q.weight", layers)) != nullptr) ++layers;
    Expect("block_count", layers, fmt::format("There are tensors of layers 0 to {}.", layers - 1));
    const std::uint64_t hidden = query.shape[0];
    Expect("embedding_length", hidden, fmt::format("blk.0.attn_q.weight has {} columns.", hidden));
    if (const Tensor* gate = file_.Find("blk.0.ffn_gate.weight"); gate != nullptr) {
      Expect("feed_forward_length", gate->shape[1],
             fmt::format("blk.0.ffn_gate.weight has {} rows.", gate->shape[1]));
    }
    if (embedding.shape[0] != hidden && embedding.shape[1] == hidden) CheckTurned(hidden);
    const std::uint64_t vocab =
        embedding.shape[0] == hidden ? embedding.shape[1] : embedding.shape[0];
    if (Number("vocab_size")) {
      Expect("vocab_size", vocab, fmt::format("token_embd.weight has {} rows.", vocab));
    }
  }

  /// The embedding lies on its side; whether its values do, too, is for the probe.
  void CheckTurned(std::uint64_t hidden) {
    Add("embedding_transposed", "The embedding is transposed.",
        fmt::format("token_embd.weight has rows of {} numbers; the layers take {}.",
                    file_.Find("token_embd.weight")->shape[0], hidden),
        "transpose token_embd.weight", TurnMatrix("token_embd.weight", /*transpose=*/true));
  }

  /// The size of a head: that of its norm, else the first key whose number divides the rows of q.
  void CheckHeads() {
    const std::uint64_t q_rows = file_.Find("blk.0.attn_q.weight")->shape[1];
    const Tensor* key = file_.Find("blk.0.attn_k.weight");
    if (key == nullptr) return;
    const Tensor* norm = file_.Find("blk.0.attn_q_norm.weight");
    const auto heads = Number("attention.head_count");
    const auto said = Number("attention.key_length"), rotated = Number("rope.dimension_count");
    const std::uint64_t size = norm != nullptr                                 ? norm->shape[0]
                               : said && *said && q_rows % *said == 0          ? *said
                               : rotated && *rotated && q_rows % *rotated == 0 ? *rotated
                               : heads && *heads != 0 && q_rows % *heads == 0  ? q_rows / *heads
                                                                               : 0;
    if (size == 0) return;
    const std::string evidence =
        fmt::format("blk.0.attn_q.weight has {} rows and blk.0.attn_k.weight {}, in heads of {}.",
                    q_rows, key->shape[1], size);
    Expect("attention.head_count", q_rows / size, evidence);
    if (key->shape[1] % size == 0 &&
        (Number("attention.head_count_kv") || key->shape[1] != q_rows)) {
      Expect("attention.head_count_kv", key->shape[1] / size, evidence);
    }
    for (const char* name : {"attention.key_length", "attention.value_length"}) {
      if (Number(name)) Expect(name, size, evidence);
    }
    const formats::ArchitectureSpec* row = formats::FindArchitecture(architecture_);
    const bool parts = row != nullptr && row->rotates_parts();
    if (rotated && !parts) Expect("rope.dimension_count", size, evidence);
  }

  /// Keys that no tensor tells: missing and impossible values are found.
  void CheckOthers() {
    constexpr double kUsualEps = 1e-5;
    const std::string& prefix = prefix_of_keys_.empty() ? architecture_ : prefix_of_keys_;
    const std::string eps_key = ".attention.layer_norm_rms_epsilon";
    const auto eps = file_.metadata().GetFloat(prefix + eps_key);
    const bool usable = eps && *eps && **eps > 0 && **eps <= 0.01;
    if (!usable) {
      Add("rms_epsilon",
          fmt::format("The key {}{} is {}.", architecture_, eps_key,
                      eps && *eps ? fmt::format("{}, which no model has", **eps) : "missing"),
          "Models have 1e-05 or 1e-06.", "set it to 1e-05",
          SetKey(architecture_ + eps_key, "float", fmt::format("{}", kUsualEps)));
    }
    const auto context = Number("context_length");
    if (!context || *context == 0) {
      Add("key", fmt::format("The key {}.context_length is missing.", architecture_),
          "It says how many tokens the model was made for.", "set it to 2048",
          SetKey(architecture_ + ".context_length", "int", "2048"));
    }
  }

  const Checkpoint& file_;
  std::string architecture_, prefix_of_keys_;
  std::vector<Cure> cures_;
};

}  // namespace

std::vector<Cure> CheckKeys(const Checkpoint& checkpoint) { return KeyChecker(checkpoint).Check(); }

}  // namespace bittern::doctor
