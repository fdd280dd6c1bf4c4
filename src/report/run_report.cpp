// SPDX-License-Identifier: Apache-2.0
#include "report/run_report.hpp"

#include "report/decisions.hpp"
#include "report/timings.hpp"
#include "request/answer_json.hpp"

namespace bittern::report {

/// The object of `run --json`.
Json RunJson(const RunReport& run, const Decisions& decisions) {
  Json json = {{"model", run.model->model.checkpoint().path()},
               {"prompt_ids", run.prompt_ids},
               {"ids", run.result.ids},
               {"text", run.result.text},
               {"finish_reason", runtime::FinishReasonName(run.result.finish)},
               {"cut", run.result.cut},
               {"seed", run.result.seed},
               {"timings", TimingsJson(run.timings)},
               {"savings", SavingsJson(run.savings)},
               {"threads", {{"given", run.threads}, {"used", run.threads_used}}},
               {"decisions", DecisionsJson(decisions)}};
  if (run.with_logprobs) {
    json["logprobs"]["content"] = request::LogprobsJson(run.result.logprobs, run.model->tokenizer);
  }
  return json;
}

/// A reply of `chat --json`; n_past is the length of the context, as llama.cpp calls it.
Json ReplyJson(std::string_view user, const runtime::GenerateResult& reply, bool with_logprobs,
               const runtime::Session& session) {
  Json json = {{"user", user},
               {"text", reply.text},
               {"ids", reply.ids},
               {"finish_reason", runtime::FinishReasonName(reply.finish)},
               {"cut", reply.cut},
               {"seed", reply.seed},
               {"n_past", session.tokens().size()},
               {"draft_n", reply.drafted},
               {"draft_n_accepted", reply.accepted},
               {"forced_n", reply.forced}};
  if (with_logprobs) {
    json["logprobs"]["content"] = request::LogprobsJson(reply.logprobs, session.model().tokenizer);
  }
  return json;
}

}  // namespace bittern::report
