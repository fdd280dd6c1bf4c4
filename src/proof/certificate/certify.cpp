// SPDX-License-Identifier: Apache-2.0
// Two runs over the same prompts. The first traces every operation of every layer through a session
// and hashes what it sees. The second takes the ordinary way, through an engine with drafts, the
// screened head and several sequences at once, and must give the same tokens. Called by one thread.
#include "proof/certificate/certify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/hash.hpp"
#include "model/numerics.hpp"
#include "model/trace.hpp"
#include "proof/certificate/background_load.hpp"
#include "request/options/choice_names.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/sampling/sampler_steps.hpp"

namespace bittern::proof {
namespace {

using Ids = std::span<const runtime::TokenId>;

constexpr std::array<std::string_view, 5> kBuiltinPrompts = {
    "What is a tern?", "In the beginning", "Grüße aus Zürich — 東京の夏は暑い。 Привет, мир! 🐦",
    "for (int i = 0; i < n; ++i) { sum += x[i] * 0.5; }  // 1, 2, 3\n\n\treturn sum;",
    "A sea bird came down on the rail of the ship and looked about. The captain, who had seen "
    "many birds in forty years, said nothing; the boy put down his rope and counted the feathers "
    "of its tail, one, two, three, and five more. \"It is a long way to land,\" he said, \"and it "
    "has no chart, no compass and no clock.\" \"It has the stars,\" said the captain, \"and they "
    "are the same over every sea.\""};

/// Tokens that CacheUse::kRewind runs and takes back, and after how many others.
constexpr int kDetour = 5, kDetourEvery = 16;

/// Hashes of one prompt's run: prompt and later positions apart.
class HashRecorder final : public model::Tracer {
 public:
  HashRecorder(int num_layers, int prompt_size)
      : prompt_size_(prompt_size),
        prefill_(NumOperations(num_layers)),
        decode_(NumOperations(num_layers)) {}

  void OnValues(const model::TracePlace& place,
                std::span<const std::byte> values) noexcept override {
    if (!enabled) return;
    const auto [sequence, layer, point, position] = place;
    auto& hashes = position < prompt_size_ ? prefill_ : decode_;
    std::size_t operation = static_cast<std::size_t>(point);
    if (layer >= 0) operation += static_cast<std::size_t>(layer) * model::kNumLayerPoints;
    // After the layers: their points are counted once by `point` already.
    if (point > model::TracePoint::kFfnResidual) {
      operation = hashes.size() + operation - model::kNumTracePoints;
    }
    hashes[operation].Add(values);
  }

  [[nodiscard]] std::vector<std::string> Prefill() const { return Hexes(prefill_); }
  [[nodiscard]] std::vector<std::string> Decode() const { return Hexes(decode_); }

  bool enabled = true;

 private:
  static std::vector<std::string> Hexes(const std::vector<Hash128>& hashes) {
    std::vector<std::string> texts;
    for (const Hash128& hash : hashes) texts.push_back(hash.Hex());
    return texts;
  }

  int prompt_size_;
  std::vector<Hash128> prefill_, decode_;
};

/// One prompt's way through a session.
class PromptRun {
 public:
  /// on_token: told how many tokens were run after the prompt.
  PromptRun(runtime::Session* session, Hash128* logits, const CertifyOptions& options,
            PromptCertificate* result, int num_layers, std::function<void(std::size_t)> on_token)
      : on_token_(std::move(on_token)),
        session_(*session),
        logits_(*logits),
        options_(options),
        result_(*result),
        recorder_(num_layers, static_cast<int>(result->prompt_ids.size())) {}

  /// forced: ids to run in place of the likeliest; empty: those.
  Result<void> Run(Ids forced) {
    session_.Truncate(0);
    session_.SetTracer(&recorder_);
    const Result<void> done = RunTraced(forced);
    session_.SetTracer(nullptr);
    BITTERN_TRY(done);
    result_.prefill = recorder_.Prefill();
    result_.decode = recorder_.Decode();
    return {};
  }

 private:
  Result<void> RunTraced(Ids forced) {
    recorder_.enabled = options_.cache != CacheUse::kRecompute;
    BITTERN_TRY(Prefill());
    while (result_.fed.size() + 1 < kCertificateTokens) {
      const std::size_t next = result_.fed.size();
      if (next % kDetourEvery == 0) BITTERN_TRY(Detour());
      result_.fed.push_back(next < forced.size() ? forced[next] : result_.ids.back());
      BITTERN_TRY(Feed({&result_.fed.back(), 1}));
      if (on_token_) on_token_(result_.fed.size());
    }
    if (options_.cache != CacheUse::kRecompute) return {};
    recorder_.enabled = true;
    result_.ids.clear();
    session_.Truncate(0);
    std::vector<runtime::TokenId> all = result_.prompt_ids;
    all.insert(all.end(), result_.fed.begin(), result_.fed.end());
    return Feed(all);
  }

