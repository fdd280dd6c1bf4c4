// SPDX-License-Identifier: Apache-2.0
// A shape makes llama-server's object from an outcome; the other handlers answer at once.
#include "serve/api/llama/completion.hpp"

#include <fmt/format.h>

#include <limits>

#include "base/utf8.hpp"
#include "proof/receipt/receipt.hpp"
#include "serve/api/llama/status.hpp"
#include "serve/api/openai/errors.hpp"
#include "serve/api/shared/json_text.hpp"
#include "serve/api/shared/native_answer.hpp"
#include "serve/api/shared/telemetry.hpp"
#include "serve/core/requests.hpp"
#include "serve/core/weight_hash.hpp"

namespace bittern::serve {
namespace {

/// The answer of /completion. A stream ends with a chunk that has "stop": true and every field of a
/// whole answer except its text. `only` has the paths of response_fields; streams ignore them.
class LlamaShape : public AnswerShape {
 public:
  LlamaShape(const Service& service, const TextRequest& request, bool return_tokens,
             std::vector<std::string> only)
      : native_(service, request,
                {.tokens = return_tokens, .probabilities = true, .receipt = true}),
        telemetry_(request.telemetry, request.sequences()),
        only_(std::move(only)) {}

  HttpReply Refusal(const ApiError& error) const override { return OpenAiError(error); }
  std::string Progress(std::size_t choice, const runtime::SequenceTimings& so_far) override {
    const auto progress = telemetry_.Note(choice, so_far);
    if (!progress) return {};
    Json event = Chunk(choice, "");
    event["prompt_progress"] = *progress;
    return Event(event);
  }
  /// One chunk of a stream: the text since the last chunk.
  std::string Piece(std::size_t choice, std::string_view text, const TokenList& tokens) override {
    Json event = Chunk(choice, text);
    native_.AddProbabilities(tokens, &event);
    return Event(event);
  }
  /// The last chunk. Its text was sent in pieces before, so "content" is empty here.
  std::string Finished(std::size_t choice, const Outcome& outcome,
                       const TokenList& tokens) override {
    Json last = native_.Of(choice, outcome);
    last["content"] = "";
    last.Erase("completion_probabilities");
    if (!tokens.empty()) native_.AddProbabilities(tokens, &last);
    return Event(last);
  }
  std::string End(std::span<const Outcome>) override { return {}; }
  /// One object, or a list of objects where there are several prompts or choices.
  std::string Whole(std::span<const Outcome> outcomes) override {
    Json all = native_.OfAll(outcomes);
    if (outcomes.size() == 1) return Dump(Wanted(std::move(all)));
    Json wanted = Json::MakeArray();
    for (const Json& one : all.elements()) wanted.push_back(Wanted(one));
    return Dump(wanted);
  }

 private:
  [[nodiscard]] Json Chunk(std::size_t choice, std::string_view text) const {
    Json event = {{"index", choice},
                  {"content", std::string(text)},
                  {"tokens", Json::MakeArray()},
                  {"stop", false},
                  {"id_slot", -1},
                  {"tokens_evaluated", native_.PromptOf(choice).size()}};
    telemetry_.AddTimings(choice, &event);
    return event;
  }
  /// The fields of response_fields ("timings/prompt_n"), each under its path; none asked for: all.
  [[nodiscard]] Json Wanted(Json result) const {
    if (only_.empty()) return result;
    Json some = Json::MakeObject();
    for (const std::string& path : only_) {
      if (const Json* found = FindPath(result, path)) some[path] = *found;
    }
    return some;
  }
  /// The value at "name/name/...": of members only. Null where there is none.
  static const Json* FindPath(const Json& object, std::string_view path) {
    const std::size_t slash = path.find('/');
    const Json* member = object.Find(path.substr(0, slash));
    if (member == nullptr || slash == std::string_view::npos) return member;
    return FindPath(*member, path.substr(slash + 1));
  }

