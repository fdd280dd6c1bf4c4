// SPDX-License-Identifier: Apache-2.0
// The bytes other programs write for the same weights, by their hash. The hashes are of what
//   bitnet.cpp (microsoft/BitNet 8fd3412, with the llama.cpp fork in ygqdan/BitNet-linux 6d113cd),
//   ik_llama.cpp (8337e4c) and llama.cpp (ngxson/llama.cpp 3f545be)
// made with their own quantisers and, for TL1 and TL2, bitnet.cpp's own converter functions.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "quant/ternary_codec.hpp"

namespace bittern::quant {
namespace {

struct Peer {
  const char* codec;
  std::uint64_t hash;
  const char* program;
  std::size_t rows = 64;
  TlTiling tiling = {};
};
constexpr std::size_t kCols = 2560;
constexpr float kScale = 1.218855f;  // blk.0.attn_q of BitNet b1.58 2B-4T: no binary16 holds it
constexpr Peer kPeers[] = {
    {"i2_s", 0x9fa11d68fb0e1853, "bitnet.cpp"},
    {"tq1_0", 0xfe3be18b01118d7a, "llama.cpp and bitnet.cpp"},
    {"tq2_0", 0xe17d2984feb8382e, "llama.cpp and bitnet.cpp"},
    {"q2_0", 0x1522033a3e790cd9, "llama.cpp"},
    {"iq1_bn", 0x774908885a98e48d, "ik_llama.cpp"},
    {"iq2_bn", 0x0e741b904b755d6a, "ik_llama.cpp"},
    {"iq2_bn_r4", 0xd4429fcbd7ae06ee, "ik_llama.cpp"},
    {"tl1", 0x3b28b186fb3219b7, "bitnet.cpp", 640, {160, 128, 32}},
    {"tl2", 0x6d0a3b86be2fec3e, "bitnet.cpp", 640, {160, 96, 32}},
};

/// FNV-1a, 64 bits.
std::uint64_t Hash(const std::byte* bytes, std::size_t size) {
  std::uint64_t hash = 14695981039346656037u;
  for (std::size_t i = 0; i < size; ++i) {
    hash = (hash ^ static_cast<std::uint64_t>(bytes[i])) * 1099511628211u;
  }
  return hash;
}

TEST(PeerBytes, AreWhatPackWrites) {
  for (const Peer& peer : kPeers) {
    const TernaryCodec& codec = *FindCodec(peer.codec);
    std::vector<std::uint8_t> codes(peer.rows * kCols);
    for (std::uint32_t i = 0; i < codes.size(); ++i) {
      codes[i] = static_cast<std::uint8_t>((i * 2654435761u >> 16) % 3);
    }
    const std::vector<float> scales(peer.rows * codec.ScalesPerRow(kCols), kScale);
    std::vector<std::byte> bytes(codec.bytes(peer.rows, kCols, peer.tiling));
    codec.pack({codes, scales, peer.rows, kCols, peer.tiling}, bytes.data());
    // The converter's functions return TL1 and TL2 without the tail that the writer adds.
    const bool tailless = codec.format == WeightFormat::kTL1 || codec.format == WeightFormat::kTL2;
    EXPECT_EQ(Hash(bytes.data(), bytes.size() - (tailless ? 32 : 0)), peer.hash)
        << peer.codec << " by " << peer.program;
  }
}

}  // namespace
}  // namespace bittern::quant
