// SPDX-License-Identifier: Apache-2.0
#include "bench/html.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/analysis.hpp"
#include "bench/svg.hpp"

namespace bittern::bench {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --page: #fbfaf7; --card: #ffffff; --ink: #1d2327; --soft: #667079;
  --line: #e3e1db; --roof: #1d2327; --c0: #1f6feb; --c1: #d9730d; --c2: #1a936f; --c3: #8250df;
  --c4: #c2255c; --c5: #0c8599; --c6: #927c1c; --c7: #667079; --inbar: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14171a; --card: #1c2024; --ink: #e8e6e1; --soft: #98a2ab; --line: #30363c;
  --roof: #e8e6e1; --c0: #6ea8ff; --c1: #f0a35e; --c2: #5fd0a5; --c3: #b698ff; --c4: #f783ac;
  --c5: #66d9e8; --c6: #d9c25a; --c7: #98a2ab; --inbar: #14171a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 58rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.6rem; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 1.05rem; margin: 0 0 0.25rem; }
p { margin: 0.25rem 0 0.75rem; }
.soft { color: var(--soft); font-size: 0.92rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: 0.9rem;
  margin: 1.6rem 0; }
.tile, section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.tile { padding: 0.9rem 1.1rem; }
.tile b { display: block; font-size: 1.75rem; font-weight: 650; letter-spacing: -0.02em; }
section { padding: 1.2rem 1.3rem; margin: 0 0 1.1rem; }
svg { display: block; width: 100%; height: auto; font: 12px system-ui, "DejaVu Sans", sans-serif; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
th, td { text-align: left; padding: 0.4rem 0.7rem 0.4rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
tr:last-child td { border-bottom: 0; }
td.wrap { overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
.key { display: inline-block; width: 0.8em; height: 0.8em; border-radius: 3px; margin-right: 0.5em; }
.grid { stroke: var(--line); } .roof { stroke: var(--roof); stroke-width: 2; }
.ideal { stroke: var(--soft); stroke-dasharray: 4 5; }
.tick, .title, .note { fill: var(--soft); } .label { fill: var(--ink); font-weight: 600; }
.inbar { fill: var(--inbar); font-weight: 600; }
polyline { fill: none; stroke-width: 2.5; }
li { margin: 0.3rem 0; } ul { padding-left: 1.2rem; margin: 0.3rem 0; }
)";

constexpr const char* kSeriesStyle = R"(
circle.s{0}, rect.s{0} {{ fill: var(--c{0}); }}
polyline.s{0} {{ stroke: var(--c{0}); }}
.key.s{0} {{ background: var(--c{0}); }}
)";

std::string SeriesStyle() {
  std::string style;
  for (int i = 0; i < 8; ++i) style += fmt::format(fmt::runtime(kSeriesStyle), i);
  return style;
}

std::string Tile(std::string_view value, std::string_view what) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span class=\"soft\">{}</span></div>\n",
                     EscapeXml(value), EscapeXml(what));
}

std::string Section(std::string_view title, std::string_view about, std::string_view body) {
  return fmt::format("<section><h2>{}</h2>\n<p class=\"soft\">{}</p>\n{}</section>\n",
                     EscapeXml(title), EscapeXml(about), body);
}

const BenchResult* FastestOf(const std::vector<BenchResult>& results, bool decode) {
  const BenchResult* best = nullptr;
  for (const BenchResult& result : results) {
    if (decode ? !result.is_decode() : !result.is_prefill()) continue;
    if (best == nullptr || MedianRate(result) > MedianRate(*best)) best = &result;
  }
  return best;
}

std::string ThreadsText(int count) {
  return fmt::format("{} thread{}", count, count == 1 ? "" : "s");
}

/// "17.8", "151", "14 899": what rates are good for.
std::string RateText(double rate) {
  if (rate < 100) return fmt::format("{:.1f}", rate);
  const auto whole = static_cast<long long>(rate + 0.5);
  return whole < 10'000 ? fmt::format("{}", whole)
                        : fmt::format("{} {:03}", whole / 1000, whole % 1000);
}

std::string Tiles(const BenchExtras& extras, const BenchResult* decode,
                  const BenchResult* prefill) {
  std::string html = "<div class=\"tiles\">\n";
  for (const BenchResult* result : {decode, prefill}) {
    if (result == nullptr) continue;
    html += Tile(RateText(MedianRate(*result)),
                 fmt::format("tokens/s {} ({}, {})", result == decode ? "written" : "read",
                             TestName(*result), ThreadsText(result->num_threads)));
  }
  if (decode != nullptr) {
    if (const auto roof = MemoryRoof(*decode)) {
      html += Tile(fmt::format("{:.0f} %", 100 * roof->fraction),
                   roof->fraction > 1.2 ? "of the memory roof, decode: from cache"
                                        : "of the memory roof, decode");
    }
    if (extras.price_per_hour > 0) {
      html +=
          Tile(fmt::format("{:.3g}", PricePerMillion(extras.price_per_hour, MedianRate(*decode))),
               fmt::format("per million tokens written, at {:g} an hour", extras.price_per_hour));
    }
  }
  return html + "</div>\n";
}

