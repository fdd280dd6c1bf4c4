// SPDX-License-Identifier: Apache-2.0
// Multiple-choice questions, a JSON line each.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/hash.hpp"
#include "base/json/json.hpp"
#include "eval/job/job.hpp"
#include "eval/multiple_choice.hpp"

namespace bittern::eval {
namespace {

/// How many questions were answered rightly.
struct ExamTally {
  std::size_t questions = 0, right = 0, right_norm = 0;
};

/// acc and acc_norm with one standard error each, as lm-evaluation-harness has them.
void AddShares(const ExamTally& tally, Json* object) {
  const auto all = static_cast<double>(tally.questions);
  const auto add = [&](const std::string& name, std::size_t right) {
    const double share = static_cast<double>(right) / all;
    (*object)[name] = share;
    (*object)[name + "_error"] =
        tally.questions < 2 ? 0.0 : std::sqrt(share * (1 - share) / (all - 1));
  };
  (*object)["questions"] = tally.questions;
  add("acc", tally.right);
  add("acc_norm", tally.right_norm);
}

/// The questions, and what the model reads of each.
struct Exam {
  std::vector<Question> questions;
  std::vector<ScoreGroup> groups;
};

/// Reads one line into both lists of the exam.
Result<void> AddQuestion(const Job& job, std::string_view line, int context, Exam* exam) {
  exam->questions.push_back(BITTERN_TRY(ReadQuestion(line)));
  exam->groups.push_back(
      BITTERN_TRY(TokensOf(exam->questions.back(), job.model->tokenizer, context)));
  return {};
}

/// Reads all questions before the first is asked, so that a bad line costs no time. Blank lines are
/// skipped; errors name the line.
Result<Exam> ReadExam(const Job& job) {
  const int limit = job.model->model.config().context_length;
  const int wanted = job.options.window;
  const int context = wanted == 0 ? limit : std::min(wanted, limit);
  Exam exam;
  std::size_t number = 0;
  for (std::string_view rest = job.text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const bool enough = job.options.most >= 0 &&
                        exam.questions.size() == static_cast<std::size_t>(job.options.most);
    if (enough) break;
    BITTERN_TRY(AddQuestion(job, line, context, &exam).map_error([&](Error error) {
      return Within(fmt::format("{} line {}", job.options.input, number), std::move(error));
    }));
  }
  if (!exam.questions.empty()) return exam;
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: there are no questions", job.options.input));
}

/// Adds a question up from its line in the results.
void CountAnswer(const Json& line, std::map<std::string, ExamTally>* tallies) {
  for (const std::string& kind : {std::string(), line["kind"].text()}) {
    ExamTally& tally = (*tallies)[kind];
    const auto gold = CountIn(line, "gold");
    ++tally.questions;
    tally.right += CountIn(line, "chosen") == gold ? 1 : 0;
    tally.right_norm += CountIn(line, "chosen_norm") == gold ? 1 : 0;
  }
}

/// The shares of all questions and, where there are several kinds, of each kind.
Json ExamSummary(Json subject, const std::map<std::string, ExamTally>& tallies) {
  AddShares(tallies.at(""), &subject);
  for (const auto& [kind, tally] : tallies) {
    if (kind.empty() || tallies.size() == 2) continue;
    AddShares(tally, &subject["kinds"][kind]);
  }
  return subject;
}

}  // namespace

/// Questions whose lines are in the output already are counted from there, not asked again.
Result<Json> ScoreChoices(const Job& job) {
  const Exam exam = BITTERN_TRY(ReadExam(job));
  Json subject = {{"file", job.options.input}, {"model", job.model->model.checkpoint().path()}};
  Json header = subject;
  header["hash"] = HashOf(job.text);
  header["questions"] = exam.questions.size();
  auto lines = BITTERN_TRY(ResultLines::Open(job.options, header));
  std::map<std::string, ExamTally> tallies;
  for (const auto& line : lines.earlier()) CountAnswer(line, &tallies);
  const std::size_t first = std::min(lines.earlier().size(), exam.questions.size());
  const auto on_group = [&](std::size_t index, const GroupScores& scores) -> Result<void> {
    const Question& question = exam.questions[first + index];
    const Answer answer = AnswerOf(question, scores);
    const Json line = {{"question", first + index},
                       {"kind", question.kind},
                       {"gold", question.gold},
                       {"chosen", answer.chosen},
                       {"chosen_norm", answer.chosen_norm},
                       {"log_likelihoods", answer.log_likelihoods}};
    CountAnswer(line, &tallies);
    job.Tell(first + index + 1, exam.questions.size(), [&] {
      return ProgressText(job, "questions", index + 1, first, exam.questions.size());
    });
    return lines.Write(line);
  };
  const auto stats =
      BITTERN_TRY(Score(job.model, std::span(exam.groups).subspan(first), job.score, on_group));
  auto summary = ExamSummary(std::move(subject), tallies);
  summary["tokens_run"] = stats.tokens_run;
  summary["tokens_shared"] = stats.tokens_shared;
  summary["passes"] = stats.passes;
  summary["seconds"] = job.seconds();
  return summary;
}

}  // namespace bittern::eval
