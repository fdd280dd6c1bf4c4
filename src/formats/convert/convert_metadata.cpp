// SPDX-License-Identifier: Apache-2.0
// Keys are copied, then mended in turn: architecture, layout, tilings, hints, chat template.
#include "formats/convert/convert_metadata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "formats/architecture.hpp"

namespace bittern::formats {
namespace {

using quant::TernaryLayout;

/// The name of a layout in ternary.layout, the place of its scales, and general.file_type: the
/// numbers of bitnet.cpp, llama.cpp, ik_llama.cpp and PrismML. They overlap, so they do not tell
/// formats apart.
struct LayoutFacts {
  TernaryLayout layout;
  std::string_view name, scale_location;
  std::uint32_t file_type;
};
constexpr LayoutFacts kFacts[] = {
    {TernaryLayout::kI2sX86, "x86-128", "tensor tail", 40},
    {TernaryLayout::kI2sArm, "arm-64", "tensor tail", 40},
    {TernaryLayout::kI2sRow4, "row4", "tensor tail", 40},
    {TernaryLayout::kI2sSequential, "sequential", "tensor tail", 40},
    {TernaryLayout::kTl1, "tl1", "tensor tail", 38},
    {TernaryLayout::kTl2, "tl2", "tensor tail", 39},
    {TernaryLayout::kTq1_0, "tq1_0", "block", 36},
    {TernaryLayout::kTq2_0, "tq2_0", "block", 37},
    {TernaryLayout::kQ2_0, "q2_0", "block", 41},
    {TernaryLayout::kPq2_0, "pq2_0", "block", 141},
    {TernaryLayout::kPtq1_0, "ptq1_0", "block", 143},
    {TernaryLayout::kQ1_0, "q1_0", "block", 40},
    {TernaryLayout::kStq1_0, "stq1_0", "block", 42},
    {TernaryLayout::kIq1Bn, "iq1_bn", "row head", 136},
    {TernaryLayout::kIq2Bn, "iq2_bn", "row head", 137},
    {TernaryLayout::kIq2BnR4, "iq2_bn_r4", "row head", 337},
    {TernaryLayout::kF32, "f32", "weights", 0},
    {TernaryLayout::kF16, "f16", "weights", 1},
    {TernaryLayout::kBf16, "bf16", "weights", 32},
    {TernaryLayout::kHfPacked, "hf_u8", "tensor", 0},  // a folder; its keys are never written
    {TernaryLayout::kMlx2, "mlx_2bit", "tensor", 0},
};

const LayoutFacts& FactsOf(TernaryLayout layout) {
  return *std::ranges::find(kFacts, layout, &LayoutFacts::layout);
}

/// The name under which other readers take the right activation; the same where they do already.
std::string_view HonestArchitecture(std::string_view architecture, std::string_view activation) {
  const ArchitectureSpec* row = FindArchitecture(architecture);
  const ArchitectureSpec* other =
      row == nullptr ? nullptr : FindArchitecture(row->other_activation);
  const bool fits_other = other != nullptr && ActivationName(other->activation) == activation;
  return fits_other ? other->name : architecture;
}

/// Writes ternary.tl.tiling: five numbers for each shape of a TL1 or TL2 matrix (rows, columns,
/// rows of a tile, columns of a tile, rows of a group). A reader cannot cut the bytes without them.
void SetTilings(const ConvertPlan& plan, MetadataDraft* draft) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  std::vector<std::uint32_t> numbers;
  for (const PlannedTensor& tensor : plan.tensors) {
    if (tensor.kind != PlannedTensor::Kind::kTernary || tensor.target.tiling.bm_rows == 0) continue;
    const std::uint64_t rows = tensor.source->rows(), cols = tensor.source->row_elements();
    if (!seen.emplace(rows, cols).second) continue;
    const quant::TlTiling& t = tensor.target.tiling;
    for (const std::uint64_t n : {rows, cols, std::uint64_t{t.bm_rows}, std::uint64_t{t.bk_cols},
                                  std::uint64_t{t.group_rows}}) {
      numbers.push_back(static_cast<std::uint32_t>(n));
    }
  }
  if (!numbers.empty()) draft->SetUint32s("ternary.tl.tiling", numbers);
}

/// True for the sizes of BitNet b1.58 2B-4T. Files of it without a chat template are given the
/// model's.
bool HasShapeOf2B4T(const MetadataDraft& draft, std::string_view architecture) {
  const auto is = [&](std::string_view key, std::uint64_t wanted) {
    return draft.Uint(fmt::format("{}.{}", architecture, key)) == wanted;
  };
  return is("block_count", 30) && is("embedding_length", 2560) && is("feed_forward_length", 6912) &&
         is("attention.head_count", 20) && is("attention.head_count_kv", 5);
}

/// Replaces bitnet.cpp's obsolete chat template, and adds the missing one of BitNet b1.58 2B-4T.
/// Each change makes a note.
void FixChatTemplate(std::string_view architecture, MetadataDraft* draft,
                     std::vector<std::string>* notes) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  const std::string_view present = draft->Text(kKey);
  // The template that bitnet.cpp's converter wrote: "Human: ...BITNETAssistant: ", which no model
  // was tuned on.
  const bool obsolete = present.find("BITNETAssistant") != std::string_view::npos;
  if (!obsolete && !(present.empty() && HasShapeOf2B4T(*draft, architecture))) return;
  notes->push_back(obsolete ? "the chat template was bitnet.cpp's obsolete one; it is the model's "
                              "own now"
                            : "the chat template of BitNet b1.58 2B-4T was added");
  draft->SetString(kKey, std::string(BitnetChatTemplate()));
}

