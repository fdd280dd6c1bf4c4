// SPDX-License-Identifier: Apache-2.0
#include "model/ranks/recurrent_state.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace bittern::model {

std::shared_ptr<RecurrentState> RecurrentState::Create(std::size_t size,
                                                       const std::shared_ptr<PageLog>& log) {
  auto values = AlignedBuffer<float>::Create(size, "the state of a sequence");
  if (!values) return nullptr;
  return std::shared_ptr<RecurrentState>(new RecurrentState(*std::move(values), log));
}

RecurrentState::RecurrentState(AlignedBuffer<float> values, const std::shared_ptr<PageLog>& log)
    : values_(std::move(values)), log_(log) {
  if (log == nullptr) return;
  static std::atomic<std::uint64_t> states = 0;
  id_ = ++states;
  Note(0, id_);
}

RecurrentState::~RecurrentState() { Note(id_, 0); }

void RecurrentState::Note(std::uint64_t from, std::uint64_t to) const {
  if (const auto log = log_.lock()) log->states.push_back({from, to});
}

std::shared_ptr<RecurrentState> RecurrentState::Copy() const {
  auto copy = Create(values_.size(), log_.lock());
  if (copy != nullptr) copy->Assign(*this);
  return copy;
}

void RecurrentState::Assign(const RecurrentState& other) noexcept {
  std::ranges::copy(other.values(), values_.data());
  Note(other.id_, id_);
}

}  // namespace bittern::model
