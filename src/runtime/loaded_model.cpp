// SPDX-License-Identifier: Apache-2.0
// The steps in order, but for the tokenizer, which is read beside the weights. An error that an
// override has caused names the override, not the file.
#include "runtime/loaded_model.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <system_error>
#include <utility>

#include "base/memory/huge_pages.hpp"
#include "base/os/signals.hpp"
#include "formats/architecture.hpp"
#include "kernels/registry.hpp"
#include "model/matrix_layout.hpp"
#include "runtime/pooled_hidden.hpp"
#include "runtime/shared_model.hpp"
#include "runtime/tune/batch_kernel_choice.hpp"
#include "runtime/vocabulary_check.hpp"

namespace bittern::runtime {
namespace {

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Puts the path before messages of layers that do not know it.
Error InFile(const std::string& path, Error error) {
  if (error.message.starts_with(path)) return error;
  return Within(path, std::move(error));
}

/// Chooses a layout and the kernel of batches where none was asked for and the caller lets us
/// measure.
Result<void> SetWays(const formats::Checkpoint& checkpoint, ThreadPool& pool,
                     const LayoutCache* cache, model::LoadOptions* options, Decisions* decisions) {
  if (cache == nullptr) return {};
  const auto kernels = BITTERN_TRY(kernels::SelectKernelsForced(options->isa));
  if (options->batch_kernel == model::BatchKernel::kAuto) {
    const auto gain = [&](ScaleKind kind, std::string_view subject) {
      BatchKernelChoice choice =
          ChooseBatchKernel(TernaryBytes(checkpoint), kind, kernels, pool, *cache);
      decisions->push_back({std::string(subject), choice.vlut_gain > 1 ? "vlut" : "tile16",
                            std::move(choice.reason), false});
      return choice.vlut_gain;
    };
    options->vlut_gain = gain(ScaleKind::kOfRows, kBatchKernelSubject);
    if (MayHaveGroups(checkpoint)) {
      options->grouped_vlut_gain = gain(ScaleKind::kOfGroups, kGroupedBatchKernelSubject);
    }
  }
  if (options->layout.has_value()) return {};
  const auto choose = [&](ScaleKind kind, std::string_view subject) {
    LayoutChoice choice = ChooseLayout(TernaryBytes(checkpoint), kind, kernels, pool, *cache);
    decisions->push_back({std::string(subject), std::string(model::MatrixLayoutName(choice.layout)),
                          std::move(choice.reason), false});
    return choice.layout;
  };
  options->layout = choose(ScaleKind::kOfRows, kLayoutSubject);
  options->grouped_layout = model::MatrixLayout::kTile16;
  if (MayHaveGroups(checkpoint)) {
    options->grouped_layout = choose(ScaleKind::kOfGroups, kGroupedLayoutSubject);
  }
  return {};
}

/// Says that a model was made for vectors. The GGUF files of BitNet-embedding ask for the mean, and
/// their page says the last position.
Result<void> NotePooling(const model::Model& model, Decisions* decisions) {
  const model::ModelConfig& config = model.config();
  const auto pooling = BITTERN_TRY(PoolingOf(model.checkpoint().metadata(), config.architecture));
  if (!pooling) {
    if (!config.input_norms) return {};
    decisions->push_back({"pooling", std::string(PoolingName(Pooling::kLast)),
                          "the model does not say; `bittern embed` makes vectors of texts", true,
                          "GGUF files of BitNet-embedding say: pooling=mean"});
    return {};
  }
  const bool bitnet = config.input_norms && *pooling == Pooling::kMean;
  decisions->push_back({"pooling", std::string(PoolingName(*pooling)),
                        config.architecture + ".pooling_type: a model for vectors of texts, "
                                              "`bittern embed`",
                        true, bitnet ? "BitNet-embedding's page says: pooling=last" : ""});
  return {};
}

/// Reads a tokenizer while others prepare the weights. It takes one thread, and the threads of the
/// pool leave it time, since they wait for memory and for each other.
class TokenizerReader {
 public:
  /// Begins, on a thread of its own if `beside`, else here.
  TokenizerReader(std::shared_ptr<const formats::Checkpoint> checkpoint, bool beside)
      : checkpoint_(std::move(checkpoint)) {
    const os::SignalsBlocked blocked;  // they belong to threads of the program
    try {
      done_ = std::async(beside ? std::launch::async : std::launch::deferred, [this] { Read(); });
      if (!beside) done_.wait();
    } catch (const std::system_error&) {  // there are no more threads
      Read();
    }
  }
  TokenizerReader(const TokenizerReader&) = delete;
  TokenizerReader& operator=(const TokenizerReader&) = delete;

  /// Set where there will be no tokenizer. Any thread.
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  /// Waits. Errors as Tokenizer::FromMetadata has them, or the file was changed.
  Result<tokenizer::Tokenizer> Take(Decisions* decisions) {
    if (done_.valid()) done_.get();
    decisions->insert(decisions->end(), decisions_.begin(), decisions_.end());
    return *std::move(tokenizer_);
  }

