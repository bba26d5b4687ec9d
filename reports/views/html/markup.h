// Small pieces of HTML that the static parts of the page share.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "reference/system/text.h"
#include "reports/views/terminal/text.h"

namespace flashproof::html {

/// Text between tags or inside a quoted attribute.
inline std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : one_line(text)) {
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
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

/// As short_number(); a dash for -1, what was not measured.
inline std::string shown(double value) { return value == -1 ? "–" : short_number(value); }

/// "12,345".
inline std::string grouped(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

/// A command in a box; the page's script adds the button that copies it.
inline std::string command(std::string_view line) {
  return line.empty() ? "" : fmt::format("<code class=\"cmd\">{}</code>", escaped(line));
}

/// A table header cell that heads its column; `classes` may be empty.
inline std::string column(std::string_view name, std::string_view classes = "") {
  return classes.empty() ? fmt::format("<th scope=\"col\">{}</th>", escaped(name))
                         : fmt::format("<th scope=\"col\" class=\"{}\">{}</th>", classes, escaped(name));
}

/// A table inside a box that scrolls and that the keyboard reaches. `name` labels it.
inline std::string scrolling(std::string_view name, std::string_view table) {
  return fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n{}</div>\n",
                     escaped(name), table);
}

}  // namespace flashproof::html
