// SPDX-License-Identifier: Apache-2.0
// The forward pass on a network of random weights, against a second implementation in double
// that knows nothing of tiles, panels, caches or threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/matrix_layout.hpp"
#include "model/model.hpp"
#include "model/one_sequence_for_test.hpp"
#include "model/small_model_for_test.hpp"
#include "quant/blocks/dequantize.hpp"
#include "quant/ternary_scales.hpp"

namespace bittern::model {
namespace {

using Row = std::vector<double>;

/// BitNet b1.58 as in the paper, LLaMA and Qwen3 as in theirs, token by token over whole
/// sequences.
class Textbook {
 public:
  Textbook(const SmallModel& model, bool silu)
      : model_(model),
        silu_(silu),
        sub_norms_(model.architecture.starts_with("bitnet")),
        scaled_(model.architecture == "minicpm"),
        neighbours_(model.architecture == "llama" || scaled_),
        windows_(model.architecture == "maple"),
        experts_(windows_ || model.architecture == "qwen3moe"),
        hunyuan_(model.architecture == "hunyuan-dense"),
        head_norms_(model.architecture == "qwen3" || experts_ || hunyuan_),
        groups_(head_norms_ || scaled_) {
    faults.rotates_first = hunyuan_;
  }

  /// Ways to be wrong, for tests that have to see the difference.
  struct Faults {
    int bits = 0;                 ///< of activations of groups; 0: as many as by default
    bool rotates_first = false;   ///< RoPE before the norms of heads; right in hunyuan-dense
    bool long_factors = false;    ///< of a rotation that has two lists of them
    bool rotates_all = false;     ///< the layers without a window, too
    std::size_t window = 9;       ///< another window than the file says
    bool last_of_equals = false;  ///< of experts with equal scores
    bool no_sum = false;          ///< weights of experts whose sum is not 1
    bool clamps_both = false, clamps_none = false;
  };
  Faults faults = {};

  /// Logits of the last token.
  Row Logits(const std::vector<std::int32_t>& tokens) const {
    std::vector<Row> hidden;
    for (std::int32_t token : tokens) {
      hidden.push_back(FloatRow("token_embd.weight", token, kDim));
      for (double& x : hidden.back()) x *= ScaleOf("embedding_scale");
    }
    for (std::size_t layer = 0; layer < 2; ++layer) {
      Layer("blk." + std::to_string(layer) + ".", layer, &hidden);
    }
    const Row last = Norm(hidden.back(), "output_norm.weight");
    Row logits(SmallModel::kVocab, 0.0);
    for (std::size_t v = 0; v < logits.size(); ++v) {
      const Row row = FloatRow("token_embd.weight", static_cast<std::int32_t>(v), kDim);
      for (std::size_t i = 0; i < kDim; ++i) logits[v] += row[i] * last[i];
      logits[v] /= ScaleOf("logit_scale");
    }
    return logits;
  }

 private:
  static constexpr std::size_t kDim = SmallModel::kHidden, kHeadDim = 128, kHeads = 2;

  double ScaleOf(const std::string& key) const {
    return scaled_ ? static_cast<double>(model_.float_keys.at(key)) : 1;
  }

  Row FloatRow(const std::string& name, std::int32_t row, std::size_t n) const {
    std::vector<float> values(n);
    std::memcpy(values.data(), &model_.tensors.at(name).data[static_cast<std::size_t>(row) * n * 4],
                n * 4);
    return Row(values.begin(), values.end());
  }

  Row Norm(const Row& x, const std::string& name) const {
    double squares = 0;
    for (double v : x) squares += v * v;
    const double rms = std::sqrt(squares / static_cast<double>(x.size()) + 1e-5);
    Row out = FloatRow(name, 0, x.size());
    for (std::size_t i = 0; i < x.size(); ++i) out[i] *= x[i] / rms;
    return out;
  }

