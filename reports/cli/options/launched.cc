// The commands that work on the checkout: what ./flashproof has built for them is run here, or is a program of its own.
#include "reference/system/error.h"
#include "reports/cli/options/parts.h"

namespace flashproof {
namespace {

void add_test(CLI::App& app, Options& o, Command& command) {
  CLI::App* test = add_command(app, "test", "build everything and run every test",
                               "Ends with the cases per law, executed, vacuous and unsupported.",
                               "1 if one failed, or a law executed none");
  test->add_flag("--nightly", o.test.nightly, "the slow tests, too");
  test->add_flag("--check", o.test.check, "see that the arguments are right, say what to build for them, and stop");
  test->callback([&] { command = [&] { return test_command(o.test); }; });
}

void add_bench(CLI::App& app, Options& o, Command& command) {
  CLI::App* bench =
      add_command(app, "bench", "speed of the oracle, the bounds, the executor, the kernels and the fuzz loop",
                  "cuda: the fast kernels on this GPU beside PyTorch's and the copy bandwidth, as Markdown. Google "
                  "Benchmark's own options are handed "
                  "on: `--benchmark_filter=REGEX`, `--benchmark_repetitions=N`, ...",
                  "2 if nothing fits the filter; 4 without a GPU; `--compare`: as compare");
  add_executor(bench, o.bench.executor);
  bench->add_option("--out", o.bench.out, "all results as one file of Google Benchmark's form")->type_name("FILE");
  bench
      ->add_option("--compare", o.bench.compare,
                   "two such files; or one, which this machine then runs against (with --benchmark_repetitions=20)")
      ->expected(1, 2)
      ->type_name("BASE.json [HEAD.json]");
  bench->add_flag("--check", o.bench.check, "see that the arguments are right, say what to build for them, and stop");
  bench->allow_extras();
  bench->callback([&, bench] {
    o.bench.options = bench->remaining();
    command = [&] { return bench_command(o.bench); };
  });
}

/// ./flashproof runs another program for it; where the table has its options, they are told of here, too.
void add_foreign(CLI::App& app, const std::string& name, const std::string& summary, const std::string& more,
                 const std::string& exits) {
  CLI::App* foreign = add_command(app, name, summary, more, exits);
  add_foreign_options(foreign, name);
  foreign->allow_extras();
  foreign->callback([name] { throw UsageError(name + ": not of this program; ./flashproof " + name + " runs it"); });
}

}  // namespace

void add_launched_commands(CLI::App& app, Options& o, Command& command) {
  app.add_flag("--no-install", o.launcher.no_install, "never install packages: list what is missing and exit 3");
  app.add_flag("--no-build", o.launcher.no_build, "take the programs as they are built; exit 3 where there is none");
  app.add_flag("--portable", o.launcher.portable, "for any x86-64 CPU instead of x86-64-v3 (AVX2, FMA); slow");
  add_test(app, o, command);
  add_bench(app, o, command);
  add_foreign(app, "suggest", "suggest ./MY.so: the declaration that explains its kernels, as text to paste",
              "[Semantics](kernels/plugin/README.md#semantics) and arithmetic, narrowest first, and what they leave "
              "unexplained. `check ./MY.so --declare FILE` takes what it says.",
              "1 if nothing explains a kernel; 4 if too little would be decided, or no case is taken");
  add_foreign(app, "properties", "every law on the hardened kernels, by RapidCheck; failures are shrunk to witnesses",
              "On one core some 6 s per softmax or merge kernel, 25 s per gradient kernel, one to several minutes per "
              "attention kernel.",
              "1 on a finding, if a kernel takes no case, or if no law decided anything; 4 if too little was decided");
  add_foreign(
      app, "fuzz", "a search guided by error/bound, which goes on where it was stopped",
      "Findings are made small, with the line that replays them ([how](fuzz/README.md)); seeded faults, if named, "
      "are `expected`. `fuzz --status [DIR]`: what it has.",
      "1 on a finding");
  add_foreign(app, "campaign", "fuzz on many machines: a Slurm job array of shards, merged at the end",
              "Or Kubernetes, or by hand ([how](fuzz/campaign/README.md)).", "1 on a finding");
  add_foreign(app, "run", "run FILE: one launch of a .ptx or .cu on the CPU, every access checked",
              "`run FILE [--entry NAME] [--grid X,Y,Z] [--block X,Y,Z] [--shared BYTES] --arg WORD ...`, a word "
              "per parameter: "
              "a number, `hex:BYTES`, `in:FORMAT:COUNT:FILL` or `out:FORMAT:COUNT`. `list FILE`: entries, "
              "parameters, and what cannot be "
              "executed here ([how](kernels/ptx/README.md)). Needs libLLVM 19.",
              "1 on a finding");
  add_foreign(app, "doctor", "toolchain, CPU and GPU facts", "", "");
  add_foreign(app, "setup", "setup --cuda: nvcc from PyPI into .cuda/, where no CUDA toolkit is found", "",
              "3 if it cannot be installed");
}

}  // namespace flashproof