  NativeAnswer native_;
  Telemetry telemetry_;
  std::vector<std::string> only_;
};

/// Names in "response_fields", at most.
constexpr std::size_t kMostFields = 64;

/// A token's bytes: text where they are UTF-8, else a list of numbers.
Json PieceJson(std::string_view bytes) {
  if (ReplaceInvalidUtf8(bytes) == bytes) return std::string(bytes);
  Json list = Json::MakeArray();
  for (const char c : bytes) list.push_back(static_cast<unsigned char>(c));
  return list;
}

/// Takes as long as reading the answers does, and as the hash of the weights where that is not
/// known.
Result<void> VerifyAll(Service* service, const std::vector<proof::ReadReceipt>& receipts,
                       const std::shared_ptr<Exchange>& exchange) {
  const std::string hash = BITTERN_TRY(service->model_hash().Wait());
  const auto verdict = BITTERN_TRY(proof::VerifyReceipts(service->shared_model(), hash, receipts,
                                                         service->options().engine.num_threads));
  exchange->Reply({.body = Dump({{"identical", verdict.identical}, {"what", verdict.what}})});
  return {};
}

}  // namespace

/// POST /completion of llama-server. "n" and "n_cmpl" are two names of the same field. The fields
/// of OnlyNeutral are errors unless they have the value that changes nothing.
Result<void> LlamaCompletion(Service* service, const ApiRequest& request,
                             const std::shared_ptr<Exchange>& exchange) {
  const Json& body = request.body;
  TextRequest call{.prompts = {}, .options = service->options().defaults};
  auto fields = BITTERN_TRY(FieldReader::Open(body, {}, service->UnreadOf(&call)));
  bool return_tokens = false;
  std::vector<std::string> only;
  BITTERN_TRY(ReadSampling(&fields, service->target(), &call));
  BITTERN_TRY(ReadChoices(&fields, "n", &call.choices));
  BITTERN_TRY(ReadChoices(&fields, "n_cmpl", &call.choices));
  BITTERN_TRY(fields.Flag("stream", &call.stream));
  BITTERN_TRY(fields.Flag("return_tokens", &return_tokens));
  BITTERN_TRY(fields.Texts("response_fields", kMostFields, &only));
  for (const std::string& path : only) {
    if (path.find('~') == std::string::npos) continue;  // JSON pointers give it a meaning
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("response_fields: there is no field \"{}\"", path));
  }
  int probs = 0;
  BITTERN_TRY(fields.Int("n_probs", 0, kMostLogprobs, &probs));
  if (probs > 0) call.options.logprobs = probs;
  call.prompts = BITTERN_TRY(ReadPrompts(&fields, service->target(), &call.cut));
  BITTERN_TRY(ReadTelemetry(&fields, &call.telemetry));
  BITTERN_TRY(fields.Flag("post_sampling_probs", &call.options.logprobs_of_draw));
  BITTERN_TRY(fields.OnlyNeutral({"n_indent"}));
  fields.Ignore({"stream_options", "sse_ping_interval"});
  fields.Ignore({"verbose"});  // at OpenAI's doors it adds what this door answers with
  BITTERN_TRY(fields.Finish());
  auto shape = std::make_unique<LlamaShape>(*service, call, return_tokens, std::move(only));
  StartCall(service, std::move(call), std::move(shape), exchange);
  return {};
}

/// The most that /tokenize gives with "with_pieces": an answer of some 30 MB.
constexpr std::size_t kMostPieces = 1'000'000;

/// POST /tokenize of llama-server: {"content"} becomes {"tokens"}. With "with_pieces" each token is
/// {"id", "piece"}. vLLM's names for the same are "prompt" and "add_special_tokens".
Result<void> Tokenize(Service* service, const ApiRequest& request,
                      const std::shared_ptr<Exchange>& exchange) {
  const Json& body = request.body;
  auto fields = BITTERN_TRY(FieldReader::Open(body));
  std::string content;
  bool add_special = false, parse_special = true, with_pieces = false;
  if (fields.Has("prompt") && fields.Has("content")) {
    return Fail(ErrorCode::kInvalidArgument, "prompt: one text expected, two found");
  }
  add_special = fields.Has("prompt");  // vLLM's default
  BITTERN_TRY(fields.Text("content", &content));
  BITTERN_TRY(fields.Text("prompt", &content));
  BITTERN_TRY(fields.Flag("add_special", &add_special));
  BITTERN_TRY(fields.Flag("add_special_tokens", &add_special));
  BITTERN_TRY(fields.Flag("parse_special", &parse_special));
  BITTERN_TRY(fields.Flag("with_pieces", &with_pieces));
  fields.Ignore({"model"});
  BITTERN_TRY(fields.Finish());
  const tokenizer::Tokenizer& tokenizer = service->tokenizer();
  const auto ids =
      tokenizer.Encode(content, {.add_bos = add_special, .parse_special = parse_special});
  if (with_pieces && ids.size() > kMostPieces) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("with_pieces: {} tokens at most expected, {} found; send the text in "
                            "parts",
                            kMostPieces, ids.size()));
  }
  std::string list;
  for (const TokenId id : ids) {
    list += list.empty() ? "" : ",";
    list += with_pieces ? Dump({{"id", id}, {"piece", PieceJson(tokenizer.TokenBytes(id, true))}})
                        : fmt::format("{}", id);
  }
  exchange->Reply({.body = fmt::format("{{\"tokens\":[{}]}}", list)});
  return {};
}

