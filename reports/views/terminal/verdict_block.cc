#include "reports/views/terminal/verdict_block.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "reference/system/shown_text.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

constexpr std::size_t kHeading = 11;     // columns of a heading, with the space behind it
constexpr std::size_t kCauseIndent = 4;  // of what stands under a cause
constexpr std::size_t kMostOfHead = 14;  // lines of the verdict and what was tested
constexpr std::size_t kMostOfNote = 4;   // lines of one note: what is longer is cut

using Lines = std::vector<std::string>;

/// Columns of a text: UTF-8 characters, each taken for one column wide.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

/// The first `columns` characters.
std::string_view cut(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  while (end < text.size()) {
    if ((text[end] & 0xC0) != 0x80 && columns-- == 0) break;
    ++end;
  }
  return text.substr(0, end);
}

/// Words in lines of at most `width` columns; a word that is longer is broken.
Lines folded(std::string_view text, std::size_t width) {
  Lines lines;
  std::string line;
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!line.empty() && columns_of(line) + 1 + columns_of(word) > width) lines.push_back(std::exchange(line, ""));
    while (columns_of(word) > width) {
      lines.emplace_back(cut(word, width));
      word.remove_prefix(lines.back().size());
    }
    line += (line.empty() ? "" : " ") + std::string(word);
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

/// Up to the first space that is in no quotes, as bash reads them: inside of them a backslash would not continue the line. In $'...'
/// and outside of quotes a backslash takes the next character with it, in '...' it does not.
std::size_t word_end(std::string_view command) {
  char quote = '\0';
  bool escapes = true;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == '\\' && escapes) {
      ++i;
    } else if (quote == '\0') {
      if (c == ' ') return i;
      if (c != '\'' && c != '"') continue;
      quote = c;
      escapes = c == '"' || (i > 0 && command[i - 1] == '$');
    } else if (c == quote) {
      quote = '\0';
      escapes = true;
    }
  }
  return command.size();
}