/// The place of a test in the roofline chart.
RooflinePoint PointOf(const BenchResult& result) {
  double multiply_adds = 0, bytes = 0;
  for (const auto& part : result.cost.parts) {
    if (result.num_gen == 0 && !part.ternary) continue;  // the others run once a prompt
    multiply_adds += static_cast<double>(part.multiply_adds);
    bytes += static_cast<double>(part.bytes);
  }
  // Prefill reads the weights once for all tokens of a chunk.
  const int together = result.num_gen > 0 ? 1 : std::min(result.num_prompt, result.ubatch_size);
  return {fmt::format("{}: {} t/s", TestName(result), RateText(MedianRate(result))),
          bytes > 0 ? multiply_adds * together / bytes : 0, multiply_adds * MedianRate(result)};
}

/// The roofs of one thread count: that of the fastest test.
std::string RooflineSection(const std::vector<BenchResult>& results, const BenchResult& shown) {
  if (!shown.machine.has_value()) return {};
  std::vector<RooflinePoint> points;
  for (const BenchResult& result : results) {
    const bool has_roof = result.is_decode() || result.is_prefill();
    if (has_roof && result.num_threads == shown.num_threads) points.push_back(PointOf(result));
  }
  return Section(
      "Roofline",
      fmt::format(
          "What this machine can give at most, measured with {}: the slope is its memory, the "
          "flat part the int8 kernel with everything in cache. A point above the slope "
          "finds its weights in the cache.",
          ThreadsText(shown.num_threads)),
      RooflineSvg(shown.machine->read_bandwidth, shown.machine->int8_rate, points));
}

std::string ScalingSection(const std::vector<BenchResult>& results) {
  std::vector<ScalingSeries> series;
  for (const BenchResult& result : results) {
    const std::string name = TestName(result);
    const auto found = std::ranges::find(series, name, &ScalingSeries::label);
    ScalingSeries& mine = found != series.end() ? *found : series.emplace_back(name);
    mine.points.emplace_back(result.num_threads,
                             ScalingOf(result, FirstOfTest(results, result)).speedup);
  }
  std::size_t longest = 0;
  for (ScalingSeries& s : series) {
    std::ranges::sort(s.points);
    longest = std::max(longest, s.points.size());
  }
  if (longest < 2) return {};
  return Section("Threads", "Speed beside that of the first thread count; dashed: in proportion.",
                 ScalingSvg(series));
}

std::string BytesSection(const BenchResult& decode) {
  std::vector<BarPart> bar;
  const auto total = static_cast<double>(decode.cost.bytes());
  if (total <= 0) return {};
  std::string rows;
  std::uint64_t small = 0;
  const auto row = [&](const std::string& name, std::uint64_t bytes) {
    rows += fmt::format(
        "<tr><td><span class=\"key s{}\"></span>{}</td><td class=\"n\">{}</td>"
        "<td class=\"n\">{:.1f} %</td></tr>\n",
        bar.size() % 8, EscapeXml(name), DecimalBytes(static_cast<double>(bytes)),
        100 * static_cast<double>(bytes) / total);
    bar.push_back({name, static_cast<double>(bytes)});
  };
  for (const auto& part : decode.cost.parts) {
    if (static_cast<double>(part.bytes) < 0.01 * total) {
      small += part.bytes;
    } else {
      row(part.name, part.bytes);
    }
  }
  if (small > 0) row("everything else", small);
  return Section("Bytes read for one token",
                 fmt::format("{} at {} tokens of context.", DecimalBytes(total), decode.context()),
                 BytesSvg(bar) + "<table>\n" + rows + "</table>\n");
}

