#include "reports/cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "reports/cli/command_rows.h"

namespace flashproof {
namespace {

/// With a backslash before each of `special`, on one line.
std::string escaped(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

/// In single quotes of a POSIX shell, bash and zsh, in which nothing is special.
std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c;
    }
  }
  return result + "'";
}

bool names_a_file(const OptionRow& option) {
  return option.positional || option.type.find("FILE") != std::string::npos ||
         option.type.find('.') != std::string::npos;
}

std::vector<std::string> names_of(const std::vector<OptionRow>& options) {
  std::vector<std::string> names;
  for (const OptionRow& option : options) {
    if (!option.positional) names.push_back(option.name);
  }
  return names;
}

// ---- zsh

/// What _arguments completes: a value, a folder, a file, or nothing.
std::string zsh_action(const OptionRow& option) {
  if (!option.values.empty()) return fmt::format("({})", fmt::join(option.values, " "));
  if (option.type == "DIR") return "_files -/";
  return names_a_file(option) ? "_files" : " ";
}

/// A word of _arguments.
std::string zsh_spec(const OptionRow& option) {
  if (option.positional) {
    return shell_quoted(
        fmt::format("{}:{}:{}", option.repeats ? "*" : "", escaped(option.name, ":\\"), zsh_action(option)));
  }
  const std::string help = fmt::format("[{}]", escaped(option.help, ":[]\\"));
  if (!option.short_name.empty()) {
    const std::string both = fmt::format("({} {})", option.short_name, option.name);
    return shell_quoted(both + option.short_name + help) + " " + shell_quoted(both + option.name + help);
  }
  const std::string spec = (option.repeats ? "*" : "") + option.name;
  if (option.type.empty()) return shell_quoted(spec + help);
  return shell_quoted(fmt::format("{}={}:{}:{}", spec, help, escaped(option.type, ":\\"), zsh_action(option)));
}

std::string zsh_specs(const std::vector<OptionRow>& options) {
  std::string specs;
  for (const OptionRow& option : options) specs += " \\\n        " + zsh_spec(option);
  return specs;
}

// ---- fish

std::string fish_quoted(std::string_view text) { return "'" + escaped(text, "'\\") + "'"; }

std::string fish_line(std::string_view command, const OptionRow& option) {
  std::string line = fmt::format("complete -c flashproof -n '__flashproof_command_is {}'",
                                 command.empty() ? std::string_view(R"("")") : command);
  if (!option.short_name.empty()) line += " -s " + option.short_name.substr(1);
  line += " -l " + option.name.substr(2);
  if (!option.type.empty())
    line += option.values.empty() && (names_a_file(option) || option.type == "DIR") ? " -r" : " -x";
  if (!option.values.empty()) line += " -a " + fish_quoted(fmt::format("{}", fmt::join(option.values, " ")));
  return line + " -d " + fish_quoted(option.help) + "\n";
}

std::string fish_lines(std::string_view command, const std::vector<OptionRow>& options) {
  std::string lines;
  for (const OptionRow& option : options) {
    if (!option.positional) lines += fish_line(command, option);
  }
  return lines;
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
  std::string cases;
  std::vector<std::string> names;
  for (const CommandRow& command : command_rows(app)) {
    names.push_back(command.name);
    cases += fmt::format("    {}) words='{}' ;;\n", command.name, fmt::join(names_of(command.options), " "));
  }
  return fmt::format(R"(_flashproof() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} command='' words='' i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${{COMP_WORDS[i]}} != -* ]]; then command=${{COMP_WORDS[i]}}; break; fi
  done
  case $command in
    '') words='{} {}' ;;
{}  esac
  if [[ $word == -* || -z $command ]]; then mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"); fi
}}
complete -o default -F _flashproof flashproof ./flashproof
)",
                     fmt::join(names, " "), fmt::join(names_of(launcher_options(app)), " "), cases);
}

std::string zsh_completion(const CLI::App& app) {
  std::string names, cases;
  for (const CommandRow& command : command_rows(app)) {
    names += fmt::format("    {}\n", shell_quoted(command.name + ":" + escaped(command.summary, "\\")));
    cases += fmt::format("    {})\n      _arguments{} ;;\n", command.name, zsh_specs(command.options));
  }
  return fmt::format(R"(#compdef flashproof
_flashproof() {{
  local context state state_descr line
  local -A opt_args
  local -a commands
  commands=(
{}  )
  _arguments -C{} \
        '1:command:->command' '*::argument:->arguments'
  if [[ $state == command ]]; then
    _describe command commands
    return
  fi
  case $words[1] in
{}  esac
}}
if [[ $funcstack[1] == _flashproof ]]; then _flashproof "$@"; else compdef _flashproof flashproof; fi
)",
                     names, zsh_specs(launcher_options(app)), cases);
}

std::string fish_completion(const CLI::App& app) {
  std::string text = R"(function __flashproof_command_is
  set -l words (commandline -opc)
  set -e words[1]
  set -l command ''
  for word in $words
    if not string match -q -- '-*' $word
      set command $word
      break
    end
  end
  test "$command" = "$argv[1]"
end
)";
  text += fish_lines("", launcher_options(app));
  for (const CommandRow& command : command_rows(app)) {
    text += fmt::format("complete -c flashproof -n '__flashproof_command_is \"\"' -f -a {} -d {}\n", command.name,
                        fish_quoted(command.summary));
    text += fish_lines(command.name, command.options);
  }
  return text;
}

}  // namespace flashproof