/// A command in lines that a shell takes as one. A single word stays whole, whatever its length.
Lines command_lines(std::string_view command, std::size_t width) {
  Lines lines;
  std::string line;
  while (!command.empty()) {
    const std::string word(command.substr(0, word_end(command)));
    command.remove_prefix(std::min(command.size(), word.size() + 1));
    if (!line.empty() && columns_of(line) + 1 + columns_of(word) + 2 > width) {
      lines.push_back(line + " \\");
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

/// At most `most` lines; the last one says that it is cut, behind a whole word.
Lines at_most(Lines lines, std::size_t most) {
  if (lines.size() <= most) return lines;
  lines.resize(most);
  std::string& last = lines.back();
  std::string_view kept = cut(last, kBlockColumns - kHeading - 4);
  if (const std::size_t space = kept.rfind(' '); kept.size() < last.size() && space != std::string_view::npos)
    kept = kept.substr(0, space);
  last = std::string(kept) + " ...";
  return lines;
}

void add_note(const BlockNote& note, Colour colour, Lines& out) {
  const Lines lines = at_most(folded(one_line(note.text), kBlockColumns - kHeading), kMostOfNote);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string heading = pad(i == 0 ? note.heading : "", kHeading);
    out.push_back(painted(heading, Hue::strong, colour) + lines[i]);
  }
}

Lines cause_lines(std::size_t number, const CauseEntry& cause, Colour colour) {
  Lines out;
  const Lines sentence = at_most(folded(one_line(cause.sentence), kBlockColumns - kCauseIndent), 3);
  for (std::size_t i = 0; i < sentence.size(); ++i) {
    const std::string head = pad(i == 0 ? fmt::format("{}", number) : "", kCauseIndent);
    out.push_back(painted(head + sentence[i], Hue::bad, colour));
  }
  const std::string indent(kCauseIndent, ' ');
  for (const std::string& line : at_most(folded(one_line(cause.extent), kBlockColumns - kCauseIndent), 3)) {
    out.push_back(indent + line);
  }
  for (const std::string& line : command_lines(one_line(cause.replay), kBlockColumns - kCauseIndent)) {
    out.push_back(indent + painted(line, Hue::strong, colour));
  }
  return out;
}

std::string_view word(BlockOutcome outcome) {
  constexpr std::string_view kWords[] = {"PASS", "FAIL", "UNDECIDED", "PARTIAL", "NO VERDICT"};
  return kWords[static_cast<std::size_t>(outcome)];
}

Hue hue(BlockOutcome outcome) {
  return outcome == BlockOutcome::pass ? Hue::good : outcome == BlockOutcome::fail ? Hue::bad : Hue::caution;
}

/// As many causes as fit into `room` lines, and how many are left.
void add_causes(const VerdictBlock& block, std::size_t room, Colour colour, Lines& out) {
  const std::vector<CauseEntry>& causes = block.causes;
  std::size_t shown = 0;
  for (const CauseEntry& cause : causes) {
    const Lines lines = cause_lines(shown + 1, cause, colour);
    const bool last = shown + 1 == causes.size();
    if (lines.size() + (last ? 0 : 1) > room) break;
    room -= lines.size();
    out.insert(out.end(), lines.begin(), lines.end());
    ++shown;
  }
  if (shown < causes.size()) {
    out.push_back(fmt::format("    {} more causes: {}", causes.size() - shown, block.more));
  }
}

}  // namespace

std::string block_text(const VerdictBlock& block, Colour colour) {
  Lines head, notes;
  const std::string_view verdict = block.word.empty() ? word(block.outcome) : block.word;
  const Lines sentence = at_most(folded(one_line(block.sentence), kBlockColumns - kHeading), 3);
  for (std::size_t i = 0; i < sentence.size(); ++i) {
    const std::string heading = pad(i == 0 ? verdict : "", kHeading);
    head.push_back(painted(heading, hue(block.outcome), colour) + painted(sentence[i], Hue::strong, colour));
  }
  for (const BlockNote& note : block.tested) add_note(note, colour, head);
  if (head.size() > kMostOfHead) {
    head.resize(kMostOfHead - 1);
    head.push_back(std::string(kHeading, ' ') + "and more: --verbose");
  }
  Lines rest;
  for (const BlockNote& note : block.rest) add_note(note, colour, rest);
  if (rest.size() > kMostOfNote) rest.resize(kMostOfNote);
  // Causes come before notes: a note that does not fit is the lesser loss. One cause always fits.
  for (const BlockNote& note : block.notes) add_note(note, colour, notes);
  constexpr std::size_t kLeastOfCauses = 24;
  const std::size_t free = kBlockLines - std::min(kBlockLines, head.size() + rest.size() + 2);
  const std::size_t most_notes = block.causes.empty() ? free : free - std::min(free, kLeastOfCauses);
  if (notes.size() > most_notes) {
    notes.resize(most_notes > 0 ? most_notes - 1 : 0);
    if (most_notes > 0) notes.push_back(std::string(kHeading, ' ') + "and more: " + block.more);
  }
  Lines lines = head;
  if (!block.causes.empty()) {
    lines.emplace_back();
    add_causes(block, free - notes.size(), colour, lines);
    lines.emplace_back();
  }
  lines.insert(lines.end(), notes.begin(), notes.end());
  lines.insert(lines.end(), rest.begin(), rest.end());
  std::string text;
  for (const std::string& line : lines) text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  return text;
}

void show_block(const VerdictBlock& block, const std::string& detail) {
  const std::string shown = block_text(block, colour_of(STDOUT_FILENO));
  const bool first = ::isatty(STDOUT_FILENO) == 1;
  const std::string gap = detail.empty() ? "" : "\n";
  const std::string text = first ? shown + gap + detail : detail + gap + shown;
  std::fwrite(text.data(), 1, text.size(), stdout);  // main() reports a stdout that takes nothing
}

}  // namespace flashproof
