// SPDX-License-Identifier: Apache-2.0
// A callback may itself make a text, of another sequence: so the part of the outer text comes back
// when the inner one has ended.
#include "capi/text_part.hpp"

#include <utility>

#include "base/json/json.hpp"
#include "capi/call.hpp"
#include "request/answer_json.hpp"

namespace bittern::capi {
namespace {

thread_local const TextParts* current_part = nullptr;

/// Makes a part this thread's current one while it lives.
class PartScope {
 public:
  explicit PartScope(const TextParts* part) noexcept : before_(std::exchange(current_part, part)) {}
  PartScope(const PartScope&) = delete;
  PartScope& operator=(const PartScope&) = delete;
  ~PartScope() { current_part = before_; }

 private:
  const TextParts* before_;
};

}  // namespace

void TextParts::Watch(const std::shared_ptr<TextParts>& parts, runtime::GenerateOptions* options) {
  if (parts->on_text_ == nullptr) return;
  parts->has_logprobs_ = options->logprobs >= 0;
  options->on_token = [parts](runtime::TokenId id, const runtime::TokenLogprobs* logprobs) {
    parts->ids_.push_back(id);
    if (logprobs != nullptr) parts->logprobs_.push_back(*logprobs);
  };
}

std::function<bool(std::string_view)> TextParts::Callback(const std::shared_ptr<TextParts>& parts) {
  if (parts->on_text_ == nullptr) return {};
  return [parts](std::string_view text) { return parts->Show(text); };
}

const TextParts* TextParts::Current() noexcept { return current_part; }

std::string TextParts::JsonText() const {
  Json json = Json::MakeObject();
  if (has_logprobs_) json["logprobs"] = request::LogprobsJson(logprobs_, model_.tokenizer);
  return json.Dump();
}

/// The C callback stops with non-zero, the layers below with false.
bool TextParts::Show(std::string_view text) {
  text_ = text;
  bool goes_on = false;
  {
    const PartScope scope(this);
    goes_on = on_text_(user_, text.data(), text.size()) == 0;
  }
  text_ = {};
  ids_.clear();
  logprobs_.clear();
  return goes_on;
}

}  // namespace bittern::capi

using namespace bittern;        // NOLINT: the C function below stands outside of any namespace
using namespace bittern::capi;  // NOLINT

bittern_status bittern_text_part(bittern_result** result) {
  return Call([&]() -> Result<void> {
    BITTERN_TRY(NeedPointer(result, "result"));
    const TextParts* part = TextParts::Current();
    if (part == nullptr) {
      return Fail(ErrorCode::kInvalidArgument, "this thread is in no text callback");
    }
    auto given = std::make_shared<ResultObject>();
    given->text = part->text();
    given->ids.assign(part->ids().begin(), part->ids().end());
    given->json = part->JsonText();
    Give(std::move(given), result);
    return {};
  });
}
