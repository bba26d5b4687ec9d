#include "reports/plugin/command_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "reference/system/error.h"
#include "reference/system/option_table.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

/// Of an option that check does not have, too: what follows is its value then, so far as anyone knows.
bool takes_value(std::string_view word) {
  if (!word.starts_with("--") || word.find('=') != std::string_view::npos) return false;
  for (const OptionDeclaration* option : options_of("check-library")) {
    if (option->name == word) return !option->is_flag();
  }
  return true;
}

}  // namespace

bool names_plugin(std::string_view argument) {
  constexpr std::array<std::string_view, 8> kEndings = {".so", ".c", ".cc", ".cpp", ".cu", ".o", ".py", ".ptx"};
  return !argument.starts_with('-') &&
         (argument.find('/') != std::string_view::npos ||
          std::ranges::any_of(kEndings, [&](std::string_view ending) { return argument.ends_with(ending); }));
}

bool is_plugin_command(int argc, const char* const* argv) {
  if (argc > 1 && std::string_view(argv[1]) == "suggest") return true;
  if (argc < 3) return false;
  const std::string_view command = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (command == "replay" && (word == "--plugin" || word.starts_with("--plugin="))) return true;
    if ((command == "check" || command == "list") && names_plugin(word) &&
        (word.ends_with(".so") || !takes_value(argv[i - 1]))) {
      return true;
    }
  }
  return false;
}

void run_plugin_program(char** argv) {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& program : {here / "plugin" / "flashproof-plugin", here / "flashproof-plugin"}) {
    ::execv(program.c_str(), argv);
    if (errno != ENOENT) throw InfrastructureError(fmt::format("flashproof-plugin: {}", std::strerror(errno)));
  }
  throw UsageError("a library is judged by flashproof-plugin, which is not built here; ./flashproof builds it");
}

}  // namespace flashproof
