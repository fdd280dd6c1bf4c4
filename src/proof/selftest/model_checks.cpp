// SPDX-License-Identifier: Apache-2.0
// A model is asked what is known of it. What is not known of a model is skipped and said so: a
// check that cannot fail would be worse than none. One thread; passes use the team.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/hash.hpp"
#include "base/json/json.hpp"
#include "kernels/instruction_sets.hpp"
#include "model/load/fingerprint.hpp"
#include "proof/certificate/certify.hpp"
#include "proof/selftest/check_list.hpp"
#include "proof/selftest/known_models.hpp"
#include "runtime/chat/chat_prompt.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/sampling/loop_detector.hpp"

namespace bittern::proof {
namespace {

using runtime::LoadedModel;
using runtime::TokenId;
using Model = std::shared_ptr<const LoadedModel>;

/// Larger ones are certified by fewer tokens, and not by the slowest instruction set.
constexpr std::uint64_t kSmallFile = std::uint64_t{64} << 20;
constexpr int kTextTokens = 40, kLoopTokens = 400, kFewPositions = 8;

/// One model's checks.
class ModelChecks {
 public:
  ModelChecks(CheckList* list, std::string group, const Opener& open)
      : list_(*list), group_(std::move(group)), open_(open) {}

  void Run();

 private:
  template <class Check>
  void Add(std::string name, const Check& check) {
    list_.Run(group_, std::move(name), check);
  }
  CheckOutcome Load();
  CheckOutcome Identify();
  CheckOutcome Tokens();
  CheckOutcome Texts();
  CheckOutcome Loops();
  CheckOutcome GoldenCertificate();
  CheckOutcome OneIsa(kernels::Isa isa);

  [[nodiscard]] Result<Model> LoadFor(std::string isa) const;
  [[nodiscard]] Result<std::string> FirstLines(const Model& model) const;
  [[nodiscard]] Result<std::vector<TokenId>> PromptIds(std::string_view text, bool chat) const;
  /// The likeliest text after each prompt.
  [[nodiscard]] Result<std::vector<runtime::GenerateResult>> Generate(
      const std::vector<std::vector<TokenId>>& prompts,
      const runtime::GenerateOptions& options) const;