  /// x as so many bits hold it, over each `group` of inputs.
  Row Quantized(const Row& x, std::size_t group) const {
    const int usual = groups_ ? 10 : 8;
    const int bits = faults.bits == 0 ? usual : faults.bits;
    const double most = bits == 16 ? 32512 : bits == 10 ? 511 : 127;
    Row out(x.size());
    for (std::size_t first = 0; first < x.size(); first += group) {
      double largest = 1e-5;
      for (std::size_t i = first; i < first + group; ++i) {
        largest = std::fmax(largest, std::fabs(x[i]));
      }
      const double s = most / largest;
      for (std::size_t i = first; i < first + group; ++i) out[i] = std::nearbyint(x[i] * s) / s;
    }
    return out;
  }

  /// expert: whose rows of the tensor.
  Row Linear(const Row& x, const std::string& name, std::size_t expert = 0) const {
    const auto& tensor = model_.tensors.at(name);
    const std::size_t rows = SmallModel::RowsOf(tensor), cols = tensor.shape[0];
    std::vector<std::uint8_t> codes(rows * cols);
    const auto scales = quant::UnpackTernary(*quant::DefaultCodec(tensor.format),
                                             {tensor.data, rows, cols, {}}, codes)
                            .value();
    const Row q = Quantized(x, groups_ ? 64 : cols);
    Row out(tensor.shape[1], 0.0);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t r = expert * out.size() + i;
      for (std::size_t c = 0; c < cols; ++c) {
        const float scale = scales.values[r * scales.per_row() + c / scales.group_cols];
        out[i] += (codes[r * cols + c] - 1) * q[c] * static_cast<double>(scale);
      }
    }
    return out;
  }

  /// The norm of every head, where the network has one.
  void NormHeads(const std::string& name, Row* x) const {
    if (!head_norms_) return;
    for (std::size_t head = 0; head < x->size(); head += kHeadDim) {
      const auto at = x->begin() + static_cast<std::ptrdiff_t>(head);
      const Row normed = Norm(Row(at, at + kHeadDim), name);
      std::copy(normed.begin(), normed.end(), at);
    }
  }

  Row SubNorm(const Row& x, const std::string& name) const {
    return sub_norms_ ? Norm(x, name) : x;
  }

  /// The divisors of a rotation that has some.
  Row FactorsOfRope() const {
    const std::string list = faults.long_factors ? "long" : "short";
    const std::string name = "rope_factors_" + list + ".weight";
    return model_.tensors.contains(name) ? FloatRow(name, 0, kHeadDim / 2) : Row(kHeadDim / 2, 1);
  }

  void Rope(Row* x, std::size_t position) const {
    const Row factors = FactorsOfRope();
    for (std::size_t head = 0; head < x->size(); head += kHeadDim) {
      const std::size_t rotated = windows_ ? 64 : kHeadDim;
      for (std::size_t i = 0; i < rotated / 2; ++i) {
        const double angle =
            static_cast<double>(position) / factors[i] *
            std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(rotated));
        double& a = (*x)[head + (neighbours_ ? 2 * i : i)];
        double& b = (*x)[head + (neighbours_ ? 2 * i + 1 : i + rotated / 2)];
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = b * std::cos(angle) + a * std::sin(angle);
        a = turned;
      }
    }
  }

  /// `first`: of the positions that are seen.
  Row Attention(const std::vector<Row>& keys, const std::vector<Row>& values, const Row& q,
                std::size_t first) const {
    Row out(kDim, 0.0);
    for (std::size_t h = 0; h < kHeads; ++h) {
      Row p(keys.size());
      double total = 0;
      for (std::size_t t = first; t < keys.size(); ++t) {
        double dot = 0;
        for (std::size_t d = 0; d < kHeadDim; ++d) dot += q[h * kHeadDim + d] * keys[t][d];
        total += p[t] = std::exp(dot / std::sqrt(double{kHeadDim}));
      }
      for (std::size_t t = first; t < keys.size(); ++t) {
        for (std::size_t d = 0; d < kHeadDim; ++d) {
          out[h * kHeadDim + d] += p[t] / total * values[t][d];
        }
      }
    }
    return out;
  }

