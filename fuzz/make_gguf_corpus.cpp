// SPDX-License-Identifier: Apache-2.0
// Writes the seeds of corpus/gguf: small files that together use every feature of the reader,
// among them a model with a vocabulary, so that the fuzzer need not invent the structure.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "formats/gguf/gguf_builder_for_test.hpp"

namespace {

using bittern::formats::GgufBuilder;
using bittern::quant::WeightFormat;

bool Write(const std::string& folder, const char* name, GgufBuilder builder) {
  const auto bytes = builder.Build();
  const std::string path = folder + "/" + name + ".gguf";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  const bool ok = file != nullptr &&
                  std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() &&
                  std::fclose(file) == 0;
  if (!ok) std::fprintf(stderr, "cannot write %s\n", path.c_str());
  return ok;
}

GgufBuilder EveryValueType() {
  return GgufBuilder()
      .Add("u8", std::uint8_t{1})
      .Add("i8", std::int8_t{-1})
      .Add("u16", std::uint16_t{2})
      .Add("i16", std::int16_t{-2})
      .Add("u32", std::uint32_t{3})
      .Add("i32", std::int32_t{-3})
      .Add("u64", std::uint64_t{4})
      .Add("i64", std::int64_t{-4})
      .Add("f32", 0.5f)
      .Add("f64", 0.25)
      .Add("bool", true)
      .Add("str", "text")
      .AddArray("u8s", std::vector<std::uint8_t>{1, 2, 3})
      .AddArray("u32s", std::vector<std::uint32_t>{1, 0x80000000u})
      .AddArray("f64s", std::vector<double>{1, 2})
      .AddArray("none", std::vector<float>{})
      .AddStrings("strs", {"a", "", "bc"});
}

GgufBuilder EveryFormat(std::uint32_t version, std::uint32_t alignment) {
  return GgufBuilder(version)
      .Add("general.alignment", alignment)
      .PadTo(alignment)
      .AddTensor("f32", WeightFormat::kF32, {})
      .AddTensor("f16", WeightFormat::kF16, {3})
      .AddTensor("bf16", WeightFormat::kBF16, {3, 2})
      .AddTensor("q4_0", WeightFormat::kQ4_0, {32, 1, 2})
      .AddTensor("q8_0", WeightFormat::kQ8_0, {32, 1, 1, 2})
      .AddTensor("q6_k", WeightFormat::kQ6_K, {256})
      .AddTensor("i2_s", WeightFormat::kI2_S, {128, 2});
}

/// The official 2B-4T file in small: its keys, its tensor names, one layer, hidden size 128.
GgufBuilder MiniModel() {
  std::vector<std::string> tokens;
  for (char c = '!'; c <= '~'; ++c) tokens.emplace_back(1, c);
  const std::vector<std::string> merges = {"t h", "th e", "i n", "a n"};
  for (const char* merged : {"th", "the", "in", "an", "<|begin_of_text|>", "<|eot_id|>"}) {
    tokens.emplace_back(merged);
  }
  std::vector<std::int32_t> types(tokens.size(), 1);
  types[types.size() - 1] = types[types.size() - 2] = 3;
  const auto vocab = static_cast<std::uint32_t>(tokens.size());
  GgufBuilder builder;
  builder.Add("general.architecture", "bitnet-b1.58")
      .Add("general.name", "mini")
      .Add("bitnet-b1.58.vocab_size", vocab)
      .Add("bitnet-b1.58.context_length", std::uint32_t{64})
      .Add("bitnet-b1.58.embedding_length", std::uint32_t{128})
      .Add("bitnet-b1.58.block_count", std::uint32_t{1})
      .Add("bitnet-b1.58.feed_forward_length", std::uint32_t{128})
      .Add("bitnet-b1.58.rope.dimension_count", std::uint32_t{64})
      .Add("bitnet-b1.58.attention.head_count", std::uint32_t{2})
      .Add("bitnet-b1.58.attention.head_count_kv", std::uint32_t{2})
      .Add("bitnet-b1.58.attention.layer_norm_rms_epsilon", 1e-5f)
      .Add("bitnet-b1.58.rope.freq_base", 10000.0f)
      .Add("tokenizer.ggml.model", "gpt2")
      .AddStrings("tokenizer.ggml.tokens", tokens)
      .AddArray("tokenizer.ggml.scores", std::vector<float>(tokens.size()))
      .AddArray("tokenizer.ggml.token_type", types)
      .AddStrings("tokenizer.ggml.merges", merges)
      .Add("tokenizer.ggml.bos_token_id", vocab - 2)
      .Add("tokenizer.ggml.eos_token_id", vocab - 1)
      .Add("tokenizer.ggml.add_bos_token", true)
      .AddTensor("token_embd.weight", WeightFormat::kQ4_0, {128, vocab})
      .AddTensor("output_norm.weight", WeightFormat::kF32, {128});
  for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate"}) {
    builder.AddTensor(std::string("blk.0.") + name + ".weight", WeightFormat::kI2_S, {128, 128});
  }
  return builder;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 1;
  }
  const std::string folder = argv[1];
  const bool ok =
      Write(folder, "empty", GgufBuilder()) && Write(folder, "empty_v2", GgufBuilder(2)) &&
      Write(folder, "values", EveryValueType()) && Write(folder, "formats", EveryFormat(3, 32)) &&
      Write(folder, "formats_v2_unpadded", EveryFormat(2, 1)) &&
      Write(folder, "mini_model", MiniModel()) &&
      Write(folder, "split_part",
            GgufBuilder()
                .Add("split.no", std::uint16_t{0})
                .Add("split.count", std::uint16_t{2})
                .Add("split.tensors.count", std::int32_t{1})
                .AddTensor("iq4_nl", WeightFormat::kIQ4_NL, {32})) &&
      Write(folder, "unread_type", GgufBuilder().AddTensor("t", 35, {256}, {})) &&
      Write(folder, "duplicate_key", GgufBuilder().Add("k", 1).Add("k", 2));
  return ok ? 0 : 1;
}
