// SPDX-License-Identifier: Apache-2.0
// The summary of a scored text or of questions as lines of text.
#pragma once

#include <string>

#include "eval/job/job.hpp"

namespace bittern::eval {

/// `result`: of ScoreText or ScoreChoices.
[[nodiscard]] std::string SummaryText(const Json& result);

}  // namespace bittern::eval
