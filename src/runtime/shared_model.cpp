// SPDX-License-Identifier: Apache-2.0
// Loading is collective: ranks compare their files before, and what they read of them after it.
#include "runtime/shared_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/hash.hpp"
#include "model/config.hpp"
#include "model/follow/rank_follower.hpp"
#include "model/load/fingerprint.hpp"
#include "model/ranks/packed.hpp"
#include "model/ranks/rank_shares.hpp"

namespace bittern::runtime {
namespace {

using model::PackedReader;
using model::PackedWriter;
using model::RankCommand;
using model::Ranks;

constexpr int kExitModel = 2, kExitRuntime = 3;
constexpr std::string_view kFailed = "cannot be loaded: ";

/// The options that all ranks must load with.
struct SharedOptions {
  std::optional<model::MatrixLayout> layout, grouped_layout;
  model::HeadMode head;
  model::SkipMode zero_skip;
  model::Activations activations;
  model::BatchKernel batch_kernel;
  double vlut_gain, grouped_vlut_gain;
  int num_threads;
};

void WriteText(std::string_view text, PackedWriter* out) {
  out->List(std::span<const char>(text.data(), text.size()));
}

std::string ReadText(PackedReader* in) {
  const std::vector<char> text = in->List<char>();
  return {text.begin(), text.end()};
}

/// A hash of what the file is: names, shapes and formats of tensors, all bytes of small ones, and a
/// piece of every megabyte of the others.
std::string SampleHash(const formats::Checkpoint& file) {
  constexpr std::size_t kEvery = std::size_t{1} << 20, kPiece = 4096;
  Hash128 hash;
  const auto add = [&](std::string_view text) { hash.Add(std::as_bytes(std::span(text))); };
  for (const formats::Tensor& tensor : file.tensors()) {
    add(fmt::format("{} {} {} {} {} {} {} {}\n", tensor.name, static_cast<int>(tensor.format),
                    tensor.shape[0], tensor.shape[1], tensor.shape[2], tensor.shape[3],
                    tensor.scale, tensor.bytes.size()));
    for (std::size_t at = 0; at < tensor.bytes.size(); at += kEvery) {
      const std::size_t left = tensor.bytes.size() - at;
      hash.Add(tensor.bytes.subspan(at, at == 0 && left <= kEvery ? left : std::min(left, kPiece)));
    }
  }
  return hash.Hex();
}

/// Error: the first rank whose text differs from rank 0's, or that has failed.
Result<void> CheckAlike(const std::vector<std::string>& texts, std::string_view what) {
  for (std::size_t r = 1; r < texts.size(); ++r) {
    if (texts[r] == texts[0]) continue;
    if (texts[r].starts_with(kFailed)) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("rank {}: {}", r, texts[r].substr(kFailed.size())));
    }
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("rank {} has another {} at this path than rank 0: expected {}, found {}", r,
                    what, texts[0], texts[r]),
        "all ranks need the same file; copy it to their hosts");
  }
  return {};
}

/// Error: the network has no part for each rank. Known before the others are told anything.
Result<void> CheckParts(const formats::Checkpoint& checkpoint, Ranks* ranks) {
  Decisions ignored;
  const auto named = [&](Error error) {
    return error.code == ErrorCode::kInvalidArgument ? error : Within(checkpoint.path(), error);
  };
  const auto config = BITTERN_TRY(model::ReadConfig(checkpoint, &ignored).map_error(named));
  BITTERN_TRY(model::RankShares::Create(config, ranks).map_error(named));
  return {};
}

/// Tells the others what to load.
void Announce(const formats::Checkpoint& checkpoint, const std::vector<std::string>& overrides,
              int num_threads, const model::LoadOptions& options) {
  PackedWriter out;
  out.Value(RankCommand::kLoad);
  WriteText(checkpoint.path(), &out);
  out.Value(overrides.size());
  for (const std::string& text : overrides) WriteText(text, &out);
  out.Value(SharedOptions{.layout = options.layout,
                          .grouped_layout = options.grouped_layout,
                          .head = options.head,
                          .zero_skip = options.zero_skip,
                          .activations = options.activations,
                          .batch_kernel = options.batch_kernel,
                          .vlut_gain = options.vlut_gain,
                          .grouped_vlut_gain = options.grouped_vlut_gain,
                          .num_threads = num_threads});
  static_cast<void>(model::BytesOfFirst(*options.ranks, out.bytes()));
}

/// A model of a rank that follows.
struct Followed {
  explicit Followed(model::Model loaded) : model(std::move(loaded)), follower(&model) {}
  Followed(const Followed&) = delete;
  Followed& operator=(const Followed&) = delete;

  model::Model model;
  model::RankFollower follower;
};

class Follower {
 public:
  Follower(Ranks& ranks, const OpenCheckpoint& open) : ranks_(ranks), open_(open) {}

