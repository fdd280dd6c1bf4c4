// SPDX-License-Identifier: Apache-2.0
// A function a data set. Any number of threads.
#include "eval/question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json/json.hpp"
#include "base/utf8.hpp"
#include "eval/question_text.hpp"

namespace bittern::eval {
namespace {

tl::unexpected<Error> Wrong(std::string_view field, std::string_view expected, const Json* found) {
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: {} expected, {} found", field, expected,
                          found == nullptr ? "nothing" : found->Shown()));
}

Result<std::string> Text(const Json& object, std::string_view field) {
  const Json* value = object.Find(field);
  if (value == nullptr || value->AsString() == nullptr) return Wrong(field, "a text", value);
  return *value->AsString();
}

/// The text of the first of the fields that is there.
Result<std::string> TextOf(const Json& object, std::initializer_list<std::string_view> fields) {
  for (const std::string_view field : fields) {
    if (object.Find(field) != nullptr) return Text(object, field);
  }
  return Wrong(*fields.begin(), "a text", nullptr);
}

Result<std::vector<std::string>> Texts(const Json* value, std::string_view field) {
  if (value == nullptr || value->AsArray() == nullptr) return Wrong(field, "a list", value);
  std::vector<std::string> texts;
  for (const Json& element : *value->AsArray()) {
    if (element.AsString() == nullptr) return Wrong(field, "a list of texts", &element);
    texts.push_back(*element.AsString());
  }
  return texts;
}

/// A whole number of 0 or more, also as a text; nullopt if it is neither.
std::optional<std::size_t> NumberIn(const Json& value) {
  if (const auto number = value.AsUint()) return static_cast<std::size_t>(*number);
  if (const auto flag = value.AsBool()) return *flag ? 1 : 0;
  const std::string* text = value.AsString();
  if (text == nullptr) return std::nullopt;
  std::size_t number = 0;
  const char* end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

/// The index of the right answer: the first of the fields, `base` for the first answer.
Result<std::size_t> Gold(const Json& object, std::initializer_list<std::string_view> fields,
                         std::size_t base, std::size_t count) {
  for (const std::string_view field : fields) {
    const Json* value = object.Find(field);
    if (value == nullptr) continue;
    const auto number = NumberIn(*value);
    if (number && *number >= base && *number - base < count) return *number - base;
    return Wrong(field, fmt::format("a number from {} to {}", base, base + count - 1), value);
  }
  return Wrong(*fields.begin(), "the number of the right answer", nullptr);
}

/// Characters, not bytes: acc_norm of lm-evaluation-harness divides by len() of a Python string.
std::size_t CharactersIn(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(DecodeUtf8(text).size);
  return count;
}

/// Every answer after the same context, a space between.
Question Ask(std::string kind, const std::string& context, const std::vector<std::string>& answers,
             std::size_t gold) {
  Question question{.kind = std::move(kind), .gold = gold};
  for (const std::string& answer : answers) {
    question.choices.push_back({context, " " + answer, CharactersIn(answer)});
  }
  return question;
}

/// PIQA: {"goal", "sol1", "sol2", "label": 0 or 1}.
Result<Question> Piqa(const Json& line) {
  const std::string goal = BITTERN_TRY(Text(line, "goal"));
  const std::string first = BITTERN_TRY(Text(line, "sol1"));
  const std::string second = BITTERN_TRY(Text(line, "sol2"));
  const std::size_t gold = BITTERN_TRY(Gold(line, {"label"}, 0, 2));
  return Ask("piqa", "Question: " + goal + "\nAnswer:", {first, second}, gold);
}

/// The rest of the sentence after each option.
Result<Question> WinoGrande(const Json& line) {
  const std::string sentence = BITTERN_TRY(Text(line, "sentence"));
  const std::size_t blank = sentence.find('_');
  if (blank == std::string::npos) {
    return Fail(ErrorCode::kInvalidArgument, "sentence: a text with \"_\" expected");
  }
  const std::string rest(Stripped(std::string_view(sentence).substr(blank + 1)));
  const std::size_t gold = BITTERN_TRY(Gold(line, {"answer"}, 1, 2));
  Question question{.kind = "winogrande", .gold = gold};
  for (const char* field : {"option1", "option2"}) {
    const std::string option = BITTERN_TRY(Text(line, field));
    question.choices.push_back(
        {sentence.substr(0, blank) + option, " " + rest, CharactersIn(rest)});
  }
  return question;
}

/// BoolQ: {"passage", "question", "label" or "answer"}; the answers are "no" and "yes".
Result<Question> BoolQ(const Json& line) {
  const std::string passage = BITTERN_TRY(Text(line, "passage"));
  const std::string question = BITTERN_TRY(Text(line, "question"));
  const std::size_t gold = BITTERN_TRY(Gold(line, {"label", "answer"}, 0, 2));
  return Ask("boolq", passage + "\nQuestion: " + question + "?\nAnswer:", {"no", "yes"}, gold);
}

/// HellaSwag: {"ctx_a", "ctx_b", "activity_label", "endings", "label"}, or "ctx" alone. Marks that
/// WikiHow left in the texts are taken out.
Result<Question> HellaSwag(const Json& line) {
  std::string context;
  if (line.Find("ctx_a") != nullptr) {
    const std::string begin = BITTERN_TRY(Text(line, "ctx_a"));
    const std::string end = BITTERN_TRY(Text(line, "ctx_b"));
    context = begin + " " + Capitalised(end);
  } else {
    context = BITTERN_TRY(Text(line, "ctx"));
  }
  if (line.Find("activity_label") != nullptr) {
    context = BITTERN_TRY(Text(line, "activity_label")) + ": " + context;
  }
  auto answers = BITTERN_TRY(Texts(line.Find("endings"), "endings"));
  for (std::string& answer : answers) answer = WithoutWikiHowMarks(answer);
  const std::size_t gold = BITTERN_TRY(Gold(line, {"label"}, 0, answers.size()));
  return Ask("hellaswag", WithoutWikiHowMarks(context), answers, gold);
}

/// ARC: {"question", "choices": {"text", "label"}, "answerKey"}; labels are letters or numbers.
Result<Question> Arc(const Json& line) {
  const std::string question = BITTERN_TRY(TextOf(line, {"question", "question_stem"}));
  const Json& choices = *line.Find("choices");
  const auto answers = BITTERN_TRY(Texts(choices.Find("text"), "choices.text"));
  const auto labels = BITTERN_TRY(Texts(choices.Find("label"), "choices.label"));
  const std::string key = BITTERN_TRY(Text(line, "answerKey"));
  const auto gold = static_cast<std::size_t>(std::ranges::find(labels, key) - labels.begin());
  if (labels.size() != answers.size() || gold >= answers.size()) {
    return Wrong("answerKey", "one of choices.label, which are as many as choices.text",
                 line.Find("answerKey"));
  }
  return Ask("arc", "Question: " + question + "\nAnswer:", answers, gold);
}

/// The answers are letters; what they stand for is in the context.
Result<Question> Mmlu(const Json& line) {
  std::string subject = BITTERN_TRY(Text(line, "subject"));
  std::ranges::replace(subject, '_', ' ');
  const std::string question = BITTERN_TRY(Text(line, "question"));
  const auto answers = BITTERN_TRY(Texts(line.Find("choices"), "choices"));
  const std::size_t gold = BITTERN_TRY(Gold(line, {"answer"}, 0, answers.size()));
  std::string context =
      fmt::format("The following are multiple choice questions (with answers) about {}.\n\n{}\n",
                  subject, Stripped(question));
  std::vector<std::string> letters;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    letters.emplace_back(1, static_cast<char>('A' + i % 26));
    context += fmt::format("{}. {}\n", letters.back(), answers[i]);
  }
  return Ask("mmlu", context + "Answer:", letters, gold);
}

