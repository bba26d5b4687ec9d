// The commands that work on the checkout: what ./flashproof has built for them is run here, or is a program of its own.
#include <CLI/CLI.hpp>

#include "reference/problem/error.h"
#include "reports/cli/options.h"

namespace flashproof {
namespace {

void add_test(CLI::App& app, Options& o, std::function<int()>& command) {
  auto* test = app.add_subcommand("test", "build everything and run every test");
  test->add_flag("--nightly", o.test.nightly, "the slow tests, too");
  test->add_flag("--check", o.test.check, "see that the arguments are right, say what to build for them, and stop");
  test->callback([&] { command = [&] { return test_command(o.test); }; });
}

void add_bench(CLI::App& app, Options& o, std::function<int()>& command) {
  auto* bench =
      app.add_subcommand("bench", "speed of the oracle, the bounds, the executor, the kernels and the fuzz loop");
  bench->add_option("--exec", o.bench.executor, "cpu or cuda; cuda: the fast kernels beside PyTorch's, as Markdown")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->type_name("EXEC");
  bench->add_option("--out", o.bench.out, "all results as one file of Google Benchmark's form")->type_name("FILE");
  bench
      ->add_option("--compare", o.bench.compare,
                   "two such files; or one, which this machine then runs against (with --benchmark_repetitions=20)")
      ->expected(1, 2)
      ->type_name("BASE.json [HEAD.json]");
  bench->add_flag("--check", o.bench.check, "see that the arguments are right, say what to build for them, and stop");
  bench->allow_extras();
  bench->footer(
      "Google Benchmark's own options are handed on: --benchmark_filter=REGEX, --benchmark_repetitions=N, ...");
  bench->callback([&, bench] {
    o.bench.options = bench->remaining();
    command = [&] { return bench_command(o.bench); };
  });
}

/// ./flashproof runs another program for it.
void add_foreign(CLI::App& app, const std::string& name, const std::string& what, const std::string& more = "") {
  auto* foreign = app.add_subcommand(name, what);
  foreign->footer(more);
  foreign->allow_extras();
  foreign->callback([name] { throw UsageError(name + ": not of this program; ./flashproof " + name + " runs it"); });
}

}  // namespace

void add_launched_commands(CLI::App& app, Options& o, std::function<int()>& command) {
  app.add_flag("--no-install", o.launcher.no_install, "never install packages: list what is missing and exit 3");
  app.add_flag("--no-build", o.launcher.no_build, "take the programs as they are built; exit 3 where there is none");
  app.add_flag("--portable", o.launcher.portable, "for any x86-64 CPU instead of x86-64-v3 (AVX2, FMA); slow");
  add_test(app, o, command);
  add_bench(app, o, command);
  add_foreign(app, "properties", "every law on the hardened kernels, by RapidCheck; failures are shrunk to witnesses");
  add_foreign(app, "fuzz", "a search guided by error/bound, which goes on where it was stopped");
  add_foreign(app, "campaign", "fuzz on many machines: a Slurm job array of shards, merged at the end");
  add_foreign(app, "doctor", "toolchain, CPU and GPU facts");
  add_foreign(app, "setup", "setup --cuda: nvcc from PyPI into .cuda/, where no CUDA toolkit is found",
              "--cuda  what to install");
}

}  // namespace flashproof
