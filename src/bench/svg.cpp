// SPDX-License-Identifier: Apache-2.0
#include "bench/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.hpp"

namespace bittern::bench {
namespace {

constexpr double kWidth = 720, kHeight = 360;
constexpr double kLeft = 72, kRight = 24, kTop = 20, kBottom = 52;
constexpr int kSeriesColours = 8;

/// Data to pixels along one axis.
struct Axis {
  double low, high;   // data, low < high
  double begin, end;  // pixels
  bool logarithmic = false;

  [[nodiscard]] double operator()(double value) const {
    const double share =
        logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return begin + share * (end - begin);
  }
};

std::string SvgOpen(std::string_view title) {
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", kWidth,
                     kHeight, EscapeXml(title));
}

std::string SvgLine(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format(
      "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", style, x1,
      y1, x2, y2);
}

/// anchor: start, middle or end.
std::string SvgText(double x, double y, std::string_view anchor, std::string_view style,
                    std::string_view text) {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                     style, x, y, anchor, EscapeXml(text));
}

std::string SvgTitles(std::string_view x_title, std::string_view y_title) {
  return SvgText((kLeft + kWidth - kRight) / 2, kHeight - 10, "middle", "title", x_title) +
         fmt::format(
             "<text class=\"title\" text-anchor=\"middle\" transform=\"translate(16 {:.1f}) "
             "rotate(-90)\">{}</text>\n",
             (kTop + kHeight - kBottom) / 2, EscapeXml(y_title));
}

/// 1e9 as "1 G".
std::string WithPrefix(double value) {
  const struct {
    double unit;
    const char* prefix;
  } prefixes[] = {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}};
  for (const auto& p : prefixes) {
    if (value >= p.unit) return fmt::format("{:.3g}{}", value / p.unit, p.prefix);
  }
  return fmt::format("{:.3g}", value);
}

/// The name of a line, beside its end.
struct EndLabel {
  double y, x;
  std::string text;
};

double PowerOfTenBelow(double value) { return std::pow(10, std::floor(std::log10(value))); }
double PowerOfTenAbove(double value) { return std::pow(10, std::ceil(std::log10(value))); }

/// A grid line and a label for every power of ten of both axes.
std::string LogGrid(const Axis& x, const Axis& y) {
  std::string svg;
  for (double v = x.low; v <= x.high * 1.01; v *= 10) {
    svg += SvgLine(x(v), y.begin, x(v), y.end, "grid");
    svg += SvgText(x(v), kHeight - kBottom + 18, "middle", "tick", WithPrefix(v));
  }
  for (double v = y.low; v <= y.high * 1.01; v *= 10) {
    svg += SvgLine(x.begin, y(v), x.end, y(v), "grid");
    svg += SvgText(kLeft - 8, y(v) + 4, "end", "tick", WithPrefix(v));
  }
  return svg;
}

/// Both roofs, meeting at the ridge, each with its name.
std::string Roofs(const Axis& x, const Axis& y, double bandwidth, double int8_rate) {
  const double ridge = int8_rate / bandwidth;
  const double from = std::max(x.low, y.low / bandwidth), knee = std::clamp(ridge, from, x.high);
  std::string svg = SvgLine(x(from), y(bandwidth * from), x(knee), y(bandwidth * knee), "roof");
  if (knee < x.high) svg += SvgLine(x(knee), y(int8_rate), x(x.high), y(int8_rate), "roof");
  const double slope = std::atan2(y(10) - y(1), x(10) - x(1)) * 180 / 3.14159265358979;
  const double at = std::sqrt(from * knee);
  svg += fmt::format(
      "<text class=\"note\" text-anchor=\"middle\" transform=\"translate({:.1f} "
      "{:.1f}) rotate({:.1f})\">memory {}B/s</text>\n",
      x(at), y(bandwidth * at) - 9, slope, WithPrefix(bandwidth));
  svg += SvgText(x(x.high) - 6, y(int8_rate) - 8, "end", "note",
                 fmt::format("int8 kernel {} multiply-adds/s", WithPrefix(int8_rate)));
  return svg;
}

}  // namespace