  void Layer(const std::string& prefix, std::size_t layer, std::vector<Row>* hidden) const {
    std::vector<Row> keys, values;
    const bool windowed = windows_ && layer == 0;
    for (std::size_t t = 0; t < hidden->size(); ++t) {
      Row& x = (*hidden)[t];
      const Row n = Norm(x, prefix + "attn_norm.weight");
      Row q = Linear(n, prefix + "attn_q.weight"), k = Linear(n, prefix + "attn_k.weight");
      const bool rotates = !windows_ || windowed || faults.rotates_all;
      const auto rotate = [&] {
        if (rotates) Rope(&q, t);
        if (rotates) Rope(&k, t);
      };
      if (faults.rotates_first) rotate();
      NormHeads(prefix + "attn_q_norm.weight", &q);
      NormHeads(prefix + "attn_k_norm.weight", &k);
      if (!faults.rotates_first) rotate();
      keys.push_back(k);
      values.push_back(Linear(n, prefix + "attn_v.weight"));
      const std::size_t first = windowed && t >= faults.window ? t + 1 - faults.window : 0;
      Add(Linear(SubNorm(Attention(keys, values, q, first), prefix + "attn_sub_norm.weight"),
                 prefix + "attn_output.weight"),
          &x);
      const Row m = Norm(x, prefix + "ffn_norm.weight");
      if (experts_) {
        Add(Experts(m, prefix, layer), &x);
        continue;
      }
      Row f = Linear(m, prefix + "ffn_gate.weight");
      const Row up = Linear(m, prefix + "ffn_up.weight");
      for (std::size_t i = 0; i < f.size(); ++i) {
        f[i] = up[i] * (silu_ ? f[i] / (1 + std::exp(-f[i])) : std::pow(std::fmax(f[i], 0), 2));
      }
      Add(Linear(SubNorm(f, prefix + "ffn_sub_norm.weight"), prefix + "ffn_down.weight"), &x);
    }
  }

  /// The mixture of experts of a normed input.
  Row Experts(const Row& m, const std::string& prefix, std::size_t layer) const {
    Row p(SmallModel::kExperts, 0.0);
    std::vector<std::size_t> order;
    for (std::size_t e = 0; e < p.size(); ++e) {
      const Row row = FloatRow(prefix + "ffn_gate_inp.weight", static_cast<std::int32_t>(e), kDim);
      for (std::size_t i = 0; i < kDim; ++i) p[e] += row[i] * m[i];
      order.push_back(e);
    }
    if (faults.last_of_equals) std::ranges::reverse(order);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return p[a] > p[b]; });
    order.resize(SmallModel::kExpertsUsed);
    double total = 0, chosen = 0;
    for (double& value : p) total += value = std::exp(value);
    for (const std::size_t e : order) chosen += p[e] / total;
    if (faults.no_sum) chosen = 1;
    Row out(kDim, 0.0);
    for (const std::size_t e : order) {
      Row f = Linear(m, prefix + "ffn_gate_exps.weight", e);
      const Row up = Linear(m, prefix + "ffn_up_exps.weight", e);
      for (std::size_t i = 0; i < f.size(); ++i) {
        f[i] = Gated(f[i], up[i], model_.clamps.empty() ? INFINITY : model_.clamps[layer]);
      }
      const Row y = Linear(f, prefix + "ffn_down_exps.weight", e);
      for (std::size_t i = 0; i < kDim; ++i) out[i] += p[e] / total / chosen * y[i];
    }
    return out;
  }

  double Gated(double gate, double up, double clamp) const {
    if (!faults.clamps_none) {
      gate = std::fmin(gate, clamp);
      up = std::fmin(std::fmax(up, -clamp), clamp);
    }
    if (faults.clamps_both) gate = std::fmax(gate, -clamp);
    return gate / (1 + std::exp(-gate)) * up;
  }

  void Add(const Row& y, Row* x) const {
    for (std::size_t i = 0; i < x->size(); ++i) (*x)[i] += y[i] * ScaleOf("residual_scale");
  }

  const SmallModel& model_;
  bool silu_, sub_norms_, scaled_, neighbours_, windows_, experts_, hunyuan_, head_norms_, groups_;
};

/// Logits of the last of `tokens`, in one batch.
std::vector<float> LastLogits(const SmallModel& small, const std::vector<std::int32_t>& tokens,
                              const LoadOptions& options) {
  const auto path = small.Write();
  auto pool = ThreadPool::Create(2).value();
  Decisions decisions;
  auto model =
      Model::Load(formats::Checkpoint::Open(path).value(), pool, &decisions, options).value();
  std::filesystem::remove(path);
  const int most = std::max(64, static_cast<int>(tokens.size()));
  OneSequence cache(model.config(), most, KvType::kF32);
  auto state = ForwardState::Create(model, most, most, 2).value();
  std::vector<float> logits(SmallModel::kVocab);
  Forward(model, tokens, cache, state, pool, LogitsRows::kLast, logits);
  return logits;
}

