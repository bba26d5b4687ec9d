// flashproof-cli: the command line. The launcher ./flashproof builds this program and hands its arguments over.
#include <CLI/CLI.hpp>

#include <string>

#include "reference/system/error.h"
#include "reference/system/parse_arguments.h"
#include "reference/system/program.h"
#include "reports/cli/help.h"
#include "reports/cli/options/options.h"
#include "reports/plugin/command_line.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

int parse_and_run(int argc, char** argv) {
  if (is_plugin_command(argc, argv)) run_plugin_program(argv);
  CLI::App app{"Numerical analysis and fuzz testing of online softmax, LSE merge and flash attention kernels.",
               "flashproof"};
  app.require_subcommand(1);
  Options o;
  Command command;
  for (int i = 0; i < argc; ++i) {
    const std::string word = i == 0 ? "flashproof" : one_line(argv[i]);
    // How long it takes and where it goes change nothing of what comes out.
    if (word == "--no-install" || word == "--no-build" || word == "--portable") continue;  // the launcher's
    const bool number = word == "--jobs", place = word == "--out";
    if (number || place || word.starts_with("--jobs=") || word.starts_with("--out=")) {
      if (number || place) ++i;
      continue;
    }
    o.sweep.command_line += (i == 0 ? "" : " ") + word;
  }
  add_commands(app, o, command);
  set_help(app);
  if (!parse_arguments(app, argc, argv)) return 0;
  return command();
}

}  // namespace
}  // namespace flashproof

int main(int argc, char** argv) {
  return flashproof::run_program([&] { return flashproof::parse_and_run(argc, argv); });
}