std::string EscapeXml(std::string_view text) {
  std::string escaped;
  for (const char c : ReplaceInvalidUtf8(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return escaped;
}

std::string RooflineSvg(double bandwidth, double int8_rate,
                        const std::vector<RooflinePoint>& points) {
  if (!(bandwidth > 0) || !(int8_rate > 0)) return {};
  const double ridge = int8_rate / bandwidth;
  double x_low = ridge, x_high = ridge * 4, y_low = int8_rate;
  for (const RooflinePoint& point : points) {
    if (!(point.intensity > 0) || !(point.rate > 0)) continue;
    x_low = std::min(x_low, point.intensity);
    x_high = std::max(x_high, point.intensity * 2);
    y_low = std::min(y_low, point.rate);
  }
  const Axis x{PowerOfTenBelow(x_low), PowerOfTenAbove(x_high), kLeft, kWidth - kRight, true};
  const Axis y{PowerOfTenBelow(y_low * 0.7), PowerOfTenAbove(int8_rate * 1.5), kHeight - kBottom,
               kTop, true};
  std::string svg = SvgOpen("Roofline: multiply-adds per second over multiply-adds per byte");
  svg += LogGrid(x, y) + Roofs(x, y, bandwidth, int8_rate);
  int colour = 0;
  for (const RooflinePoint& point : points) {
    if (!(point.intensity > 0) || !(point.rate > 0)) continue;
    const bool right = x(point.intensity) > kWidth * 0.7;
    svg += fmt::format("<circle class=\"s{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\"/>\n",
                       colour++ % kSeriesColours, x(point.intensity), y(point.rate));
    svg += SvgText(x(point.intensity) + (right ? -11 : 11), y(point.rate) + 18,
                   right ? "end" : "start", "label", point.label);
  }
  return svg + SvgTitles("multiply-adds per byte read from memory", "multiply-adds per second") +
         "</svg>\n";
}

std::string ScalingSvg(const std::vector<ScalingSeries>& series) {
  int most = 2, fewest = 1 << 20;
  double top = 1;
  for (const ScalingSeries& s : series) {
    for (const auto& [threads, speedup] : s.points) {
      most = std::max(most, threads);
      fewest = std::min(fewest, threads);
      top = std::max(top, speedup);
    }
  }
  fewest = std::min(fewest, most - 1);
  top = std::ceil(std::max(top, std::min(static_cast<double>(most) / fewest, 2 * top)));
  const Axis x{static_cast<double>(fewest), static_cast<double>(most), kLeft, kWidth - kRight - 56};
  const Axis y{0, top, kHeight - kBottom, kTop};
  std::string svg = SvgOpen("Speed by threads");
  const double y_step = std::max(1.0, std::ceil(top / 8));
  for (double v = 0; v <= top; v += y_step) {
    svg += SvgLine(x.begin, y(v), x.end, y(v), "grid");
    svg += SvgText(kLeft - 8, y(v) + 4, "end", "tick", fmt::format("{:g}x", v));
  }
  const double ideal = std::min(static_cast<double>(most), top * fewest);
  svg += SvgLine(x(fewest), y(1), x(ideal), y(ideal / fewest), "ideal");
  std::vector<EndLabel> labels;
  int colour = 0;
  for (const ScalingSeries& s : series) {
    const int style = colour++ % kSeriesColours;
    std::string path;
    for (const auto& [threads, speedup] : s.points) {
      path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", x(threads), y(speedup));
    }
    svg += fmt::format("<polyline class=\"s{}\" points=\"{}\"/>\n", style, path);
    for (const auto& [threads, speedup] : s.points) {
      svg += fmt::format("<circle class=\"s{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>\n", style,
                         x(threads), y(speedup));
      svg += SvgText(x(threads), kHeight - kBottom + 18, "middle", "tick", std::to_string(threads));
    }
    if (!s.points.empty()) {
      labels.push_back({y(s.points.back().second), x(s.points.back().first), s.label});
    }
  }
  // Names beside the ends of their lines, one under the other where those meet.
  std::ranges::sort(labels, {}, &EndLabel::y);
  double free_from = 0;
  for (const EndLabel& label : labels) {
    const double at = std::max(label.y + 4, free_from);
    svg += SvgText(label.x + 9, at, "start", "label", label.text);
    free_from = at + 15;
  }
  return svg + SvgTitles("threads", "speed, first thread count = 1") + "</svg>\n";
}

std::string BytesSvg(const std::vector<BarPart>& parts) {
  double total = 0;
  for (const BarPart& part : parts) total += part.bytes;
  if (!(total > 0)) return {};
  constexpr double kBarHeight = 44;
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Bytes read for one token\">\n", kWidth,
      kBarHeight);
  double from = 0;
  int colour = 0;
  for (const BarPart& part : parts) {
    const double width = kWidth * part.bytes / total;
    svg += fmt::format(
        "<rect class=\"s{}\" x=\"{:.2f}\" y=\"0\" width=\"{:.2f}\" height=\"{}\">"
        "<title>{}: {:.1f} %</title></rect>\n",
        colour++ % kSeriesColours, from, std::max(0.0, width - 1), kBarHeight,
        EscapeXml(part.label), 100 * part.bytes / total);
    if (width > 60) {
      svg += SvgText(from + width / 2, kBarHeight / 2 + 5, "middle", "inbar",
                     fmt::format("{:.0f} %", 100 * part.bytes / total));
    }
    from += width;
  }
  return svg + "</svg>\n";
}

}  // namespace bittern::bench
