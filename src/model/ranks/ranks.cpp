// SPDX-License-Identifier: Apache-2.0
#include "model/ranks/ranks.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace bittern::model {
namespace {

std::size_t Count(const Ranks& ranks) { return static_cast<std::size_t>(ranks.size()); }

/// `mine` of every rank, by rank.
std::vector<std::size_t> SizesOfAll(Ranks& ranks, std::size_t mine) {
  std::vector<std::size_t> sizes(Count(ranks));
  const std::vector<std::size_t> bytes(Count(ranks), sizeof(std::size_t));
  ranks.GatherToAll(reinterpret_cast<const std::byte*>(&mine), bytes,
                    reinterpret_cast<std::byte*>(sizes.data()));
  return sizes;
}

}  // namespace

void TakeLargest(Ranks& ranks, std::span<float> values) {
  std::vector<float> all(values.size() * Count(ranks));
  const std::vector<std::size_t> sizes(Count(ranks), values.size_bytes());
  ranks.GatherToAll(reinterpret_cast<const std::byte*>(values.data()), sizes,
                    reinterpret_cast<std::byte*>(all.data()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    float& largest = values[i % values.size()];
    largest = std::max(largest, all[i]);
  }
}

bool HoldsOnAll(Ranks& ranks, bool mine) {
  float fails = mine ? 0 : 1;
  TakeLargest(ranks, {&fails, 1});
  return fails == 0;
}

std::vector<std::string> TextsOfAll(Ranks& ranks, const std::string& mine) {
  const std::vector<std::size_t> sizes = SizesOfAll(ranks, mine.size());
  std::string all(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), ' ');
  ranks.GatherToAll(reinterpret_cast<const std::byte*>(mine.data()), sizes,
                    reinterpret_cast<std::byte*>(all.data()));
  std::vector<std::string> texts;
  std::size_t at = 0;
  for (const std::size_t size : sizes) {
    texts.push_back(all.substr(at, size));
    at += size;
  }
  return texts;
}

std::vector<std::byte> CollectBytes(Ranks& ranks, std::span<const std::byte> mine,
                                    std::vector<std::size_t>* sizes) {
  *sizes = SizesOfAll(ranks, mine.size());
  std::vector<std::byte> all;
  if (ranks.leads()) all.resize(std::accumulate(sizes->begin(), sizes->end(), std::size_t{0}));
  ranks.GatherToFirst(mine.data(), *sizes, ranks.leads() ? all.data() : nullptr);
  return all;
}

std::vector<std::byte> BytesOfFirst(Ranks& ranks, std::span<const std::byte> mine) {
  std::size_t size = mine.size();
  ranks.Broadcast(std::as_writable_bytes(std::span(&size, 1)));
  std::vector<std::byte> bytes(size);
  if (ranks.leads()) std::ranges::copy(mine, bytes.begin());
  ranks.Broadcast(bytes);
  return bytes;
}

}  // namespace bittern::model
