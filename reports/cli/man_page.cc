#include "reports/cli/man_page.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <cstdint>
#include <string_view>

#include "reports/cli/command_rows.h"
#include "reports/run/environment.h"

namespace flashproof {
namespace {

/// The code point that valid UTF-8 has at `at`, and `at` behind it.
std::uint32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t lead = byte(at++);
  std::uint32_t point = lead < 0x80 ? lead : lead < 0xe0 ? lead & 0x1f : lead < 0xf0 ? lead & 0x0f : lead & 0x07;
  for (; at < text.size() && (byte(at) & 0xc0) == 0x80; ++at) point = point << 6 | (byte(at) & 0x3f);
  return point;
}

/// Plain text: every character stands for itself, and no line begins a request.
std::string troff(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = at == 0 || text[at - 1] == '\n';
    const std::uint32_t point = next_code_point(text, at);
    const char c = static_cast<char>(point);
    if (point >= 0x80) {
      result += fmt::format("\\[u{:04X}]", point);
    } else if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += begins && (c == '.' || c == '\'') ? "\\&" : "";
      result += c;
    }
  }
  return result;
}

std::string bold(std::string_view text) { return "\\fB" + troff(text) + "\\fP"; }

/// Markdown's `code` and [text](target).
std::string marked(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t mark = std::min(text.find_first_of("`["), text.size());
    result += troff(text.substr(0, mark));
    const bool enclosed = mark > 0 && text[mark - 1] == '(';
    text.remove_prefix(mark);
    if (text.empty()) break;
    const bool code = text.front() == '`';
    const std::size_t middle = text.find(code ? "`" : "](", 1);
    const std::size_t end = code ? middle : text.find(')', middle);
    if (middle == std::string_view::npos || end == std::string_view::npos)
      return result + troff(text);  // just a character
    if (code) {
      result += bold(text.substr(1, middle - 1));
    } else {
      const std::string target(text.substr(middle + 2, end - middle - 2));
      result += troff(text.substr(1, middle - 1)) + troff(enclosed ? ": " + target : " (" + target + ")");
    }
    text.remove_prefix(end + 1);
  }
  return result;
}

std::string paragraph(const std::string& troff_text) { return ".P\n" + troff_text + "\n"; }

std::string options_list(const std::vector<OptionRow>& options) {
  std::string text;
  for (const OptionRow& option : options) {
    text += ".TP\n" + (option.short_name.empty() ? "" : bold(option.short_name) + ", ") + bold(option.name);
    if (!option.type.empty()) text += " " + troff(option.type);
    text += "\n" + marked(option.help) + "\n";
  }
  return text;
}

std::string section(const CommandRow& command) {
  std::string usage = bold("flashproof " + command.name);
  for (const OptionRow& option : command.options) {
    if (option.name != "--help") usage += " " + troff(synopsis(option));
  }
  std::string text = ".SS " + command.name + "\n" + usage + "\n";
  text += paragraph(marked(command.more.empty() ? command.summary : command.summary + ". " + command.more));
  text += options_list(command.options);
  if (!command.exits.empty()) text += paragraph("Exit codes: " + marked(command.exits));
  return text;
}

/// "Numerical analysis ... kernels." as the line of NAME: "numerical analysis ... kernels".
std::string name_line(std::string description) {
  if (description.ends_with('.')) description.pop_back();
  description.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(description.front())));
  return description;
}

}  // namespace

std::string man_page(const CLI::App& app) {
  std::string text = fmt::format(".TH FLASHPROOF 1 \"\" \"flashproof {}\" \"User Commands\"\n", version());
  text += ".SH NAME\nflashproof \\- " + troff(name_line(app.get_description())) + "\n";
  text += ".SH SYNOPSIS\n" + bold("flashproof");
  for (const OptionRow& option : launcher_options(app)) text += " " + troff(synopsis(option));
  text += "\n" + bold("COMMAND") + " [OPTION ...]\n";
  text += ".SH DESCRIPTION\n" + troff(app.get_footer());
  text += ".SH OPTIONS\nBefore the command:\n" + options_list(launcher_options(app));
  text += ".SH COMMANDS\n";
  for (const CommandRow& command : command_rows(app)) text += section(command);
  return text + ".SH SEE ALSO\nREADME.md and reports/guides of the source\n";
}

}  // namespace flashproof