  CheckList& list_;
  const std::string group_;
  const Opener& open_;
  Model model_;
  const KnownModel* known_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::string first_lines_;  // of the instruction set in use
};

/// Opens the file anew and loads it for one instruction set; "": the one in use.
Result<Model> ModelChecks::LoadFor(std::string isa) const {
  auto file = BITTERN_TRY(open_());
  return LoadedModel::Load(std::move(file), {.num_threads = list_.options().num_threads,
                                             .weights = {.isa = std::move(isa)}});
}

/// Check "loading". All others need its model.
CheckOutcome ModelChecks::Load() {
  auto model = LoadFor("");
  if (!model) return Failed(model.error());
  model_ = *std::move(model);
  bytes_ = model_->model.checkpoint().file_bytes();
  const auto& config = model_->model.config();
  return {CheckState::kOk, fmt::format("{}, {} layers, {:.1f} million parameters",
                                       config.architecture, config.num_layers,
                                       static_cast<double>(model_->model.num_parameters()) / 1e6)};
}

/// Check "which model": by the file's hash, else, for small files, by the hash of the weights,
/// which also finds a converted copy.
CheckOutcome ModelChecks::Identify() {
  known_ = KnownByFile(model_->model.checkpoint());
  if (known_ == nullptr && bytes_ <= kSmallFile) {
    auto pool = ThreadPool::Create(std::max(1, DefaultThreadCount()));
    if (!pool) return Failed(pool.error());
    const auto print = model::FingerprintOf(model_->model, *pool);
    if (!print) return Failed(print.error());
    for (const KnownModel& known : KnownModels()) {
      if (known.certificate.model == print->hash) known_ = &known;
    }
  }
  if (known_ == nullptr) {
    return {CheckState::kSkipped, "not a model whose texts are known; `bittern doctor` judges it"};
  }
  return {CheckState::kOk, fmt::format("{}, recognised by its hash", known_->name)};
}

/// Check "tokenizer": texts come back as they were; LLaMA-3's vocabulary must give the known ids.
CheckOutcome ModelChecks::Tokens() {
  const tokenizer::Tokenizer& tokenizer = model_->tokenizer;
  std::size_t checked = 0, lossy = 0;
  for (const std::string_view text : RoundTripTexts()) {
    tokenizer::EncodeLoss loss;
    const auto ids = tokenizer.Encode(text, {}, &loss);
    if (loss.num_bytes != 0) {
      ++lossy;  // a vocabulary without these bytes
    } else if (tokenizer.Decode(ids) != text) {
      return {CheckState::kFailed,
              fmt::format("\"{}\" becomes \"{}\"", text, tokenizer.Decode(ids))};
    } else {
      ++checked;
    }
  }
  const bool llama3 = tokenizer.vocab_size() == 128256 && tokenizer.TokenBytes(791) == "The";
  for (const TokenVector& vector : Llama3Vectors()) {
    if (!llama3) break;
    if (tokenizer.Encode(vector.text, {.add_bos = false}) != vector.ids) {
      return {CheckState::kFailed,
              fmt::format("\"{}\" does not give LLaMA-3's tokens", vector.text)};
    }
    ++checked;
  }
  return {CheckState::kOk,
          fmt::format("{} texts{}{}", checked, llama3 ? ", some with LLaMA-3's known tokens" : "",
                      lossy == 0 ? "" : fmt::format("; {} have bytes without tokens", lossy))};
}

/// The ids of a prompt: of the text as it is, or as one turn of a chat.
Result<std::vector<TokenId>> ModelChecks::PromptIds(std::string_view text, bool chat) const {
  if (!chat) return model_->tokenizer.Encode(text);
  Decisions ignored;
  const auto prompt = BITTERN_TRY(runtime::ChatPrompt::Create(model_->model.checkpoint().metadata(),
                                                              model_->tokenizer, "", &ignored));
  const auto string = [](std::string_view s) { return Json(Json::Value(std::string(s))); };
  Json::Array messages;
  messages.push_back(
      Json(Json::Value(Json::Object{{"role", string("user")}, {"content", string(text)}})));
  auto rendered =
      BITTERN_TRY(prompt.Apply(Json(Json::Value(std::move(messages))), model_->tokenizer));
  return std::move(rendered.ids);
}

/// All prompts run together in one engine, which is faster than one after the other.
Result<std::vector<runtime::GenerateResult>> ModelChecks::Generate(
    const std::vector<std::vector<TokenId>>& prompts,
    const runtime::GenerateOptions& options) const {
  std::size_t longest = 0;
  for (const auto& prompt : prompts) longest = std::max(longest, prompt.size());
  const int wanted = static_cast<int>(longest) + options.max_tokens + 1;
  auto engine = BITTERN_TRY(runtime::Engine::Create(
      model_, {.context_length = std::min(wanted, model_->model.config().context_length),
               .num_threads = list_.options().num_threads}));
  std::vector<Result<runtime::GenerateResult>> results(
      prompts.size(), Fail(ErrorCode::kInternal, "a text was never finished"));
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    BITTERN_TRY(engine.Submit({.prompt = prompts[i],
                               .options = options,
                               .on_done = [&results, i](runtime::Completion done) {
                                 results[i] = std::move(done.result);
                               }}));
  }
  engine.RunAll();
  std::vector<runtime::GenerateResult> texts;
  for (auto& result : results) texts.push_back(BITTERN_TRY(std::move(result)));
  return texts;
}

/// Check "texts": a known model says what it is known to say, at temperature 0.
CheckOutcome ModelChecks::Texts() {
  if (known_ == nullptr) return {CheckState::kSkipped, "no texts of this model are known"};
  std::vector<std::vector<TokenId>> prompts;
  for (const KnownText& text : known_->texts) {
    auto ids = PromptIds(text.prompt, text.chat);
    if (!ids) return Failed(ids.error());
    prompts.push_back(*std::move(ids));
  }
  const auto said = Generate(prompts, {.max_tokens = kTextTokens, .sampler = {.temperature = 0}});
  if (!said) return Failed(said.error());
  for (std::size_t i = 0; i < said->size(); ++i) {
    const KnownText& text = known_->texts[i];
    if ((*said)[i].text.starts_with(text.begin)) continue;
    return {CheckState::kFailed, fmt::format("\"{}\": \"{}\" expected, \"{}\" found", text.prompt,
                                             text.begin, (*said)[i].text)};
  }
  return {CheckState::kOk, fmt::format("{} texts are as known", said->size())};
}

/// Whether the detector calls the passage, read so many times, a loop.
bool DetectsLoop(const tokenizer::Tokenizer& tokenizer, std::size_t times) {
  std::string text(kRelativityPrompt);
  for (std::size_t i = 0; i < times; ++i) text += kRelativityPassage;
  runtime::LoopDetector detector;
  bool loops = false;
  for (const TokenId id : tokenizer.Encode(text)) loops = detector.Push(id) || loops;
  return loops;
}

/// Check "loop detector": a repeated passage is a loop, one that stands twice is none; a model that
/// is known to loop is stopped.
CheckOutcome ModelChecks::Loops() {
  constexpr std::size_t kEnough = runtime::LoopDetector::kTimes + 2;
  if (!DetectsLoop(model_->tokenizer, kEnough)) {
    return {CheckState::kFailed, "a passage repeated six times was not called a loop"};
  }
  if (DetectsLoop(model_->tokenizer, 2)) {
    return {CheckState::kFailed, "a passage that stands there twice was called a loop"};
  }
  if (known_ == nullptr || !known_->relativity_loops) {
    return {CheckState::kOk, "found in the reported text"};
  }
  const auto said =
      Generate({model_->tokenizer.Encode(kRelativityPrompt)},
               {.max_tokens = kLoopTokens, .sampler = {.temperature = 0}, .stop_on_loop = true});
  if (!said) return Failed(said.error());
  const auto& text = said->front();
  if (text.finish != runtime::FinishReason::kLoop) {
    return {CheckState::kFailed,
            fmt::format("the text after \"{}\" was not called a loop in {} tokens",
                        kRelativityPrompt, text.ids.size())};
  }
  return {CheckState::kOk,
          fmt::format("found in the reported text, and in this model's own after {} "
                      "tokens",
                      text.ids.size())};
}

/// Hashes of the first logits: of one prompt and what follows it, or of a few positions.
Result<std::string> ModelChecks::FirstLines(const Model& model) const {
  const std::string prompt(BuiltinPrompts().front());
  if (bytes_ <= kSmallFile) {
    CertifyOptions options;
    options.prompts = {prompt};
    options.session.num_threads = list_.options().num_threads;
    const auto certificate = BITTERN_TRY(Certify(model, options));
    return certificate.logits + certificate.tokens;
  }
  auto session = BITTERN_TRY(runtime::Session::Create(
      model, {.context_length = kFewPositions, .num_threads = list_.options().num_threads}));
  auto ids = model->tokenizer.Encode(prompt);
  ids.resize(std::min<std::size_t>(ids.size(), kFewPositions));
  Hash128 hash;
  BITTERN_TRY(session.PrefillAll(
      ids, [&](int, std::span<const float> logits) { hash.Add(std::as_bytes(logits)); }));
  return hash.Hex();
}

/// Check "certificate": hashes of logits and tokens, equal to those of the repository. Also keeps
/// the hashes that OneIsa compares with.
CheckOutcome ModelChecks::GoldenCertificate() {
  auto first = FirstLines(model_);
  if (!first) return Failed(first.error());
  first_lines_ = *std::move(first);
  if (known_ == nullptr || known_->certificate.code.empty()) {
    return {CheckState::kSkipped, "no certificate of this model is known"};
  }
  CertifyOptions options;
  options.session.num_threads = list_.options().num_threads;
  options.version = list_.options().version;
  const auto found = Certify(model_, options);
  if (!found) return Failed(found.error());
  const auto differences = CompareCertificates(known_->certificate, *found);
  if (!differences.empty()) return {CheckState::kFailed, differences.front()};
  return {CheckState::kOk, "logits and tokens of the known certificate"};
}

/// Check "certificate by ISA": each instruction set of this machine gives the same bits.
CheckOutcome ModelChecks::OneIsa(kernels::Isa isa) {
  if (bytes_ > kSmallFile && isa == kernels::Isa::scalar) {
    return {CheckState::kSkipped, "too slow for a file of this size"};
  }
  if (first_lines_.empty()) return {CheckState::kSkipped, "there is nothing to compare with"};
  const auto model = LoadFor(std::string(kernels::IsaName(isa)));
  if (!model) return Failed(model.error());
  const auto lines = FirstLines(*model);
  if (!lines) return Failed(lines.error());
  if (*lines != first_lines_) {
    return {CheckState::kFailed, "other logits than the instruction set in use gives"};
  }
  return {CheckState::kOk, "the same logits, to the bit"};
}

/// The model is dropped before the instruction sets, each of which loads it anew: two at a time
/// could be too much memory.
void ModelChecks::Run() {
  Add("loading", [this] { return Load(); });
  if (model_ == nullptr) return;
  Add("which model", [this] { return Identify(); });
  Add("tokenizer", [this] { return Tokens(); });
  Add("texts", [this] { return Texts(); });
  Add("loop detector", [this] { return Loops(); });
  Add("certificate", [this] { return GoldenCertificate(); });
  model_.reset();
  for (const kernels::Isa isa : kernels::AllIsas()) {
    if (!kernels::Supports(isa)) continue;
    Add(fmt::format("certificate by {}", kernels::IsaName(isa)),
        [this, isa] { return OneIsa(isa); });
  }
}

}  // namespace

void CheckModel(CheckList* list, const std::string& group, const Opener& open) {
  ModelChecks(list, group, open).Run();
}

}  // namespace bittern::proof