  void Load(PackedReader* in) {
    const std::string path = ReadText(in);
    std::vector<std::string> overrides(in->Value<std::size_t>());
    for (std::string& text : overrides) text = ReadText(in);
    const auto options = in->Value<SharedOptions>();
    auto checkpoint = Open(path, overrides);
    const std::string text =
        checkpoint ? SampleHash(*checkpoint) : std::string(kFailed) + checkpoint.error().message;
    if (!CheckAlike(model::TextsOfAll(ranks_, text), "file")) return;
    auto loaded = LoadPart(*std::move(checkpoint), options);
    // Rank 0 meets most faults of a file, too, and says them better.
    if (!loaded) return EndSoon(loaded.error(), kExitModel);
    // Alike or not, it is told to drop what it has.
    static_cast<void>(model::TextsOfAll(ranks_, model::ConfigText(*loaded)));
    models_[++loaded_] = std::make_unique<Followed>(*std::move(loaded));
  }
  void Pass(PackedReader* in) {
    const auto done = models_.at(in->Value<std::uint64_t>())->follower.Run(*in);
    if (!done) EndSoon(done.error(), kExitRuntime);
  }
  void Drop(PackedReader* in) { models_.erase(in->Value<std::uint64_t>()); }

 private:
  Result<formats::Checkpoint> Open(const std::string& path,
                                   const std::vector<std::string>& overrides) {
    auto checkpoint = BITTERN_TRY(open_(path));
    for (const std::string& text : overrides) BITTERN_TRY(checkpoint.metadata().Override(text));
    return checkpoint;
  }
  Result<model::Model> LoadPart(formats::Checkpoint checkpoint, const SharedOptions& shared) {
    auto pool = BITTERN_TRY(ThreadPool::Create(shared.num_threads));
    model::LoadOptions options;
    options.layout = shared.layout;
    options.grouped_layout = shared.grouped_layout;
    options.head = shared.head;
    options.zero_skip = shared.zero_skip;
    options.activations = shared.activations;
    options.batch_kernel = shared.batch_kernel;
    options.vlut_gain = shared.vlut_gain;
    options.grouped_vlut_gain = shared.grouped_vlut_gain;
    options.ranks = &ranks_;
    Decisions decisions;
    return model::Model::Load(std::move(checkpoint), pool, &decisions, options);
  }
  // Rank 0 has a second to say in its own words why all of them end.
  void EndSoon(const Error& error, int exit_code) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    ranks_.EndAll(MessageAndHint(error), exit_code);
  }

  Ranks& ranks_;
  const OpenCheckpoint& open_;
  std::uint64_t loaded_ = 0;  // the number of the last model, as Ranks::NextModel counts
  std::map<std::uint64_t, std::unique_ptr<Followed>> models_;
};

}  // namespace

/// Three rendezvous: what to load, a sample of the file before any of it is trusted, the
/// configuration behind it. Where rank 0 gives up between them, the others would wait for ever;
/// MarkLost lets the next call end them.
Result<model::Model> LoadShared(formats::Checkpoint checkpoint,
                                const std::vector<std::string>& overrides, ThreadPool& pool,
                                Decisions* decisions, const model::LoadOptions& options) {
  Ranks& ranks = *options.ranks;
  if (ranks.size() == 1) {
    return model::Model::Load(std::move(checkpoint), pool, decisions, options);
  }
  BITTERN_TRY(CheckParts(checkpoint, &ranks));
  std::unique_lock lock(ranks.turn());
  Announce(checkpoint, overrides, pool.size(), options);
  BITTERN_TRY(CheckAlike(model::TextsOfAll(ranks, SampleHash(checkpoint)), "file"));
  auto loaded = model::Model::Load(std::move(checkpoint), pool, decisions, options);
  if (!loaded) ranks.MarkLost();
  auto model = BITTERN_TRY(std::move(loaded));
  const auto texts = model::TextsOfAll(ranks, model::ConfigText(model));
  lock.unlock();  // the model tells the others when it goes
  BITTERN_TRY(CheckAlike(texts, "configuration"));
  decisions->push_back({"ranks", fmt::format("{} share the network out", ranks.size()),
                        "each has a part of every matrix", false});
  return model;
}

void FollowRanks(Ranks& ranks, const OpenCheckpoint& open) {
  Follower follower(ranks, open);
  for (;;) {
    const std::vector<std::byte> message = model::BytesOfFirst(ranks, {});
    PackedReader in(message);
    switch (in.Value<RankCommand>()) {
      case RankCommand::kEnd:
        return;
      case RankCommand::kLoad:
        follower.Load(&in);
        break;
      case RankCommand::kPass:
        follower.Pass(&in);
        break;
      case RankCommand::kDrop:
        follower.Drop(&in);
        break;
    }
  }
}

bool EndRanks(Ranks& ranks) {
  const std::unique_lock lock(ranks.turn(), std::try_to_lock);
  if (!lock.owns_lock() || ranks.lost()) return false;
  PackedWriter out;
  out.Value(RankCommand::kEnd);
  static_cast<void>(model::BytesOfFirst(ranks, out.bytes()));
  return true;
}

}  // namespace bittern::runtime