 private:
  void Read() {
    tokenizer_ = tokenizer::Tokenizer::FromMetadata(checkpoint_->metadata(), &decisions_);
    auto unchanged = checkpoint_->CheckUnchanged();
    if (!unchanged) tokenizer_ = tl::unexpected(std::move(unchanged).error());
    failed_ = !tokenizer_->has_value();
  }

  std::shared_ptr<const formats::Checkpoint> checkpoint_;
  Decisions decisions_;
  std::optional<Result<tokenizer::Tokenizer>> tokenizer_;
  std::atomic<bool> failed_ = false;
  std::future<void> done_;  // the last member: its thread uses the others
};

/// LoadedModel::Load without the path in its messages.
Result<std::shared_ptr<const LoadedModel>> LoadUnnamed(formats::Checkpoint opened,
                                                       const LoadOptions& options,
                                                       ThreadPool& pool) {
  const auto start = std::chrono::steady_clock::now();
  const HugePagesMayWait loading;
  auto checkpoint = std::make_shared<formats::Checkpoint>(std::move(opened));
  for (const std::string& text : options.overrides) {
    BITTERN_TRY(checkpoint->metadata().Override(text));
  }
  // A model of another kind often has another tokenizer, too; the kind is what matters.
  BITTERN_TRY(formats::ArchitectureOf(checkpoint->metadata()));
  const bool alone = options.weights.ranks == nullptr;
  TokenizerReader reader(checkpoint, alone && pool.size() > 1);
  Decisions decisions, of_weights;
  const auto load = [&]() -> Result<model::Model> {
    model::LoadOptions weights = options.weights;
    weights.on_progress = [&](double done) {  // no weights are wanted without a tokenizer
      return !reader.failed() &&
             (!options.weights.on_progress || options.weights.on_progress(done));
    };
    BITTERN_TRY(SetWays(*checkpoint, pool, options.layout_cache, &weights, &of_weights));
    return alone
               ? model::Model::Load(checkpoint, pool, &of_weights, weights)
               : LoadShared(std::move(*checkpoint), options.overrides, pool, &of_weights, weights);
  };
  if (reader.failed()) return tl::unexpected(reader.Take(&decisions).error());
  auto loaded_weights = load();
  auto tokenizer = BITTERN_TRY(reader.Take(&decisions));
  auto model = BITTERN_TRY(std::move(loaded_weights));
  decisions.insert(decisions.end(), of_weights.begin(), of_weights.end());
  BITTERN_TRY(CheckVocabulary(model.config(), tokenizer));
  BITTERN_TRY(NotePooling(model, &decisions));
  auto loaded = std::make_shared<LoadedModel>(LoadedModel{
      std::move(model), std::move(tokenizer), std::move(decisions), SecondsSince(start)});
  loaded->grammars = std::make_shared<grammar::GrammarCache>(loaded->tokenizer);
  constexpr auto kFirstTokens = std::chrono::seconds(2);
  if (BytesAwaitingHugePages() != 0) {
    loaded->huge_pages = std::make_shared<HugePageMaker>(kFirstTokens);
  }
  return loaded;
}

/// The override whose key the message is about; empty if none.
std::string_view OverrideToBlame(const std::vector<std::string>& overrides,
                                 std::string_view message) {
  for (const std::string& text : overrides) {
    const std::string_view key = std::string_view(text).substr(0, text.find('='));
    if (!key.empty() && message.find(key) != std::string_view::npos) return text;
  }
  return {};
}

}  // namespace

Error BlameOverride(const std::vector<std::string>& overrides, Error error) {
  if (error.code != ErrorCode::kCorruptFile && error.code != ErrorCode::kUnsupported) return error;
  const std::string_view text = OverrideToBlame(overrides, error.message);
  if (text.empty()) return error;
  return {ErrorCode::kInvalidArgument, fmt::format("override \"{}\": {}", text, error.message),
          std::move(error.hint)};
}

Result<std::shared_ptr<const LoadedModel>> LoadedModel::Load(const std::filesystem::path& path,
                                                             const LoadOptions& options) {
  auto checkpoint = formats::Checkpoint::Open(path);
  if (!checkpoint) return tl::unexpected(InFile(path.string(), std::move(checkpoint).error()));
  return Load(*std::move(checkpoint), options);
}

Result<std::shared_ptr<const LoadedModel>> LoadedModel::Load(formats::Checkpoint checkpoint,
                                                             const LoadOptions& options) {
  const std::string path = checkpoint.path();
  auto pool = BITTERN_TRY(
      ThreadPool::Create(options.num_threads == 0 ? DefaultThreadCount() : options.num_threads));
  return LoadUnnamed(std::move(checkpoint), options, pool).map_error([&](Error error) {
    error = BlameOverride(options.overrides, std::move(error));
    // A setting of the caller (an override, a thread count) is not the file's fault.
    if (error.code == ErrorCode::kInvalidArgument) return error;
    return InFile(path, std::move(error));
  });
}

}  // namespace bittern::runtime