  Result<void> Prefill() {
    const Ids prompt = result_.prompt_ids;
    const std::size_t half = options_.cache == CacheUse::kRewind ? prompt.size() / 2 : 0;
    if (half > 0) {
      BITTERN_TRY(Feed(prompt.first(half)));
      BITTERN_TRY(Detour());
    }
    return Feed(prompt.subspan(half));
  }

  Result<void> Feed(Ids ids) {
    return session_.PrefillAll(ids, [this](int position, std::span<const float> logits) {
      if (!recorder_.enabled && options_.cache == CacheUse::kRewind) return;
      if (position + 1 >= static_cast<int>(result_.prompt_ids.size())) {
        result_.ids.push_back(runtime::Argmax(logits));
      }
      if (!recorder_.enabled) return;
      logits_.Add(std::as_bytes(logits));
      result_.positions.push_back(HashOf(std::as_bytes(logits)).substr(0, 16));
    });
  }

  /// Other tokens, and back.
  Result<void> Detour() {
    if (options_.cache != CacheUse::kRewind) return {};
    const int position = static_cast<int>(session_.tokens().size());
    recorder_.enabled = false;
    const std::vector<runtime::TokenId> others(kDetour, result_.prompt_ids.back());
    BITTERN_TRY(Feed(others));
    session_.Truncate(position);
    recorder_.enabled = true;
    return {};
  }

  const std::function<void(std::size_t)> on_token_;
  runtime::Session& session_;
  Hash128& logits_;
  const CertifyOptions& options_;
  PromptCertificate& result_;
  HashRecorder recorder_;
};

void AddIds(const std::vector<runtime::TokenId>& ids, Hash128* hash) {
  const std::uint64_t count = ids.size();
  hash->Add(std::as_bytes(std::span(&count, 1)));
  hash->Add(std::as_bytes(std::span(ids)));
}

Result<std::vector<PromptCertificate>> Encode(const runtime::LoadedModel& model,
                                              const CertifyOptions& options) {
  std::vector<PromptCertificate> prompts;
  const auto add = [&](std::string_view text) {
    prompts.push_back({.text = std::string(text),
                       .prompt_ids = model.tokenizer.Encode(text),
                       .ids = {},
                       .fed = {},
                       .positions = {},
                       .prefill = {},
                       .decode = {}});
  };
  for (const std::string& text : options.prompts) add(text);
  for (const std::string_view text : BuiltinPrompts()) {
    if (options.prompts.empty()) add(text);
  }
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    if (!prompts[i].prompt_ids.empty()) continue;
    return Fail(ErrorCode::kInvalidArgument, fmt::format("prompt {} gives no tokens", i + 1));
  }
  return prompts;
}

/// The name of the arithmetic, besides the model: Certificate::code.
std::string CodeHash(const std::vector<PromptCertificate>& prompts, model::KvType kv_type) {
  std::string text =
      fmt::format("numerics {}\nkv {}\ntokens {}\n", model::kNumericsVersion,
                  request::ChoiceNameOf(request::kKvTypes, kv_type), kCertificateTokens);
  for (const PromptCertificate& prompt : prompts) {
    text += fmt::format("{}:{}\n", prompt.text.size(), prompt.text);
  }
  return HashOf(text);
}

Result<runtime::Session> CreateSession(const std::shared_ptr<const runtime::LoadedModel>& model,
                                       const std::vector<PromptCertificate>& prompts,
                                       runtime::SessionOptions options) {
  std::size_t longest = 0;
  for (const PromptCertificate& p : prompts) longest = std::max(longest, p.prompt_ids.size());
  const std::size_t limit = static_cast<std::size_t>(model->model.config().context_length);
  const std::size_t needed = longest + kCertificateTokens + kDetour;
  if (needed > limit) {
    return Fail(ErrorCode::kContextFull,
                fmt::format("a prompt of {} tokens needs a context of {}; the model's is {}",
                            longest, needed, limit));
  }
  options.context_length = static_cast<int>(needed);
  return runtime::Session::Create(model, options);
}

/// The ids to run after prompt `index`, where there is something to compare with.
Ids ForcedIds(const Certificate* expected, const std::vector<PromptCertificate>& prompts,
              std::size_t index) {
  if (expected == nullptr || expected->prompts.size() != prompts.size()) return {};
  const PromptCertificate& other = expected->prompts[index];
  const auto inside = [](runtime::TokenId id) { return id >= 0; };
  const bool usable =
      other.prompt_ids == prompts[index].prompt_ids && std::ranges::all_of(other.fed, inside);
  return usable ? Ids(other.fed) : Ids();
}

/// Runs the prompts the way users do: side by side in one engine, with drafts, zero skipping, fused
/// steps and the screened head, none of which a traced pass takes. Error kInternal where a token is
/// not the one that the traced pass chose.
Result<void> CheckOrdinaryPath(const std::shared_ptr<const runtime::LoadedModel>& model,
                               const runtime::Session& session, const CertifyOptions& options,
                               const std::vector<PromptCertificate>& prompts) {
  constexpr int kTogether = 4;
  auto engine =
      BITTERN_TRY(runtime::Engine::Create(model, {.max_sequences = kTogether,
                                                  .context_length = session.context_length(),
                                                  .kv_type = options.session.kv_type,
                                                  .batch_size = options.session.batch_size,
                                                  .num_threads = session.num_threads()}));
  Result<void> outcome;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const PromptCertificate& prompt = prompts[i];
    // If other tokens were forced, the text is not the likeliest one.
    if (!std::ranges::equal(prompt.fed, std::span(prompt.ids).first(prompt.fed.size()))) continue;
    const auto compare = [&outcome, &prompt, i](const runtime::Completion& done) {
      if (!outcome) return;
      if (!done.result) {
        outcome = tl::unexpected(done.result.error());
        return;
      }
      const std::vector<runtime::TokenId>& ids = done.result->ids;
      const auto [got, want] = std::ranges::mismatch(ids, prompt.ids);
      if (got == ids.end() && want == prompt.ids.end()) return;
      outcome = Fail(ErrorCode::kInternal,
                     fmt::format("prompt {}, token {}: the ordinary path gives another token than "
                                 "the traced one; please report this",
                                 i + 1, got - ids.begin()));
    };
    BITTERN_TRY(engine.Submit({.prompt = prompt.prompt_ids,
                               .options = {.max_tokens = kCertificateTokens,
                                           .sampler = {.temperature = 0},
                                           .ignore_eos = true,
                                           .speculation = runtime::Speculation::kAlways},
                               .on_done = compare}));
  }
  engine.RunAll();
  return outcome;
}

}  // namespace

