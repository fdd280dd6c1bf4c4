// SPDX-License-Identifier: Apache-2.0
// Every collective call is counted here. What is built of them goes by sizes first, then bytes.
#include "model/ranks/ranks.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

namespace bittern::model {
namespace {

std::size_t NumberOf(const Ranks& ranks) { return static_cast<std::size_t>(ranks.size()); }

/// `mine` of every rank, by rank.
std::vector<std::size_t> SizesOfAll(Ranks& ranks, std::size_t mine,
                                    RankStep step = RankStep::kOther) {
  std::vector<std::size_t> sizes(NumberOf(ranks));
  const std::vector<std::size_t> bytes(NumberOf(ranks), sizeof(std::size_t));
  ranks.GatherToAll(reinterpret_cast<const std::byte*>(&mine), bytes,
                    reinterpret_cast<std::byte*>(sizes.data()), step);
  return sizes;
}

}  // namespace

template <class Work>
void Ranks::Count(RankStep step, std::size_t bytes, const Work& work) noexcept {
  using std::chrono::steady_clock;
  const auto begin = steady_clock::now();
  work();
  RankTraffic& traffic = traffic_[static_cast<std::size_t>(step)];
  traffic.messages += 1;
  traffic.bytes += bytes;
  traffic.seconds += std::chrono::duration<double>(steady_clock::now() - begin).count();
}

void Ranks::GatherToAll(const std::byte* mine, std::span<const std::size_t> sizes, std::byte* all,
                        RankStep step) noexcept {
  const std::size_t bytes = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  const auto own = static_cast<std::size_t>(rank());
  Count(step, bytes - sizes[own], [&] { DoGatherToAll(mine, sizes, all); });
}

void Ranks::GatherToFirst(const std::byte* mine, std::span<const std::size_t> sizes, std::byte* all,
                          RankStep step) noexcept {
  const std::size_t bytes = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  Count(step, leads() ? bytes - sizes[0] : 0, [&] { DoGatherToFirst(mine, sizes, all); });
}

void Ranks::Broadcast(std::span<std::byte> bytes, RankStep step) noexcept {
  Count(step, bytes.size(), [&] { DoBroadcast(bytes); });
}

void TakeLargest(Ranks& ranks, std::span<float> values) {
  std::vector<float> all(values.size() * NumberOf(ranks));
  const std::vector<std::size_t> sizes(NumberOf(ranks), values.size_bytes());
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
                                    std::vector<std::size_t>* sizes, RankStep step) {
  *sizes = SizesOfAll(ranks, mine.size(), step);
  std::vector<std::byte> all;
  if (ranks.leads()) all.resize(std::accumulate(sizes->begin(), sizes->end(), std::size_t{0}));
  ranks.GatherToFirst(mine.data(), *sizes, ranks.leads() ? all.data() : nullptr, step);
  return all;
}

std::vector<std::byte> BytesOfFirst(Ranks& ranks, std::span<const std::byte> mine, RankStep step) {
  std::size_t size = mine.size();
  ranks.Broadcast(std::as_writable_bytes(std::span(&size, 1)), step);
  std::vector<std::byte> bytes(size);
  if (ranks.leads()) std::ranges::copy(mine, bytes.begin());
  ranks.Broadcast(bytes, step);
  return bytes;
}

}  // namespace bittern::model