/// Any other list of answers. The first field of each kind that is there counts.
Result<Question> Other(const Json& line) {
  const std::string context = BITTERN_TRY(TextOf(line, {"query", "question", "context", "prompt"}));
  const auto answers = BITTERN_TRY(Texts(line.Find("choices"), "choices"));
  const std::size_t gold = BITTERN_TRY(Gold(line, {"gold", "label", "answer"}, 0, answers.size()));
  return Ask("choices", context, answers, gold);
}

/// One request: {"arg_0": context, "arg_1": continuation}, or a list of the two.
Result<Choice> LoggedChoice(const Json& value) {
  const Json *context = value.Find("arg_0"), *continuation = value.Find("arg_1");
  if (const Json::Array* pair = value.AsArray(); pair != nullptr && pair->size() == 2) {
    context = &(*pair)[0];
    continuation = &(*pair)[1];
  }
  const bool texts = context != nullptr && continuation != nullptr &&
                     context->AsString() != nullptr && continuation->AsString() != nullptr;
  if (!texts) return Wrong("arguments", "a context and a continuation", &value);
  std::string_view answer = *continuation->AsString();
  if (answer.starts_with(' ')) answer.remove_prefix(1);
  return Choice{*context->AsString(), *continuation->AsString(), CharactersIn(answer)};
}

/// The requests as they were made; the target is an index or the text of an answer.
Result<Question> Logged(const Json& line) {
  const Json& arguments = *line.Find("arguments");
  Question question{.kind = "logged"};
  if (arguments.AsObject() != nullptr) {
    for (const Json::Member& member : *arguments.AsObject()) {
      question.choices.push_back(BITTERN_TRY(LoggedChoice(member.value)));
    }
  } else if (arguments.AsArray() != nullptr) {
    for (const Json& pair : *arguments.AsArray()) {
      question.choices.push_back(BITTERN_TRY(LoggedChoice(pair)));
    }
  }
  const Json* target = line.Find("target");
  if (target != nullptr && target->AsString() != nullptr) {
    for (std::size_t i = 0; i < question.choices.size(); ++i) {
      if (Stripped(question.choices[i].continuation) != Stripped(*target->AsString())) continue;
      question.gold = i;
      return question;
    }
  }
  question.gold = BITTERN_TRY(Gold(line, {"target"}, 0, question.choices.size()));
  return question;
}

/// Tells the data set by its fields. The order matters, as some names stand in several sets.
Result<Question> ReadObject(const Json& line) {
  const auto has = [&](std::string_view field) { return line.Find(field) != nullptr; };
  if (has("arguments")) return Logged(line);
  if (has("goal")) return Piqa(line);
  if (has("sentence")) return WinoGrande(line);
  if (has("passage")) return BoolQ(line);
  if (has("endings")) return HellaSwag(line);
  if (!has("choices")) {
    return Fail(ErrorCode::kInvalidArgument, "a question with \"choices\" expected");
  }
  if (line.Find("choices")->AsObject() != nullptr) return Arc(line);
  return has("subject") ? Mmlu(line) : Other(line);
}

}  // namespace

Result<Question> ReadQuestion(std::string_view line) {
  const auto parsed = Json::Parse(line, {});
  if (!parsed) return Fail(ErrorCode::kInvalidArgument, parsed.error().message);
  if (parsed->AsObject() == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "a JSON object expected");
  }
  Question question = BITTERN_TRY(ReadObject(*parsed));
  if (question.choices.size() < 2) {
    return Fail(ErrorCode::kInvalidArgument, "two or more answers expected");
  }
  return question;
}

}  // namespace bittern::eval