std::vector<float> LastLogits(const SmallModel& small, const std::vector<std::int32_t>& tokens,
                              MatrixLayout layout = MatrixLayout::kTile16) {
  return LastLogits(small, tokens, LoadOptions{.layout = layout});
}

double Cosine(const std::vector<float>& a, const Row& b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    ab += static_cast<double>(a[i]) * b[i];
    aa += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    bb += b[i] * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

double LargestDifference(const std::vector<float>& a, const Row& b) {
  double largest = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    largest = std::fmax(largest, std::fabs(static_cast<double>(a[i]) - b[i]));
  }
  return largest;
}

const std::vector<std::int32_t> kTokens = {17, 3, 299, 0, 42, 42, 7, 130, 5, 88, 1, 250};

TEST(Forward, EqualsTheTextbookWithSquaredRelu) {
  const SmallModel small;
  EXPECT_GT(Cosine(LastLogits(small, kTokens), Textbook(small, false).Logits(kTokens)), 0.99999);
}

TEST(Forward, EqualsTheTextbookWithSilu) {
  SmallModel small;
  small.texts["bitnet-b1.58.hidden_activation"] = "silu";
  const auto logits = LastLogits(small, kTokens);
  EXPECT_GT(Cosine(logits, Textbook(small, true).Logits(kTokens)), 0.99999);
  EXPECT_LT(Cosine(logits, Textbook(small, false).Logits(kTokens)), 0.999);  // it can fail
}

TEST(Forward, SeparateHeadIsUsedWhereThereIsOne) {
  SmallModel small;
  small.tensors["output.weight"] = small.tensors["token_embd.weight"];
  EXPECT_EQ(LastLogits(small, kTokens), LastLogits(SmallModel(), kTokens));
  small.AddFloats("output.weight", {SmallModel::kHidden, SmallModel::kVocab}, 0.05f);
  EXPECT_NE(LastLogits(small, kTokens), LastLogits(SmallModel(), kTokens));
}

TEST(Forward, EmbeddingsOfEveryFormatEqualTheirValuesAsFloats) {
  using quant::WeightFormat;
  for (const auto format :
       {WeightFormat::kF16, WeightFormat::kBF16, WeightFormat::kQ8_0, WeightFormat::kQ6_K,
        WeightFormat::kQ4_0, WeightFormat::kQ4_1, WeightFormat::kQ5_0, WeightFormat::kQ5_1,
        WeightFormat::kQ4_K, WeightFormat::kQ5_K, WeightFormat::kIQ4_NL}) {
    const auto& info = quant::InfoOf(format);
    constexpr std::size_t kCount = SmallModel::kHidden * SmallModel::kVocab;
    SmallModel packed, plain;
    auto& tensor = packed.tensors.at("token_embd.weight");
    tensor.format = format;
    tensor.data.resize(kCount / info.block_elements * info.block_bytes);
    std::mt19937 rng(5);
    for (auto& byte : tensor.data) byte = static_cast<std::byte>(rng());
    // Any bytes are numbers of these formats; keep the half-precision fields finite and small.
    const std::size_t unit = info.block_elements == 1 ? 2 : info.block_bytes;
    const std::size_t half = format == WeightFormat::kQ6_K ? unit - 2 : 0;
    for (std::size_t i = 0; i < tensor.data.size(); i += unit) {
      auto& high = tensor.data[i + half + 1];
      if (format == WeightFormat::kQ4_1 || format == WeightFormat::kQ5_1 ||
          format == WeightFormat::kQ4_K || format == WeightFormat::kQ5_K) {
        auto& offset = tensor.data[i + 3];  // a second half
        offset = (offset & std::byte{0x83}) | std::byte{0x20};
      }
      high = format == WeightFormat::kBF16 ? (high & std::byte{0x80}) | std::byte{0x3c}
                                           : (high & std::byte{0x83}) | std::byte{0x20};
    }
    std::vector<float> values(kCount);
    const std::size_t row_bytes = tensor.data.size() / SmallModel::kVocab;
    for (std::size_t row = 0; row < SmallModel::kVocab; ++row) {
      quant::DequantizeRowFor(format)(tensor.data.data() + row * row_bytes, SmallModel::kHidden,
                                      values.data() + row * SmallModel::kHidden);
    }
    std::memcpy(plain.tensors.at("token_embd.weight").data.data(), values.data(), kCount * 4);
    EXPECT_EQ(LastLogits(packed, kTokens), LastLogits(plain, kTokens)) << info.name;
  }
}

