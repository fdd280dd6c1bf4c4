// SPDX-License-Identifier: Apache-2.0
#include "proof/trace/summary.hpp"

#include <fmt/format.h>

#include "base/json/json.hpp"
#include "proof/trace/operations.hpp"

namespace bittern::proof {
namespace {

Json DifferenceJson(const TraceDifference& d) {
  Json object = {{"layer", d.layer},
                 {"operation", OperationName(d.operation)},
                 {"position", d.position},
                 {"distance", d.distance},
                 {"inputs_distance", d.inputs},
                 {"rounding_explains", d.tolerance}};
  if (d.layer < 0) object["layer"] = nullptr;
  if (d.largest) object["largest_difference"] = *d.largest;
  return object;
}

}  // namespace

std::string ComparisonJson(const TraceComparison& found) {
  Json object = {{"verdict", LikenessName(found.likeness)},
                 {"summary", found.summary},
                 {"layer", nullptr},
                 {"operation", nullptr},
                 {"position", nullptr},
                 {"compared", found.compared}};
  if (found.first) object.Update(DifferenceJson(*found.first));
  if (found.largest) object["furthest"] = DifferenceJson(*found.largest);
  return object.Dump(2) + "\n";
}

std::string TraceText(const Trace& trace) {
  std::string text = fmt::format("{:<22} {:>11} {:>11} {:>11} {:>11} {:>7}\n", "last position",
                                 "norm", "mean", "min", "max", "zeros");
  for (std::size_t step = 0; step < NumSteps(trace.num_layers); ++step) {
    const auto [layer, operation] = PlaceOf(step, trace.num_layers);
    const TraceStep& own = trace.at(step, trace.tokens.size() - 1);
    if (own.count == 0) continue;
    const std::string name = layer < 0 ? std::string(OperationName(operation))
                                       : fmt::format("{} {}", layer, OperationName(operation));
    text += fmt::format("{:<22} {:>11.5g} {:>11.4g} {:>11.4g} {:>11.4g} {:>6.1f}%\n", name,
                        own.norm, own.mean, own.least, own.most, 100 * own.zeros);
  }
  return text;
}

}  // namespace bittern::proof
