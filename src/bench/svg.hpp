// SPDX-License-Identifier: Apache-2.0
// The charts of `bittern bench --html`, drawn as SVG elements that stand in a page. Colours come
// from the page's style (classes s0..s7 for series, `grid`, `axis`, `roof`, `ideal`), so that one
// chart serves light and dark.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bittern::bench {

/// Text for an element or attribute: & < > " ' escaped, broken UTF-8 and control characters
/// replaced.
[[nodiscard]] std::string EscapeXml(std::string_view text);

/// A test in a roofline chart, both axes logarithmic.
struct RooflinePoint {
  std::string label;
  double intensity = 0;  ///< multiply-adds per byte read from memory, > 0
  double rate = 0;       ///< multiply-adds per second, > 0
};
/// Bandwidth in bytes and rate in multiply-adds per second, both > 0. Points with a number that
/// is not above 0 are left out.
[[nodiscard]] std::string RooflineSvg(double bandwidth, double int8_rate,
                                      const std::vector<RooflinePoint>& points);

/// How a test grows with threads.
struct ScalingSeries {
  std::string label;
  std::vector<std::pair<int, double>> points;  ///< threads and speedup, threads ascending
};
[[nodiscard]] std::string ScalingSvg(const std::vector<ScalingSeries>& series);

/// One part of a bar; its class is s0, s1, ... in order.
struct BarPart {
  std::string label;
  double bytes = 0;
};
[[nodiscard]] std::string BytesSvg(const std::vector<BarPart>& parts);

}  // namespace bittern::bench