TEST(Forward, EveryLayoutOfTheSameWeightsGivesTheSameBits) {
  const auto expected = LastLogits(SmallModel(), kTokens);
  for (const quant::TernaryCodec& codec : quant::TernaryCodecs()) {
    if (codec.check_codes != nullptr || codec.format >= quant::WeightFormat::kHfPacked) {
      continue;  // holds no such codes; is never in a GGUF file
    }
    SmallModel small;
    small.Recode(codec);
    EXPECT_EQ(LastLogits(small, kTokens), expected) << codec.name;
  }
}

TEST(Forward, OtherLayoutsGiveTheSameBits) {
  SmallModel rows;  // a scale for every row
  rows.Recode(quant::CodecOf(quant::TernaryLayout::kIq2Bn),
              [](std::size_t r, std::size_t) { return 0.0625f * static_cast<float>(1 + r % 3); });
  for (const auto layout : {MatrixLayout::kTile48, MatrixLayout::kTl1, MatrixLayout::kTl2}) {
    for (const auto& tokens : {kTokens, std::vector<std::int32_t>{17}}) {
      EXPECT_EQ(LastLogits(SmallModel(), tokens, layout), LastLogits(SmallModel(), tokens));
      EXPECT_EQ(LastLogits(rows, tokens, layout), LastLogits(rows, tokens));
    }
  }
}

TEST(Forward, TablesAcrossTokensGiveTheSameBits) {
  std::vector<std::int32_t> tokens;
  for (int count = 1; count <= 70; ++count) {
    tokens.push_back(count * 37 % SmallModel::kVocab);
    if (count > 40 && count % 8 > 1) continue;
    for (const auto layout : {MatrixLayout::kTile16, MatrixLayout::kTile48}) {
      const auto logits = [&](BatchKernel kernel) {
        return LastLogits(SmallModel(), tokens,
                          LoadOptions{.layout = layout, .batch_kernel = kernel});
      };
      ASSERT_EQ(logits(BatchKernel::kVlut), logits(BatchKernel::kTile16)) << count << " tokens";
    }
  }
}

float SomeScale(std::size_t row, std::size_t group) {
  return 0.0625f * static_cast<float>(1 + (row * 7 + group * 3) % 5);
}

TEST(Forward, ScalesOfRowsAndGroupsEqualTheTextbook) {
  for (const auto layout : {quant::TernaryLayout::kIq2Bn, quant::TernaryLayout::kQ2_0,
                            quant::TernaryLayout::kPq2_0, quant::TernaryLayout::kTq2_0}) {
    SmallModel small;
    small.Recode(quant::CodecOf(layout), SomeScale);
    const auto logits = LastLogits(small, kTokens);
    EXPECT_GT(Cosine(logits, Textbook(small, false).Logits(kTokens)), 0.99999)
        << quant::CodecOf(layout).name;
    EXPECT_LT(Cosine(logits, Textbook(SmallModel(), false).Logits(kTokens)), 0.999);
  }
}

TEST(Forward, LlamaRotatesNeighboursAndHasNoSubNorms) {
  const SmallModel small("llama");
  const auto logits = LastLogits(small, kTokens);
  EXPECT_GT(Cosine(logits, Textbook(small, true).Logits(kTokens)), 0.99999);
  SmallModel halves("llama");  // as from a Hugging Face folder
  halves.texts["bittern.rope_pairing"] = "neox";
  EXPECT_LT(Cosine(LastLogits(halves, kTokens), Textbook(small, true).Logits(kTokens)), 0.999);
}