/// POST /detokenize of llama-server: {"tokens"} becomes {"content"} ("prompt" in vLLM). Bytes that
/// are no UTF-8 become U+FFFD, since JSON cannot hold them.
Result<void> Detokenize(Service* service, const ApiRequest& request,
                        const std::shared_ptr<Exchange>& exchange) {
  const Json& body = request.body;
  auto fields = BITTERN_TRY(FieldReader::Open(body));
  const Json* tokens = fields.Take("tokens");
  fields.Ignore({"model"});
  const Json::Array* list = tokens == nullptr ? nullptr : tokens->AsArray();
  if (list == nullptr) {
    return WrongField("tokens", "a list of token ids", tokens == nullptr ? Json() : *tokens);
  }
  BITTERN_TRY(fields.Finish());
  const auto vocabulary = static_cast<std::uint64_t>(service->tokenizer().vocab_size());
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto id = (*list)[i].AsUint();
    if (!id || *id >= vocabulary) {
      return WrongField(fmt::format("tokens[{}]", i),
                        fmt::format("a token id from 0 to {}", vocabulary - 1), (*list)[i]);
    }
    ids.push_back(static_cast<TokenId>(*id));
  }
  const std::string text = ReplaceInvalidUtf8(service->tokenizer().Decode(ids, true));
  exchange->Reply({.body = Dump({{"content", text}, {"prompt", text}})});
  return {};
}

/// POST /apply-template of llama-server: {"prompt"}, the conversation as the model would read it;
/// and "tokens", its ids, which llama-server does not give.
Result<void> ApplyTemplate(Service* service, const ApiRequest& request,
                           const std::shared_ptr<Exchange>& exchange) {
  const Json& body = request.body;
  TextRequest call;
  auto fields = BITTERN_TRY(FieldReader::Open(body, {}, service->UnreadOf(&call)));
  const ToolRequest tools = BITTERN_TRY(ReadTools(&fields));
  auto messages = BITTERN_TRY(ReadMessages("messages", fields.Take("messages"), fields.unread()));
  auto more = BITTERN_TRY(ReadTemplateFields(&fields));
  fields.Ignore({"model"});
  BITTERN_TRY(fields.Finish());
  const auto prompt = BITTERN_TRY(RenderWithTools(std::move(messages), std::move(more), tools,
                                                  service->counting_target(), &call));
  exchange->Reply({.body = Dump({{"prompt", prompt.text.bytes()}, {"tokens", prompt.ids}})});
  return {};
}

/// POST /verify, of this server only. The body is a receipt, or an answer that holds receipts. They
/// are replayed by the slow worker, since that takes as long as the answers did.
Result<void> Verify(Service* service, const ApiRequest& request,
                    const std::shared_ptr<Exchange>& exchange) {
  const auto receipts = BITTERN_TRY(proof::ParseReceipts(request.http.body, service->tokenizer()));
  service->slow_worker().Post([service, exchange, receipts] {
    if (exchange->gone().load()) return;
    const auto done = VerifyAll(service, receipts, exchange);
    if (!done.has_value()) exchange->Reply(OpenAiError(ApiErrorOf(done.error())));
  });
  return {};
}

}  // namespace bittern::serve
