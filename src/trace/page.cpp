// SPDX-License-Identifier: Apache-2.0
// The page is fixed; its data is one JSON object in it. Texts of models become text nodes, never
// markup: "<" is escaped in the object, and the script sets textContent only.
#include "trace/page.hpp"

#include <cmath>

#include "base/json/json.hpp"

namespace bittern::trace {
namespace {

constexpr const char* kPageHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>bittern trace</title><link rel="icon" href="data:,">
<style>
:root { color-scheme: light dark; --page: #fbfaf7; --card: #fff; --ink: #1d2327; --soft: #5f6973;
  --line: #dddad3; --mark: #c2255c; --heat: 31, 111, 235; --none: #efece5; }
@media (prefers-color-scheme: dark) { :root { --page: #14171a; --card: #1c2024; --ink: #e8e6e1;
  --soft: #98a2ab; --line: #343b42; --mark: #ff7aa8; --heat: 110, 168, 255; --none: #24292e; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.05rem; margin: 0 0 .5rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.2rem; margin-top: 1rem; }
.soft { color: var(--soft); } #verdict { font-weight: 600; }
.tokens { display: flex; flex-wrap: wrap; gap: .3rem; margin: .6rem 0; }
.tokens button { font: inherit; color: inherit; background: none; border: 1px solid var(--line); border-radius: 6px; padding: .05em .45em; white-space: pre; cursor: pointer; }
.tokens button[aria-pressed=true] { border-color: var(--mark); box-shadow: 0 0 0 1px var(--mark); }
input[type=range] { width: 100%; accent-color: var(--mark); }
.scroll { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 2px; font-size: .8rem; }
th { color: var(--soft); font-weight: 500; text-align: right; padding-right: .4rem; white-space: nowrap; }
thead th { writing-mode: vertical-rl; transform: rotate(180deg); padding: .3rem 0; text-align: left; }
td.cell { min-width: 2.1rem; width: 3.4rem; height: 1.5rem; border-radius: 3px; background: var(--none); cursor: pointer; }
td.first { outline: 3px solid var(--mark); outline-offset: -1px; }
td.word { padding: .1rem .5rem; white-space: pre; border-bottom: 1px solid var(--line); }
svg { display: block; width: 100%; height: 11rem; } svg text { fill: var(--soft); font-size: 11px; }
polyline { fill: none; stroke: rgb(var(--heat)); stroke-width: 2; } .axis { stroke: var(--line); }
</style></head><body><main>
<h1>bittern trace</h1><p class="soft" id="about"></p><p id="verdict"></p>
<section><h2 id="mapname"></h2>
<label class="soft" for="position">Position <span id="at"></span></label>
<input id="position" type="range" min="0" value="0" step="1">
<div class="tokens" id="tokens"></div>
<div class="scroll"><table id="map"></table></div>
<p class="soft" id="detail">Choose a field to see its figures.</p></section>
<section><h2>Norm of the residual stream, layer by layer</h2><svg id="norm" viewBox="0 0 900 180" preserveAspectRatio="none"></svg></section>
<section id="lensbox"><h2>Likeliest tokens, as if the network ended after each layer</h2>
<div class="scroll"><table id="lens"></table></div></section>
</main><script type="application/json" id="data">)";

constexpr const char* kPageTail = R"(</script><script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const get = id => document.getElementById(id);
const make = (name, text, parent) => { const e = document.createElement(name); if (text !== undefined) e.textContent = text; if (parent) parent.append(e); return e; };
const short = x => x === null ? "-" : Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5 || x === 0 ? String(+x.toPrecision(4)) : x.toExponential(2);
get("about").textContent = data.title; get("verdict").textContent = data.verdict;
get("mapname").textContent = data.compared ? "How far apart, as a share of each result" : "Norm of each result";
const slider = get("position"); slider.max = data.tokens.length - 1;
const buttons = data.tokens.map((t, i) => { const b = make("button", t, get("tokens")); b.onclick = () => show(i); return b; });
const cell = (layer, op, p) => data.steps[op][layer + 1] && data.steps[op][layer + 1][p];
const shade = v => {
  if (v === null) return "";
  const [low, high] = data.range, x = Math.log10(Math.max(v, 1e-30));
  return `rgba(var(--heat), ${0.06 + 0.94 * Math.min(1, Math.max(0, (x - low) / Math.max(high - low, 1e-9)))})`;
};
function drawMap(p) {
  const table = get("map"); table.textContent = "";
  const head = make("tr", undefined, make("thead", undefined, table)); make("th", "", head);
  data.operations.forEach(o => make("th", o, head));
  const body = make("tbody", undefined, table);
  for (let layer = -1; layer < data.layers; ++layer) {
    const row = make("tr", undefined, body); make("th", layer < 0 ? "ends" : "layer " + layer, row);
    data.operations.forEach((o, op) => {
      const td = make("td", undefined, row), c = cell(layer, op, p);
      if (!c) return;
      td.className = "cell"; td.style.background = c[0] === 0 && data.compared ? "" : shade(c[0]);
      const what = `${layer < 0 ? "" : "layer " + layer + ", "}${o}, position ${p}: ` + (data.compared ? `${short(c[0])} apart, ` : "") +
        `norm ${short(c[1])}, mean ${short(c[2])}, ${short(c[3])} to ${short(c[4])}, zeros ${(100 * c[5]).toFixed(1)} %`;
      td.title = what; td.onclick = () => { get("detail").textContent = what; };
      const f = data.first;
      if (f && f.layer === layer && f.operation === o && f.position === p) td.classList.add("first");
    });
  }
}
function drawNorm(p) {
  const svg = get("norm"), ns = "http://www.w3.org/2000/svg"; svg.textContent = "";
  const points = data.stream[p].map(v => v === null ? 0 : v), most = Math.max(...points, 1e-30);
  const add = (name, attributes, text) => { const e = document.createElementNS(ns, name); for (const k in attributes) e.setAttribute(k, attributes[k]); if (text) e.textContent = text; svg.append(e); };
  const x = i => 60 + 820 * i / Math.max(1, points.length - 1), y = v => 155 - 135 * v / most;
  add("line", { x1: 60, x2: 880, y1: 155, y2: 155, class: "axis" });
  add("polyline", { points: points.map((v, i) => x(i) + "," + y(v)).join(" "), "vector-effect": "non-scaling-stroke" });
  add("text", { x: 4, y: 24 }, short(most)); add("text", { x: 4, y: 158 }, "0");
  add("text", { x: 60, y: 174 }, "embedding"); add("text", { x: 800, y: 174 }, "layer " + (points.length - 2));
}
function drawLens(p) {
  const table = get("lens"); table.textContent = "";
  if (!data.lens.length) { get("lensbox").hidden = true; return; }
  for (let i = data.lens.length - 1; i >= 0; --i) {
    const row = make("tr", undefined, table); make("th", i === 0 ? "embedding" : "layer " + (i - 1), row);
    for (const [text, share] of data.lens[i][p]) { const td = make("td", text + "  " + (100 * share).toFixed(0) + " %", row); td.className = "word"; }
  }
}
function show(p) {
  slider.value = p; get("at").textContent = p;
  buttons.forEach((b, i) => b.setAttribute("aria-pressed", i === p));
  drawMap(p); drawNorm(p); drawLens(p);
}
slider.oninput = () => show(+slider.value);
show(data.first ? data.first.position : data.tokens.length - 1);
</script></body></html>
)";

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
        const Step& own = trace.at(step, p);
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
    Json norms = {FiniteOrNull(trace.at(0, p).norm)};
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

std::string HtmlPage(const PageInput& input) {
  const Trace& trace = *input.trace;
  Json tokens = Json::MakeArray(), operations = Json::MakeArray();
  for (const TokenId id : trace.tokens) tokens.push_back(input.token_text(id));
  for (std::size_t i = 0; i < kNumOperations; ++i) {
    operations.push_back(OperationName(static_cast<Operation>(i)));
  }
  double low = 1e9, high = -1e9;
  Json steps = StepsOf(input, &low, &high);
  Json data = {{"title", input.title},
               {"verdict", input.comparison == nullptr ? "" : input.comparison->summary},
               {"compared", input.comparison != nullptr},
               {"layers", trace.num_layers},
               {"tokens", std::move(tokens)},
               {"operations", std::move(operations)},
               {"steps", std::move(steps)},
               {"range", {low, high}},
               {"stream", StreamOf(trace)},
               {"lens", LensOf(input)},
               {"first", nullptr}};
  if (input.comparison != nullptr && input.comparison->first) {
    const Difference& first = *input.comparison->first;
    data["first"] = {{"layer", first.layer},
                     {"operation", OperationName(first.operation)},
                     {"position", first.position}};
  }
  std::string text = data.DumpAscii();
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at)) {
    text.replace(at, 1, "\\u003c");
  }
  return kPageHead + text + kPageTail;
}

}  // namespace bittern::trace
