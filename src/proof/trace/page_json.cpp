// SPDX-License-Identifier: Apache-2.0
// The figures of a trace and of a comparison as the page draws them (report/page/trace.js).
#include "proof/trace/page_json.hpp"

#include <algorithm>
#include <cmath>

namespace bittern::proof {
namespace {

Json FiniteOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// [operation][layer + 1][position] -> [shade, norm, mean, min, max, zeros]; null where missing.
Json StepsOf(const PageInput& input, double* low, double* high) {
  const Trace& trace = *input.trace;
  Json steps = Json::MakeArray();
  for (std::size_t i = 0; i < kNumOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    Json layers = Json::MakeArray();
    for (int layer = -1; layer < trace.num_layers; ++layer) {
      const bool outside = operation == Operation::kEmbedding || operation >= Operation::kFinalNorm;
      Json positions = Json::MakeArray();
      for (std::size_t p = 0; p < trace.tokens.size() && (layer < 0) == outside; ++p) {
        const std::size_t step = StepOf(layer, operation, trace.num_layers);
        const TraceStep& own = trace.at(step, p);
        if (own.count == 0) {
          positions.push_back(nullptr);
          continue;
        }
        const double shade = input.comparison == nullptr
                                 ? own.norm
                                 : input.comparison->distances[step * trace.tokens.size() + p];
        if (shade > 0 && std::isfinite(shade)) {
          *low = std::min(*low, std::log10(shade));
          *high = std::max(*high, std::log10(shade));
        }
        positions.push_back({FiniteOrNull(shade), FiniteOrNull(own.norm), FiniteOrNull(own.mean),
                             FiniteOrNull(own.least), FiniteOrNull(own.most), own.zeros});
      }
      layers.push_back(std::move(positions));
    }
    steps.push_back(std::move(layers));
  }
  return steps;
}

Json StreamOf(const Trace& trace) {
  Json stream = Json::MakeArray();
  for (std::size_t p = 0; p < trace.tokens.size(); ++p) {
    Json norms = Json::MakeArray();
    norms.push_back(FiniteOrNull(trace.at(0, p).norm));
    for (int layer = 0; layer < trace.num_layers; ++layer) {
      const std::size_t step = StepOf(layer, Operation::kFfnResidual, trace.num_layers);
      norms.push_back(FiniteOrNull(trace.at(step, p).norm));
    }
    stream.push_back(std::move(norms));
  }
  return stream;
}

Json LensOf(const PageInput& input) {
  Json lens = Json::MakeArray();
  for (const auto& layer : input.lens) {
    Json positions = Json::MakeArray();
    for (const LensRow& row : layer) {
      Json words = Json::MakeArray();
      for (const auto& token : row) {
        words.push_back({input.token_text(token.id), std::exp(static_cast<double>(token.logprob))});
      }
      positions.push_back(std::move(words));
    }
    lens.push_back(std::move(positions));
  }
  return lens;
}

}  // namespace

Json PageJson(const PageInput& input) {
  const Trace& trace = *input.trace;
  Json tokens = Json::MakeArray(), operations = Json::MakeArray();
  for (const TokenId id : trace.tokens) tokens.push_back(input.token_text(id));
  for (std::size_t i = 0; i < kNumOperations; ++i) {
    operations.push_back(OperationName(static_cast<Operation>(i)));
  }
  double low = 1e9, high = -1e9;
  Json steps = StepsOf(input, &low, &high);
  const TraceComparison* const comparison = input.comparison;
  Json data = {{"title", input.title},
               {"about", input.about},
               {"verdict", comparison == nullptr ? "" : comparison->summary},
               {"likeness", comparison == nullptr ? "" : LikenessName(comparison->likeness)},
               {"compared", comparison != nullptr},
               {"layers", trace.num_layers},
               {"tokens", std::move(tokens)},
               {"operations", std::move(operations)},
               {"steps", std::move(steps)},
               {"range", {low, high}},
               {"stream", StreamOf(trace)},
               {"lens", LensOf(input)},
               {"first", nullptr}};
  if (comparison != nullptr && comparison->first) {
    const TraceDifference& first = *comparison->first;
    data["first"] = {{"layer", first.layer},
                     {"operation", OperationName(first.operation)},
                     {"position", first.position}};
  }
  return data;
}

}  // namespace bittern::proof
