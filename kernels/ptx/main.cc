// flashproof-ptx: list FILE, run FILE, of a .ptx or a .cu. ./flashproof starts it.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kernels/ptx/cuda/source.h"
#include "kernels/ptx/listing.h"
#include "kernels/ptx/run/arguments.h"
#include "kernels/ptx/run/program.h"
#include "reference/system/exit_codes.h"
#include "reference/system/parse_arguments.h"
#include "reference/system/program.h"

namespace flashproof::ptx {
namespace {

struct Command {
  std::string file, entry, grid = "1", block = "32", cache;
  std::vector<std::string> arguments;
  std::uint32_t shared = 0;
  std::int64_t max_instructions = Launch{}.max_instructions;
  std::size_t show = 16;
  bool no_cache = false;
};

int list(const Command& command) {
  const std::string text = listing(read_module(command.file));
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kExitFine;
}

int run(const Command& command) {
  const ProgramOptions options{!command.no_cache, command.cache};
  const Module module = read_module(command.file, options);
  const Entry& entry = find_entry(module, command.entry);
  const Arguments arguments(entry, command.arguments);
  const Dim grid = parse_dim("--grid", command.grid), block = parse_dim("--block", command.block);
  Program program(module, entry.name, options);
  const LaunchResult result = program.launch(
      {grid, block, command.shared, arguments.parameters(), arguments.arrays(), command.max_instructions});
  std::fwrite(result.printed.data(), 1, result.printed.size(), stderr);
  for (const Finding& finding : result.findings) std::fprintf(stderr, "%s\n", finding.text.c_str());
  if (!result.completed) return kExitFinding;
  fmt::print("{}{} instructions\n", arguments.outputs(command.show), result.instructions);
  return result.findings.empty() ? kExitFine : kExitFinding;
}

int start(int argc, char** argv) {
  CLI::App app("PTX on the CPU");
  Command command;
  app.require_subcommand(1);
  auto* lists =
      app.add_subcommand("list", "entries, parameters, what a launch needs, and what cannot be executed here");
  auto* runs = app.add_subcommand("run", "one launch; findings go to stderr, outputs to stdout");
  for (CLI::App* each : {lists, runs})
    each->add_option("FILE", command.file, "a .ptx, or a .cu that nvcc compiles")->required()->type_name("");
  runs->add_option("--entry", command.entry, "the kernel; default: the only one")->type_name("NAME");
  runs->add_option("--grid", command.grid, "blocks: 64 or 8,2,1; default 1")->type_name("X,Y,Z");
  runs->add_option("--block", command.block, "threads of a block; default 32")->type_name("X,Y,Z");
  runs->add_option("--shared", command.shared, "bytes of dynamic shared memory; default 0")->type_name("BYTES");
  runs->add_option("--arg", command.arguments,
                   "of each parameter in order: a number, hex:BYTES, in:FORMAT:COUNT:FILL or out:FORMAT:COUNT (FORMAT "
                   "f32, s32, u32, s64, u64, u8; FILL zero, one, iota, random:SEED)")
      ->type_size(1)
      ->expected(1)
      ->take_all()
      ->type_name("WORD");
  runs->add_option("--max-instructions", command.max_instructions, "of all threads together; more are a finding")
      ->type_name("N");
  runs->add_option("--show", command.show, "elements of each output; default 16")->type_name("N");
  runs->add_option("--cache", command.cache, "folder of compiled code; default ~/.cache/flashproof/ptx")
      ->type_name("DIR");
  runs->add_flag("--no-cache", command.no_cache, "compile again");
  if (!parse_arguments(app, argc, argv)) return kExitFine;
  return lists->parsed() ? list(command) : run(command);
}

}  // namespace
}  // namespace flashproof::ptx

int main(int argc, char** argv) {
  return flashproof::run_program([&] { return flashproof::ptx::start(argc, argv); });
}
