#include "reports/views/html/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/views/html/markup.h"

namespace flashproof::html {
namespace {

constexpr double kWidth = 460, kHeight = 260, kLeft = 52, kRight = 24, kTop = 26, kBottom = 40, kLegendLine = 15;
constexpr std::size_t kColours = 8;

/// One decimal, without "-0.0".
std::string at(double v) {
  const std::string text = fmt::format("{:.1f}", v);
  return text == "-0.0" ? "0.0" : text;
}

std::string words(double x, double y, std::string_view text, std::string_view anchor, std::string_view classes = "") {
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", at(x), at(y), anchor,
                     classes, escaped(text));
}

std::string line(double x1, double y1, double x2, double y2, std::string_view classes) {
  return fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>\n", at(x1), at(y1), at(x2), at(y2),
                     classes);
}

std::string box(double x, double y, double width, double height, std::string_view classes) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{}\"/>\n", at(x), at(y), at(width),
                     at(height), classes);
}

/// Circle, square, triangle, diamond, in turn.
std::string marker(std::size_t which, double x, double y) {
  const std::string style = fmt::format("f{}", which % kColours);
  switch (which % 4) {
    case 0:
      return fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"3\" class=\"{}\"/>\n", at(x), at(y), style);
    case 1:
      return box(x - 3, y - 3, 6, 6, style);
    case 2:
      return fmt::format("<path d=\"M{} {}l4 7h-8z\" class=\"{}\"/>\n", at(x), at(y - 4), style);
    default:
      return fmt::format("<path d=\"M{} {}l4 4l-4 4l-4-4z\" class=\"{}\"/>\n", at(x), at(y - 4), style);
  }
}

std::string document(std::string_view title, std::string_view description, double width, double height,
                     const std::string& body) {
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "aria-label=\"{2}\">\n<title>{3}</title>\n{4}</svg>\n",
      width, height, escaped(fmt::format("{}. {}", title, description)), escaped(title), body);
}

/// Where values stand in a plot, and its frame.
struct Frame {
  Axis x, y;

  double across(double v) const { return kLeft + (v - x.low) / (x.high - x.low) * (kWidth - kLeft - kRight); }
  double down(double v) const {
    return kHeight - kBottom - (std::clamp(v, y.low, y.high) - y.low) / (y.high - y.low) * (kHeight - kTop - kBottom);
  }
  std::string draw(std::string_view title) const {
    std::string out = words(kLeft, 15, title, "start", "title");
    for (const auto& [v, text] : y.ticks) {
      out += line(kLeft, down(v), kWidth - kRight, down(v), "grid") + words(kLeft - 5, down(v) + 3.5, text, "end");
    }
    for (const auto& [v, text] : x.ticks) {
      out += line(across(v), kHeight - kBottom, across(v), kHeight - kBottom + 4, "axis") +
             words(across(v), kHeight - kBottom + 15, text, "middle");
    }
    out += line(kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, "axis");
    out += words((kLeft + kWidth - kRight) / 2, kHeight - 8, x.title, "middle", "muted");
    return out + words(kWidth - kRight, 15, y.title, "end", "muted");
  }
};

}  // namespace

std::string line_plot(std::string_view title, std::string_view description, const Axis& x, const Axis& y,
                      const std::vector<Series>& series) {
  const Frame frame{x, y};
  std::string body = frame.draw(title);
  double legend = kHeight + kLegendLine;
  for (std::size_t i = 0; i < series.size(); ++i) {
    std::string path;
    for (const auto& [px, py] : series[i].points) {
      path += fmt::format("{}{} {}", path.empty() ? "M" : "L", at(frame.across(px)), at(frame.down(py)));
    }
    body += fmt::format("<path d=\"{}\" class=\"line s{}\"/>\n", path, i % kColours);
    for (const auto& [px, py] : series[i].points) body += marker(i, frame.across(px), frame.down(py));
    body += marker(i, kLeft + 4, legend - 4) + words(kLeft + 14, legend, series[i].name, "start");
    legend += kLegendLine;
  }
  return document(title, description, kWidth, legend - kLegendLine + 8, body);
}

std::string bar_plot(std::string_view title, std::string_view description, const Axis& x, const Axis& y, double width,
                     const std::vector<std::pair<double, double>>& bars) {
  const Frame frame{x, y};
  std::string body = frame.draw(title);
  for (const auto& [px, py] : bars) {
    const double left = frame.across(px), top = frame.down(py);
    body += box(left + 0.5, top, std::max(1.0, frame.across(px + width) - left - 1), kHeight - kBottom - top, "f0");
  }
  return document(title, description, kWidth, kHeight, body);
}

std::string stacked_plot(std::string_view title, std::string_view description, const std::vector<std::string>& names,
                         const std::vector<StackedBar>& bars) {
  constexpr double kRow = 17, kName = 300, kBar = 320, kHead = 48;
  std::string body = words(0, 15, title, "start", "title");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double x = kName + static_cast<double>(i) * 100;
    body += box(x, 27, 9, 9, fmt::format("f{}", i)) + words(x + 13, 36, names[i], "start");
  }
  double y = kHead;
  for (const StackedBar& bar : bars) {
    body += words(kName - 8, y + 10.5, bar.name, "end");
    double x = kName;
    for (std::size_t i = 0; i < bar.parts.size(); ++i) {
      if (bar.parts[i] <= 0) continue;
      body += box(x, y, bar.parts[i] * kBar, kRow - 4, fmt::format("f{}", i));
      x += bar.parts[i] * kBar;
    }
    body += words(kName + kBar + 8, y + 10.5, bar.note, "start", "muted");
    y += kRow;
  }
  return document(title, description, kName + kBar + 120, y + 4, body);
}

std::string heat_plot(std::string_view title, std::string_view description, const std::vector<std::string>& cells) {
  if (cells.empty()) return "";
  const double size = std::clamp(460.0 / static_cast<double>(cells[0].size()), 7.0, 16.0);
  // One path per kind of cell, in units of a cell; letters apart, one text per row.
  std::map<char, std::string> paths;
  std::string letters;
  for (std::size_t y = 0; y < cells.size(); ++y) {
    const std::string& row = cells[y];
    std::string word, places;
    for (std::size_t begin = 0, end = 0; begin < row.size(); begin = end) {  // equal neighbours are one stroke
      while (end < row.size() && row[end] == row[begin]) ++end;
      paths[row[begin]] += fmt::format("M{} {}.5h{}", begin, y, end - begin);
      for (std::size_t x = begin; x < end && row[begin] >= 'A'; ++x) {
        word += row[begin];
        places += fmt::format("{}{:.0f}", places.empty() ? "" : " ", (static_cast<double>(x) + 0.2) * size);
      }
    }
    if (!word.empty()) {
      letters += fmt::format("<text x=\"{}\" y=\"{}\" class=\"cell\">{}</text>\n", places,
                             at(22 + (static_cast<double>(y) + 0.85) * size), word);
    }
  }
  std::string body =
      words(0, 14, title, "start", "title") + fmt::format("<g transform=\"translate(0 22) scale({})\">\n", at(size));
  for (const auto& [kind, path] : paths) {
    body += fmt::format("<path d=\"{}\" class=\"k{}\"/>\n", path, kind == '.' ? "none" : std::string(1, kind));
  }
  body += "</g>\n" + letters;
  return document(title, description, std::max(460.0, size * static_cast<double>(cells[0].size())),
                  26 + size * static_cast<double>(cells.size()), body);
}

}  // namespace flashproof::html
