// SPDX-License-Identifier: Apache-2.0
// Configuration first, then the shares of ranks, then the weights. A file that was changed
// meanwhile is refused as such, not for what its new bytes look like.
#include "model/model.hpp"

#include <fmt/format.h>

#include "model/rank_leader.hpp"
#include "model/weights.hpp"

namespace bittern::model {

struct Model::Impl {
  std::shared_ptr<const formats::Checkpoint> checkpoint;  // keeps the mapped embedding alive
  ModelConfig config;
  Weights weights;
  std::unique_ptr<RankLeader> leader;  // on rank 0 of several
};

namespace {

/// The fastest way whose KL is below 1e-4 (docs/design/0022-activations-of-16-bits.md).
constexpr int kUsualActivationBits = 10;

/// Bits of the activations, which the caller may choose where training did not.
Result<void> ChooseActivations(Activations asked, ModelConfig* config, Decisions* decisions) {
  if (!config->grouped_activations) {
    if (asked == Activations::kAuto || asked == Activations::kInt8) return {};
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("activations={}: this model was trained with activations of 8 bits, so "
                            "it takes auto or int8",
                            asked == Activations::kInt10 ? "int10" : "int16"));
  }
  int& bits = config->activation_bits;
  switch (asked) {
    case Activations::kAuto:
      bits = kUsualActivationBits;
      break;
    case Activations::kInt8:
      bits = 8;
      break;
    case Activations::kInt10:
      bits = 10;
      break;
    case Activations::kInt16:
      bits = 16;
      break;
  }
  const char* hint = bits == 8 ? "activations=int16 is as good as exact"
                     : bits == 10
                         ? "activations=int16 is as good as exact, prompts take up to twice "
                           "as long; int8 is less exact"
                         : "activations=int10 and int8 are less exact, prompts take as "
                           "little as half as long";
  decisions->push_back({"activations", fmt::format("int{}", bits),
                        "the network was trained without rounding them", false, hint});
  return {};
}

}  // namespace

Result<Model> Model::Load(formats::Checkpoint checkpoint, ThreadPool& pool, Decisions* decisions,
                          const LoadOptions& options) {
  return Load(std::make_shared<const formats::Checkpoint>(std::move(checkpoint)), pool, decisions,
              options);
}

Result<Model> Model::Load(std::shared_ptr<const formats::Checkpoint> owned, ThreadPool& pool,
                          Decisions* decisions, const LoadOptions& options) {
  const formats::Checkpoint& checkpoint = *owned;
  const std::string path = checkpoint.path();
  const auto named = [&path](Error error) {
    // A choice of the caller (an instruction set) is not the file's fault.
    return error.code == ErrorCode::kInvalidArgument ? error : Within(path, std::move(error));
  };
  auto config = BITTERN_TRY(ReadConfig(checkpoint, decisions).map_error(named));
  BITTERN_TRY(ChooseActivations(options.activations, &config, decisions));
  const std::uint64_t number = options.ranks == nullptr ? 0 : options.ranks->NextModel();
  auto shares = BITTERN_TRY(RankShares::Create(config, options.ranks).map_error(named));
  if (shares.shared()) {
    config.heads_here = HeadsOf(shares.heads, shares.rank());
    if (config.delta.key_heads != 0) {
      config.delta_keys_here = HeadsOf(shares.delta_keys, shares.rank());
    }
  }
  auto loaded = Weights::Load(checkpoint, config, std::move(shares), pool, decisions, options);
  BITTERN_TRY(checkpoint.CheckUnchanged());  // rather than what is wrong with its tensors now
  auto weights = BITTERN_TRY(std::move(loaded).map_error(named));
  auto impl = std::make_unique<Impl>(
      Impl{std::move(owned), std::move(config), std::move(weights), nullptr});
  impl->weights.screened_head->rows_done = [&checkpoint,
                                            &head = impl->weights.lm_head](Range rows) {
    checkpoint.Release({head.row(rows.begin), (rows.end - rows.begin) * head.row_bytes});
  };
  if (impl->weights.shares.shared() && options.ranks->leads()) {
    impl->leader = std::make_unique<RankLeader>(options.ranks, number);
  }
  return Model(std::move(impl));
}

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

const ModelConfig& Model::config() const noexcept { return impl_->config; }
const Weights& Model::weights() const noexcept { return impl_->weights; }
const formats::Checkpoint& Model::checkpoint() const noexcept { return *impl_->checkpoint; }

std::unique_lock<std::mutex> Model::Lead(std::span<const Segment> segments,
                                         const PassFacts& facts) const {
  return impl_->leader == nullptr ? std::unique_lock<std::mutex>()
                                  : impl_->leader->Begin(segments, facts);
}

bool Model::CanScreen(const CandidateRequest& request) const noexcept {
  return !impl_->weights.screened_head->empty() && request.count <= kMaxCandidateCount;
}

std::uint64_t Model::tensor_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const auto& tensor : impl_->checkpoint->tensors()) bytes += tensor.stored_bytes();
  return bytes;
}

std::uint64_t Model::num_parameters() const noexcept {
  std::uint64_t count = 0;
  for (const auto& tensor : impl_->checkpoint->tensors()) count += tensor.num_elements();
  return count;
}

}  // namespace bittern::model
