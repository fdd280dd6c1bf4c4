// SPDX-License-Identifier: Apache-2.0
#include "report/decisions.hpp"

#include "base/json/json.hpp"

namespace bittern::report {

std::string ReasonText(const Decision& decision) {
  return decision.hint.empty() ? decision.reason : decision.reason + "; " + decision.hint;
}

Json DecisionsJson(const Decisions& decisions) {
  Json list = Json::MakeArray();
  for (const Decision& decision : decisions) {
    list.push_back({{"subject", decision.subject},
                    {"choice", decision.choice},
                    {"reason", ReasonText(decision)},
                    {"notable", decision.notable}});
  }
  return list;
}

}  // namespace bittern::report
