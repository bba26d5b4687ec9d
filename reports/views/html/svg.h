// A small writer of SVG plots. Colours are classes of the page's style sheet (s0 ... s7), so that they follow its theme; a series
// also has a marker of its own shape, so that colour is never the only sign.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flashproof::html {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // finite, ascending in x
};

/// A linear axis; `tick` words are written at their values.
struct Axis {
  std::string title;
  double low = 0, high = 1;
  std::vector<std::pair<double, std::string>> ticks;
};

/// Lines with markers and a legend below. `description` is the alternative text.
std::string line_plot(std::string_view title, std::string_view description, const Axis& x, const Axis& y,
                      const std::vector<Series>& series);

/// Bars of equal width, one per point of one series each `width` wide in x, standing on y.low.
std::string bar_plot(std::string_view title, std::string_view description, const Axis& x, const Axis& y, double width,
                     const std::vector<std::pair<double, double>>& bars);

struct StackedBar {
  std::string name;
  std::vector<double> parts;  // shares of the whole, 0 or more
  std::string note;           // written behind the bar
};
/// Horizontal bars, each filled by its parts; `names` heads them.
std::string stacked_plot(std::string_view title, std::string_view description, const std::vector<std::string>& names,
                         const std::vector<StackedBar>& bars);

/// A grid of cells of the report's heat maps (view.h).
std::string heat_plot(std::string_view title, std::string_view description, const std::vector<std::string>& cells);

}  // namespace flashproof::html