std::string ResultsSection(const BenchExtras& extras, const std::vector<BenchResult>& results) {
  const bool prices = extras.price_per_hour > 0;
  const bool energy = std::ranges::any_of(
      results, [](const BenchResult& result) { return result.joules.has_value(); });
  std::string table =
      "<div class=\"scroll\"><table>\n<tr><th>test</th><th class=\"n\">threads</th>"
      "<th class=\"n\">tokens/s, median</th><th class=\"n\">least</th>"
      "<th class=\"n\">most</th><th class=\"n\">of the roof</th>";
  if (prices) table += "<th class=\"n\">price of a million</th>";
  if (energy) table += "<th class=\"n\">J a token</th>";
  table += "</tr>\n";
  for (const BenchResult& result : results) {
    const std::vector<double> rates = TokensPerSecond(result);
    const auto [least, most] = std::ranges::minmax(rates.empty() ? std::vector<double>{0} : rates);
    const auto roof = result.is_decode() ? MemoryRoof(result) : ArithmeticRoof(result);
    table += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{:.2f}</td>"
        "<td class=\"n\">{:.2f}</td><td class=\"n\">{:.2f}</td><td class=\"n\">{}</td>",
        TestName(result), result.num_threads, MedianRate(result), least, most,
        roof ? fmt::format("{:.0f} %", 100 * roof->fraction) : "");
    if (prices) {
      table += fmt::format("<td class=\"n\">{:.4g}</td>",
                           PricePerMillion(extras.price_per_hour, MedianRate(result)));
    }
    if (energy) {
      const auto joules = JoulesPerToken(result);
      table += fmt::format("<td class=\"n\">{}</td>", joules ? fmt::format("{:.3g}", *joules) : "");
    }
    table += "</tr>\n";
  }
  return Section("Results", "pp: a prompt read at once; tg: tokens written one by one.",
                 table + "</table></div>\n");
}

std::string MachineSection(const BenchSubject& subject, const BenchResult& shown) {
  const auto row = [](std::string_view name, std::string_view value) {
    return value.empty() ? std::string()
                         : fmt::format("<tr><td>{}</td><td class=\"wrap\">{}</td></tr>\n",
                                       EscapeXml(name), EscapeXml(value));
  };
  std::string table = "<table>\n" + row("processor", subject.cpu) +
                      row("cores for this process", std::to_string(subject.usable_threads));
  if (subject.cache_bytes > 0) {
    table += row("last-level cache",
                 fmt::format("{} MiB", static_cast<double>(subject.cache_bytes >> 10) / 1024));
  }
  if (shown.machine.has_value()) {
    table += row(fmt::format("plain read, {}", ThreadsText(shown.num_threads)),
                 DecimalBytes(shown.machine->read_bandwidth) + "/s");
    table += row(fmt::format("int8 kernel in cache, {}", ThreadsText(shown.num_threads)),
                 fmt::format("{:.0f} G multiply-adds/s", shown.machine->int8_rate / 1e9));
  }
  table +=
      row("matrix kernel", fmt::format("{}, layout {}", subject.matrix_kernel, subject.layout));
  table += row("float kernel", subject.float_kernel) +
           row("kernel without zeros", subject.sparse_kernel) +
           row("kernel of the coarse head", subject.screen_kernel);
  table += row("model", subject.model_type) + row("file", subject.model_path) +
           row("tensors", DecimalBytes(static_cast<double>(subject.model_bytes))) +
           row("parameters", fmt::format("{:.3g}", static_cast<double>(subject.num_parameters)));
  table += row("bittern", BITTERN_VERSION);
  return Section("Machine and model", "", table + "</table>\n");
}

}  // namespace

std::string BenchHtml(const BenchSubject& subject, const BenchExtras& extras,
                      const std::vector<BenchResult>& results) {
  const BenchResult* decode = FastestOf(results, true);
  const BenchResult* prefill = FastestOf(results, false);
  const BenchResult* shown = decode != nullptr ? decode : prefill;
  std::string html =
      "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
      "<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n";
  html +=
      fmt::format("<title>bittern bench: {}</title>\n<style>{}{}</style>\n</head>\n<body><main>\n",
                  EscapeXml(subject.model_type), kStyle, SeriesStyle());
  html += fmt::format("<h1>{}</h1>\n<p class=\"soft\">{}</p>\n", EscapeXml(subject.model_type),
                      EscapeXml(subject.cpu));
  if (shown != nullptr) {
    html += Tiles(extras, decode, prefill) + RooflineSection(results, *shown);
    if (decode != nullptr) html += BytesSection(*decode);
    html += ScalingSection(results) + ResultsSection(extras, results);
    std::string sentences;
    for (const std::string& sentence : Advice(subject, results, extras.word)) {
      sentences += fmt::format("<li>{}</li>\n", EscapeXml(sentence));
    }
    if (!sentences.empty()) {
      html += Section("What would help", "", "<ul>\n" + sentences + "</ul>\n");
    }
    html += MachineSection(subject, *shown);
  }
  return html + "</main></body>\n</html>\n";
}

}  // namespace bittern::bench
