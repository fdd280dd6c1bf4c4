// SPDX-License-Identifier: Apache-2.0
// The words that ask for an answer depend on the template and on the roles before them: nearly
// always a user's message, sometimes a tool's. So each kind of place is rendered once, where it
// occurs first.
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

/// The last bytes in the text that come from a message.
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

/// The words of a template that ask for an answer at a place of a conversation.
struct Question {
  std::string place;
  std::optional<std::string> text;  ///< nothing: it cannot be told
};

/// True if the byte at `at` goes on with a UTF-8 character: a text must not be cut there.
bool IsInsideCharacter(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

/// Renders places until what asks there is known, as often as kMostAnswerRenderings.
class Questions {
 public:
  using Render = std::function<Result<Text>(std::size_t count)>;
  explicit Questions(const Render& render) : render_(render) {}

  /// The longest known question at this place that `between`, the text from the last message to the
  /// answer's bytes, begins with. One that is not known is rendered.
  std::optional<std::size_t> SizeAt(const std::string& place, const Answer& answer,
                                    std::string_view between) {
    std::optional<std::size_t> size;
    for (const Question& known : questions_) {
      const bool fits = known.place == place && known.text && between.starts_with(*known.text);
      if (fits && (!size || known.text->size() > *size)) size = known.text->size();
    }
    if (size || questions_.size() == kMostAnswerRenderings) return size;
    questions_.push_back({place, std::nullopt});
    if (const auto text = render_(answer.message); text.has_value()) {
      const LastSaid said = LastSaidIn(*text);
      if (said.message == answer.before.message) {
        questions_.back().text = text->bytes().substr(said.end);
        if (between.starts_with(*questions_.back().text)) return questions_.back().text->size();
      }
    }
    return std::nullopt;
  }

 private:
  const Render& render_;
  std::vector<Question> questions_;
};

}  // namespace

/// An answer begins behind the words that ask for it: they are cut off the text between the message
/// before it and its own first bytes.
std::vector<std::size_t> FindAnswers(const Text& whole, std::span<const std::string_view> roles,
                                     const std::function<Result<Text>(std::size_t count)>& render) {
  std::vector<std::size_t> begins;
  Questions questions(render);
  const std::string_view bytes = whole.bytes();
  for (const Answer& answer : AnswersIn(whole, roles)) {
    const auto place = PlaceOf(answer, roles);
    if (!place) continue;
    const std::size_t from = answer.before.end;
    const auto size = questions.SizeAt(*place, answer, bytes.substr(from, answer.begin - from));
    if (size && !IsInsideCharacter(bytes, from + *size)) begins.push_back(from + *size);
  }
  return begins;
}

}  // namespace bittern::runtime
