// SPDX-License-Identifier: Apache-2.0
// Everything that a file or a message brings goes through Escaped(). One thread.
#include "doctor/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text/display.hpp"
#include "doctor/facts/tensor_facts.hpp"

namespace bittern::doctor {
namespace {

using formats::Tensor;

constexpr std::size_t kMostText = 2000;        // bytes of one sentence
constexpr std::size_t kMostDifferences = 400;  // rows of the comparison

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --page: #fbfaf7; --card: #ffffff; --ink: #1d2327; --soft: #5f6973;
  --line: #dddad3; --healthy: #1a7f4b; --curable: #9a6700; --incurable: #b42318; --cannot_tell: #57606a;
  --bar: #1f6feb; --heat: 31, 111, 235; --badge: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --page: #14171a; --card: #1c2024; --ink: #e8e6e1;
  --soft: #98a2ab; --line: #343b42; --healthy: #5fd0a5; --curable: #f0b95e; --incurable: #ff8a80;
  --cannot_tell: #b1bac4; --bar: #6ea8ff; --heat: 110, 168, 255; --badge: #14171a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.5rem; margin: 0 0 .4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 0 0 .5rem; }
p { margin: .3rem 0; overflow-wrap: anywhere; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 1.1rem 1.2rem; margin-top: 1rem; }
.badge { display: inline-block; border-radius: 999px; padding: .1rem .8rem; font-weight: 600;
  color: var(--badge); }
.badge.healthy { background: var(--healthy); } .badge.curable { background: var(--curable); }
.badge.incurable { background: var(--incurable); }
.badge.cannot_tell, .badge.nothing_found { background: var(--cannot_tell); }
.finding { border-left: 4px solid var(--incurable); padding-left: .9rem; margin: .9rem 0; }
.finding.curable { border-color: var(--curable); }
.soft { color: var(--soft); }
.bars { display: grid; grid-template-columns: max-content 1fr max-content; gap: .4rem .8rem;
  align-items: center; }
.bar { height: 1rem; border-radius: 4px; background: var(--bar); min-width: 2px; }
.scroll { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 2px; font-size: .85rem; }
th { color: var(--soft); font-weight: 500; text-align: left; white-space: nowrap; }
th.n { text-align: right; padding: 0 .5rem; }
td { padding: .15rem .5rem; font-variant-numeric: tabular-nums; }
td.cell { text-align: right; border-radius: 3px; white-space: nowrap; }
.h0 { background: rgba(var(--heat), .06); } .h1 { background: rgba(var(--heat), .18); }
.h2 { background: rgba(var(--heat), .28); } .h3 { background: rgba(var(--heat), .38); }
.h4 { background: rgba(var(--heat), .48); } .h5 { background: rgba(var(--heat), .6); }
td.odd { outline: 2px solid var(--incurable); outline-offset: -1px; }
table.list td { border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
table.list { width: 100%; } code { font-size: .95em; }
)";

/// Text as XML has it, on one line, without what XML cannot hold.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : Printable(text, kMostText)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Section(std::string_view name, std::string_view about, std::string_view body) {
  return fmt::format("<section><h2>{}</h2>\n{}{}</section>\n", Escaped(name),
                     about.empty() ? "" : fmt::format("<p class=\"soft\">{}</p>\n", Escaped(about)),
                     body);
}

std::string FindingsSection(const PageInput& input) {
  const Diagnosis& found = *input.diagnosis;
  std::string body;
  for (const Finding& finding : found.findings) {
    body +=
        fmt::format("<div class=\"finding{}\"><p><b>{}</b></p>\n<p>{}</p>\n<p>Cure: {}</p></div>\n",
                    finding.curable ? " curable" : "", Escaped(finding.cause),
                    Escaped(finding.evidence), Escaped(finding.cure));
  }
  for (const std::string& sentence : found.undecided) {
    body += fmt::format("<p>{}</p>\n", Escaped(sentence));
  }
  if (!input.fixed.empty()) {
    body +=
        fmt::format("<p>The mended file: <code>{}</code>; its codes and scales were proved.</p>\n",
                    Escaped(input.fixed));
  } else if (found.verdict == Verdict::kCurable && !input.advice.empty()) {
    body += fmt::format("<p>{}</p>\n", Escaped(input.advice));
  }
  return body.empty() ? "" : Section("What was found", "", body);
}

std::string SenseSection(const Diagnosis& found) {
  if (!found.nats_before || found.uniform <= 0) return "";
  const double most = std::max({found.uniform, *found.nats_before, found.nats_after.value_or(0)});
  std::string bars;
  const auto bar = [&](std::string_view name, double nats) {
    bars += fmt::format(
        "<span>{}</span><span class=\"bar\" style=\"width:{:.1f}%\"></span><span>{:.2f}</span>\n",
        name, 100 * nats / most, nats);
  };
  const bool changed = found.nats_after && *found.nats_after != *found.nats_before;
  bar(changed ? "as the file is" : "this file", *found.nats_before);
  if (changed) bar("with the cures", *found.nats_after);
  bar("a model that knows nothing", found.uniform);
  return Section("How much sense it makes",
                 "Nats per token of the built-in text that the model knows best; fewer are better.",
                 "<div class=\"bars\">\n" + bars + "</div>\n");
}

/// A ternary tensor of a layer.
struct CellFacts {
  double scale = 0, zeros = -1;
};

/// Layers by kinds of tensors; [layer][kind].
using CellTable = std::map<int, std::map<std::string, CellFacts>>;

CellTable CellsOf(const formats::Checkpoint& file) {
  CellTable cells;
  for (const Tensor& tensor : file.tensors()) {
    const auto scale = ScaleOf(tensor);
    if (!scale || !tensor.name.starts_with("blk.")) continue;
    CellFacts facts{.scale = *scale};
    if (const auto counts = CodeCounts(tensor)) {
      facts.zeros =
          double((*counts)[1]) / double(std::max<std::uint64_t>(tensor.num_elements(), 1));
    }
    std::string kind = KindOf(tensor.name);
    if (kind.ends_with(".weight")) kind.resize(kind.size() - std::string_view(".weight").size());
    cells[std::atoi(tensor.name.c_str() + 4)][kind] = facts;
  }
  return cells;
}

/// The scale in the middle of a kind's.
double UsualScale(const CellTable& cells, const std::string& kind) {
  std::vector<double> scales;
  for (const auto& [layer, kinds] : cells) {
    const auto place = kinds.find(kind);
    if (place != kinds.end()) scales.push_back(place->second.scale);
  }
  std::ranges::sort(scales);
  return scales[scales.size() / 2];
}

std::string CellText(const CellFacts& facts, double usual) {
  const double ratio = usual > 0 && facts.scale > 0 ? facts.scale / usual : 1e9;
  const int heat = static_cast<int>(std::min(5.0, 2 * std::abs(std::log2(ratio))));
  return fmt::format(
      "<td class=\"cell h{}{}\" title=\"{:.2f} times the usual scale of its kind{}\">{:.3g}</td>",
      heat, ratio > 4 || ratio < 0.25 ? " odd" : "", ratio,
      facts.zeros >= 0 ? fmt::format(", {:.1f} % zeros", 100 * facts.zeros) : "", facts.scale);
}

std::string ScalesSection(const formats::Checkpoint* file) {
  if (file == nullptr) return "";
  const CellTable cells = CellsOf(*file);
  if (cells.empty()) return "";
  std::set<std::string> kinds;
  for (const auto& [layer, own] : cells) {
    for (const auto& [kind, facts] : own) kinds.insert(kind);
  }
  std::string table = "<div class=\"scroll\"><table>\n<tr><th></th>";
  for (const std::string& kind : kinds)
    table += fmt::format("<th class=\"n\">{}</th>", Escaped(kind));
  table += "</tr>\n";
  for (const auto& [layer, own] : cells) {
    table += fmt::format("<tr><th>layer {}</th>", layer);
    for (const std::string& kind : kinds) {
      const auto place = own.find(kind);
      table += place == own.end() ? "<td></td>" : CellText(place->second, UsualScale(cells, kind));
    }
    table += "</tr>\n";
  }
  return Section("Scales of the ternary weights, layer by layer",
                 "The stronger the colour, the further from the same matrix in other layers; "
                 "framed: more than "
                 "4 times. Point at a field for its share of zeros.",
                 table + "</table></div>\n");
}

std::string DifferenceRows(const std::vector<Unlike>& unlike) {
  std::string rows;
  for (std::size_t i = 0; i < std::min(unlike.size(), kMostDifferences); ++i) {
    rows += fmt::format("<tr><td><code>{}</code></td><td>{}</td></tr>\n", Escaped(unlike[i].name),
                        Escaped(unlike[i].what));
  }
  if (unlike.size() > kMostDifferences) {
    rows +=
        fmt::format("<tr><td></td><td>and {} more</td></tr>\n", unlike.size() - kMostDifferences);
  }
  return rows;
}

std::string LikenessSection(const Likeness* likeness) {
  if (likeness == nullptr) return "";
  const std::string rows = DifferenceRows(likeness->unlike) + DifferenceRows(likeness->unlike_keys);
  return Section("Beside " + likeness->path, likeness->summary,
                 rows.empty() ? "" : "<table class=\"list\">\n" + rows + "</table>\n");
}

}  // namespace

std::string HtmlPage(const PageInput& input) {
  const Diagnosis& found = *input.diagnosis;
  const std::string_view verdict = VerdictName(found.verdict);
  std::string shown(verdict);
  std::ranges::replace(shown, '_', ' ');
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
      "<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
      "<title>bittern doctor: {0}</title>\n<link rel=\"icon\" href=\"data:,\"/>\n"
      "<style>{1}</style>\n</head>\n<body><main>\n<h1>{0}</h1>\n"
      "<p><span class=\"badge {2}\">{3}</span></p>\n<p><b>{4}</b></p>\n",
      Escaped(input.path), kStyle, verdict, shown, Escaped(found.summary));
  html += FindingsSection(input) + SenseSection(found) + LikenessSection(input.likeness) +
          ScalesSection(input.file);
  html += fmt::format("<p class=\"soft\">bittern doctor, {} trials in {:.1f} s</p>\n", found.trials,
                      found.seconds);
  return html + "</main></body>\n</html>\n";
}

}  // namespace bittern::doctor