std::span<const std::string_view> BuiltinPrompts() noexcept { return kBuiltinPrompts; }

Result<Certificate> Certify(const std::shared_ptr<const runtime::LoadedModel>& model,
                            const CertifyOptions& options) {
  Certificate certificate;
  certificate.version = options.version;
  certificate.num_layers = model->model.config().num_layers;
  certificate.prompts = BITTERN_TRY(Encode(*model, options));
  certificate.code = CodeHash(certificate.prompts, options.session.kv_type);
  auto session = BITTERN_TRY(CreateSession(model, certificate.prompts, options.session));
  const auto load = BITTERN_TRY(BackgroundLoad::Start(model, options.background_loads));
  Hash128 logits, tokens;
  for (std::size_t i = 0; i < certificate.prompts.size(); ++i) {
    PromptCertificate& prompt = certificate.prompts[i];
    const Ids forced = ForcedIds(options.expected, certificate.prompts, i);
    if (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed)) {
      return Fail(ErrorCode::kCancelled, "cancelled while certifying");
    }
    const auto on_token = [&](std::size_t count) {
      const double prompts =
          static_cast<double>(i) + static_cast<double>(count) / kCertificateTokens;
      if (options.on_progress) {
        options.on_progress(prompts / static_cast<double>(certificate.prompts.size()));
      }
    };
    BITTERN_TRY(PromptRun(&session, &logits, options, &prompt, certificate.num_layers, on_token)
                    .Run(forced));
    AddIds(prompt.prompt_ids, &tokens);
    AddIds(prompt.ids, &tokens);
  }
  BITTERN_TRY(CheckOrdinaryPath(model, session, options, certificate.prompts));
  certificate.logits = logits.Hex();
  certificate.tokens = tokens.Hex();
  auto pool = BITTERN_TRY(ThreadPool::Create(session.num_threads()));
  auto print = BITTERN_TRY(model::FingerprintOf(model->model, pool));
  certificate.model = std::move(print.hash);
  certificate.tensors = std::move(print.parts);
  return certificate;
}

}  // namespace bittern::proof
