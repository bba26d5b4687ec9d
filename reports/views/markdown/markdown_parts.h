// Cells, code spans and sections that are cut where the room ends.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "reports/views/terminal/text.h"
#include "reports/views/terminal/verdict_block.h"

namespace flashproof::markdown_parts {

inline std::string cell(std::string_view text) { return markdown_escaped(text); }

/// A code span holds any text but its own fence, and a table cell must not see a bare '|'.
inline std::string code(std::string_view text) {
  std::string result;
  for (const char c : one_line(text)) {
    if (c == '`')
      result += '\'';
    else if (c == '|')
      result += "\\|";
    else
      result += c;
  }
  return fmt::format("`{}`", result);
}

/// At most `longest` bytes and a mark, cut between two characters of UTF-8.
inline std::string shortened(const std::string& text, std::size_t longest = 1000) {
  if (text.size() <= longest) return text;
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0U) == 0x80) --longest;
  return text.substr(0, longest) + " ...";
}

/// What people need not see at once is between these two.
inline constexpr std::string_view kFold = "<details><summary>Every table</summary>\n\n", kFoldEnd = "</details>\n";

/// The verdict's block as text that nothing in it ends.
inline std::string fenced(const VerdictBlock& block) {
  std::string text = block_text(block, Colour::off);
  std::ranges::replace(text, '`', '\'');
  return fmt::format("```\n{}```\n\n", text);
}

/// A section with one table. Its rows are added while they fit.
struct Section {
  std::string head;
  std::vector<std::string> rows;

  /// Takes at most `most` from the room.
  std::string within(std::size_t& room, std::size_t most) const {
    if (rows.empty()) return {};
    // The note's longest form: two numbers of at most 20 digits.
    constexpr std::size_t kNote = 150;
    std::string out = head;
    if (out.size() + kNote > most) return {};
    std::size_t shown = 0;
    for (; shown < rows.size() && out.size() + rows[shown].size() + kNote <= most; ++shown) out += rows[shown];
    if (shown < rows.size()) {
      out += fmt::format("\n{} of {} rows are left out to keep this file short; report.json has them all.\n",
                         rows.size() - shown, rows.size());
    }
    out += "\n";
    room -= out.size();
    return out;
  }
};

}  // namespace flashproof::markdown_parts
