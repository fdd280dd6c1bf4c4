// SPDX-License-Identifier: Apache-2.0
// What asks for an answer depends on the template and on the roles before it: nearly always a
// user's message, sometimes a tool's. So each kind of place is rendered once, where it occurs
// first.
#include "runtime/chat/chat_answers.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace bittern::runtime {
namespace {

using jinja::Text;

/// The end of the last bytes of a message, and which one.
struct LastSaid {
  std::size_t end = 0;
  std::optional<std::size_t> message = {};
};

/// An answer whose bytes begin at `begin`, and what was said before these.
struct Answer {
  std::size_t message, begin;
  LastSaid before;
};

/// The first bytes of each answer, in the order of the text.
std::vector<Answer> AnswersIn(const Text& whole, std::span<const std::string_view> roles) {
  std::vector<Answer> answers;
  std::vector<bool> seen(roles.size(), false);
  LastSaid said;
  std::size_t begin = 0;
  for (const Text::Run& run : whole.runs()) {
    if (const auto message = run.origin.message(); message && *message < roles.size()) {
      if (!seen[*message] && roles[*message] == "assistant") {
        answers.push_back({*message, begin, said});
      }
      seen[*message] = true;
      said = {run.end, message};
    }
    begin = run.end;
  }
  return answers;
}

LastSaid LastSaidIn(const Text& text) {
  LastSaid said;
  for (const Text::Run& run : text.runs()) {
    if (const auto message = run.origin.message()) said = {run.end, message};
  }
  return said;
}

/// The roles from the message that was written last to the one before the answer. Nothing where the
/// template does not write messages in their order, or where many were silent.
std::optional<std::string> PlaceOf(const Answer& answer, std::span<const std::string_view> roles) {
  const std::size_t first = answer.before.message.value_or(0);
  constexpr std::size_t kMostRoles = 8;  // a bound for templates that repeat an early message
  if (first > answer.message || answer.message - first > kMostRoles) return std::nullopt;
  std::string place(answer.before.message ? "said" : "");
  for (const std::string_view role : roles.subspan(first, answer.message - first)) {
    place += '\n';
    place += role;
  }
  return place;
}

/// What a template writes at a place of a conversation to ask for an answer.
struct Question {
  std::string place;
  std::optional<std::string> text;  ///< nothing: it cannot be told
};

bool IsInsideCharacter(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

}  // namespace

std::vector<std::size_t> FindAnswers(const Text& whole, std::span<const std::string_view> roles,
                                     const std::function<Result<Text>(std::size_t count)>& render) {
  std::vector<std::size_t> begins;
  std::vector<Question> questions;
  const auto question_at = [&](const std::string& place, const Answer& answer) {
    const auto known = std::ranges::find(questions, place, &Question::place);
    if (known != questions.end()) return known->text;
    if (questions.size() == kMostAnswerRenderings) return std::optional<std::string>();
    std::optional<std::string> question;
    if (const auto text = render(answer.message); text.has_value()) {
      const LastSaid said = LastSaidIn(*text);
      if (said.message == answer.before.message) question = text->bytes().substr(said.end);
    }
    questions.push_back({place, question});
    return question;
  };
  for (const Answer& answer : AnswersIn(whole, roles)) {
    const auto place = PlaceOf(answer, roles);
    if (!place) continue;
    const auto question = question_at(*place, answer);
    if (!question) continue;
    const std::string_view between =
        std::string_view(whole.bytes()).substr(answer.before.end, answer.begin - answer.before.end);
    const std::size_t at = answer.before.end + question->size();
    if (!between.starts_with(*question) || IsInsideCharacter(whole.bytes(), at)) continue;
    begins.push_back(at);
  }
  return begins;
}

}  // namespace bittern::runtime