/// Writes down what the layers above found out. A key that is there wins over a hint.
void ApplyHints(const MetadataHints& hints, std::string_view architecture, MetadataDraft* draft) {
  const std::string activation_key = fmt::format("{}.hidden_activation", architecture);
  if (hints.hidden_activation && draft->Find(activation_key) == nullptr) {
    draft->SetString(activation_key, *hints.hidden_activation);
  }
  if (hints.pre && draft->Find("tokenizer.ggml.pre") == nullptr &&
      draft->Text("tokenizer.ggml.model") == "gpt2") {
    draft->SetString("tokenizer.ggml.pre", *hints.pre);
  }
  if (hints.eot_id && draft->Find("tokenizer.ggml.eot_token_id") == nullptr) {
    draft->SetUint32("tokenizer.ggml.eot_token_id", *hints.eot_id);
  }
}

}  // namespace

std::string_view BitnetChatTemplate() noexcept {
  return "{% for message in messages %}{{ (message['role'] | capitalize) + ': ' + "
         "(message['content'] | trim) + '<|eot_id|>' }}{% endfor %}"
         "{% if add_generation_prompt %}{{ 'Assistant: ' }}{% endif %}";
}

MetadataDraft ConvertedMetadata(const Checkpoint& source, const ConvertPlan& plan,
                                const MetadataHints& hints, std::vector<std::string>* notes) {
  MetadataDraft draft(source.metadata());
  for (const char* key :
       {"ternary.layout", "ternary.scale_location", "ternary.tl.tiling", "bittern.rope_pairing",
        "split.no", "split.count", "split.tensors.count"}) {  // what is written is one file
    draft.Remove(key);
  }
  std::string architecture(draft.Text("general.architecture"));
  ApplyHints(hints, architecture, &draft);
  const std::string_view activation = draft.Text(architecture + ".hidden_activation");
  const std::string honest(HonestArchitecture(architecture, activation));
  if (honest != architecture) {
    notes->push_back(
        fmt::format("architecture {} became {}: other engines would run {} where this "
                    "model needs {}",
                    architecture, honest, activation == "relu2" ? "SiLU" : "ReLU^2", activation));
    draft.RenamePrefix(architecture + ".", honest + ".");
    draft.SetString("general.architecture", honest);
    architecture = honest;
  }
  FixChatTemplate(architecture, &draft, notes);
  const LayoutFacts& facts = FactsOf(plan.codec->layout);
  draft.SetUint32("general.file_type", facts.file_type);
  draft.SetUint32("general.quantization_version", 2);
  draft.SetString("ternary.layout", std::string(facts.name));
  draft.SetString("ternary.scale_location", std::string(facts.scale_location));
  SetTilings(plan, &draft);
  return draft;
}

}  // namespace bittern::formats