TEST(Forward, Qwen3NormsHeadsAndQuantisesGroups) {
  for (const auto layout : {quant::TernaryLayout::kQ2_0, quant::TernaryLayout::kPq2_0}) {
    SmallModel small("qwen3");
    small.Recode(quant::CodecOf(layout), SomeScale);
    EXPECT_GT(Cosine(LastLogits(small, kTokens), Textbook(small, true).Logits(kTokens)), 0.99999);
  }
  const SmallModel whole("qwen3");
  EXPECT_GT(Cosine(LastLogits(whole, kTokens), Textbook(whole, true).Logits(kTokens)), 0.99999);
}

TEST(Forward, ActivationsOfGroupsHaveAsManyBitsAsAsked) {
  for (const char* architecture : {"qwen3", "maple", "qwen3moe"}) {
    const SmallModel small(architecture);
    for (const auto& [asked, bits] : {std::pair(Activations::kAuto, 10),
                                      {Activations::kInt8, 8},
                                      {Activations::kInt10, 10},
                                      {Activations::kInt16, 16}}) {
      const auto logits = LastLogits(small, kTokens, LoadOptions{.activations = asked});
      double own = 0, least = 1;  // a value between two integers may go the other way
      for (const int of : {8, 10, 16}) {
        Textbook textbook(small, true);
        textbook.faults.bits = of;
        const double difference = LargestDifference(logits, textbook.Logits(kTokens));
        (of == bits ? own : least) = of == bits ? difference : std::min(least, difference);
      }
      EXPECT_LT(own, bits == 10 ? 6e-3 : 1e-3) << architecture << " " << bits << " bits";
      EXPECT_GT(least, std::max(9e-3, 2 * own)) << architecture << " " << bits << " bits";
    }
  }
}

TEST(Forward, MoreBitsAreRefusedWhereTrainingHadEight) {
  const SmallModel small;
  const auto path = small.Write();
  auto pool = ThreadPool::Create(1).value();
  Decisions decisions;
  const auto model = Model::Load(formats::Checkpoint::Open(path).value(), pool, &decisions,
                                 {.activations = Activations::kInt16});
  std::filesystem::remove(path);
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(model.error().message,
              testing::HasSubstr("activations=int16: this model was trained"));
}

TEST(Forward, HunyuanRotatesBeforeItNormsHeads) {
  SmallModel small("hunyuan-dense");
  small.Recode(quant::CodecOf(quant::TernaryLayout::kTq2_0), SomeScale);
  const auto logits = LastLogits(small, kTokens);
  Textbook textbook(small, true);
  EXPECT_GT(Cosine(logits, textbook.Logits(kTokens)), 0.99999);
  textbook.faults.rotates_first = false;
  EXPECT_LT(Cosine(logits, textbook.Logits(kTokens)), 0.9995);
}

TEST(Forward, MiniCpmScalesItsStream) {
  SmallModel small("minicpm");
  small.Recode(quant::CodecOf(quant::TernaryLayout::kTq2_0), SomeScale);
  const auto logits = LastLogits(small, kTokens);
  const Row right = Textbook(small, true).Logits(kTokens);
  EXPECT_GT(Cosine(logits, right), 0.99999);
  EXPECT_LT(LargestDifference(logits, right), 0.02);
  for (const char* key : {"embedding_scale", "residual_scale", "logit_scale"}) {
    SmallModel wrong = small;
    wrong.float_keys[key] = 1;
    // Not the cosine: the divisor of logits leaves it as it is, and moves every probability.
    EXPECT_GT(LargestDifference(logits, Textbook(wrong, true).Logits(kTokens)), 0.05) << key;
  }
}

TEST(Forward, LongRopeTakesTheFactorsOfTheContext) {
  SmallModel small("minicpm");
  small.AddLongRope();
  for (const bool is_long : {false, true}) {
    small.keys["rope.scaling.original_context_length"] = is_long ? 63 : 64;
    small.float_keys["rope.scaling.attn_factor"] = 1;
    const auto logits = LastLogits(small, kTokens);
    Textbook textbook(small, true);
    textbook.faults.long_factors = is_long;
    EXPECT_GT(Cosine(logits, textbook.Logits(kTokens)), 0.99999) << is_long;
    textbook.faults.long_factors = !is_long;
    EXPECT_LT(Cosine(logits, textbook.Logits(kTokens)), 0.9999) << is_long;
  }
}

