// flashproof-fuzz: the driver of fuzz campaigns. The launcher ./flashproof builds it and the targets, and hands `fuzz` over.
#include <CLI/CLI.hpp>
#include <functional>

#include "fuzz/campaign/options.h"
#include "reference/system/error.h"
#include "reference/system/parse_arguments.h"
#include "reference/system/program.h"

namespace flashproof {
namespace {

int parse_and_run(int argc, char** argv) {
  CLI::App app{"Fuzz campaigns over the kernels: worst error/bound and findings, kept in an archive.",
               "flashproof-fuzz"};
  app.require_subcommand(1);
  FuzzArguments arguments;
  std::function<int()> command;
  add_fuzz_commands(app, arguments, command);
  if (!parse_arguments(app, argc, argv)) return 0;
  return command();
}

}  // namespace
}  // namespace flashproof

int main(int argc, char** argv) {
  return flashproof::run_program([&] { return flashproof::parse_and_run(argc, argv); });
}