TEST(Forward, GroupedBatchesEqualSingleTokens) {
  SmallModel small("qwen3");
  small.Recode(quant::CodecOf(quant::TernaryLayout::kQ2_0), SomeScale);
  const auto path = small.Write();
  auto pool = ThreadPool::Create(2).value();
  Decisions decisions;
  auto model = Model::Load(formats::Checkpoint::Open(path).value(), pool, &decisions).value();
  std::filesystem::remove(path);
  OneSequence cache(model.config(), 64, KvType::kF32);
  auto state = ForwardState::Create(model, 64, 64, 2).value();
  std::vector<float> logits(SmallModel::kVocab);
  for (const std::int32_t token : kTokens) {
    Forward(model, std::span(&token, 1), cache, state, pool, LogitsRows::kLast, logits);
  }
  EXPECT_EQ(logits, LastLogits(small, kTokens));
}

TEST(Forward, MapleChoosesExpertsAndSeesWindows) {
  for (const auto layout : {quant::TernaryLayout::kI2sX86, quant::TernaryLayout::kQ2_0}) {
    SmallModel small("maple");
    small.Recode(quant::CodecOf(layout), SomeScale);
    const auto logits = LastLogits(small, kTokens);
    EXPECT_GT(Cosine(logits, Textbook(small, true).Logits(kTokens)), 0.99999);
    using Faults = Textbook::Faults;
    for (const Faults& faults : {Faults{.rotates_first = true}, Faults{.rotates_all = true},
                                 Faults{.window = 8}, Faults{.window = 10}, Faults{.no_sum = true},
                                 Faults{.clamps_both = true}, Faults{.clamps_none = true}}) {
      Textbook wrong(small, true);
      wrong.faults = faults;
      EXPECT_LT(Cosine(logits, wrong.Logits(kTokens)), 0.9999);
    }
  }
}

TEST(Forward, Qwen3HasExpertsWithoutWindowsAndClamps) {
  SmallModel small("qwen3moe");
  const auto logits = LastLogits(small, kTokens);
  Textbook wrong(small, true);
  EXPECT_GT(Cosine(logits, wrong.Logits(kTokens)), 0.99999);
  wrong.faults.no_sum = true;
  EXPECT_LT(Cosine(logits, wrong.Logits(kTokens)), 0.9999);
  small.clamps = {0.5f, 0.5f};
  EXPECT_NE(logits, LastLogits(small, kTokens));
}

TEST(Forward, OfExpertsWithEqualScoresTheFirstIsTaken) {
  SmallModel small("maple");  // all experts have one score
  small.AddFloats("blk.0.ffn_gate_inp.weight", {SmallModel::kHidden, SmallModel::kExperts}, 0);
  const auto logits = LastLogits(small, kTokens);
  Textbook textbook(small, true);
  EXPECT_GT(Cosine(logits, textbook.Logits(kTokens)), 0.99999);
  textbook.faults.last_of_equals = true;
  EXPECT_LT(Cosine(logits, textbook.Logits(kTokens)), 0.999);
}

TEST(Forward, AFileWithoutClampsHasThoseOfMaple) {
  SmallModel silent("maple"), said("maple");
  silent.clamps = {};
  said.clamps = {7, 7};
  EXPECT_EQ(LastLogits(silent, kTokens), LastLogits(said, kTokens));
  EXPECT_NE(LastLogits(said, kTokens), LastLogits(SmallModel("maple"), kTokens));
}

TEST(Forward, DoublingOneScaleChangesOnlyWhatItShould) {
  // v, gate and up are followed by a norm: their scale cancels up to eps.
  SmallModel small;
  small.SetScale("blk.0.ffn_up.weight", 0.25f);
  const Row same = Textbook(SmallModel(), false).Logits(kTokens);
  EXPECT_GT(Cosine(LastLogits(small, kTokens), same), 0.9999);
  SmallModel other;
  other.SetScale("blk.0.ffn_down.weight", 0.5f);
  EXPECT_LT(Cosine(LastLogits(other, kTokens), same), 0.999);
}

}  // namespace
}  // namespace bittern::model
