// Commands that run kernels on cases: report, check, replay, explain, export, truth, twin.
#include "reports/cli/options/parts.h"

namespace flashproof {
namespace {

void add_report(CLI::App& app, Options& o, Command& command) {
  o.sweep.ledger = default_ledger();
  CLI::App* report = add_command(
      app, "report", "every kernel on every input family: error table, report.json, .html, .md, junit.xml",
      "Puts a kill table (`faults.json`) and times (Google Benchmark's JSON) into the report. `--faults`: the kill "
      "table itself, every "
      "[seeded fault](kernels/broken/README.md) × every law, down to which dose, beside what `allclose` and \"twice "
      "the reference\" say of it.",
      "1 if a hardened kernel failed, or nothing ran; `--nightly`: or a verdict stayed inconclusive; 4 if nothing "
      "failed, but "
      "[too little was decided](reference/error/README.md#power); `--faults`: 1 if a fault survives every law");
  add_declared(report, "report", "--kernel", o.sweep.filters.kernels);
  add_filters(report, o.sweep);
  add_executor(report, o.sweep.executor);
  add_math(report, o.sweep.math, o.sweep.profile);
  report
      ->add_option("--out", o.sweep.out, "directory for report.json, .html, .md, junit.xml and witnesses; default out")
      ->type_name("DIR");
  add_verbose(report, o.sweep.verbose);
  report
      ->add_option("--with-faults", o.sweep.with_faults,
                   "put this kill table (faults.json of --faults) into the report")
      ->type_name("FILE");
  report->add_option("--with-bench", o.sweep.with_bench, "and these times (Google Benchmark's JSON)")
      ->type_name("FILE");
  report
      ->add_option("--ledger", o.sweep.ledger,
                   "the worst that is known; default reports/ledger/ledger.tsv of the source")
      ->type_name("FILE");
  auto* faults = report->add_flag("--faults", o.sweep.faults, "the seeded faults against every law and today's habits");
  for (const char* other : {"--exec", "--math", "--profile", "--family", "--format", "--quick", "--nightly", "--seed",
                            "--with-faults", "--with-bench", "--ledger", "--verbose"}) {
    faults->excludes(report->get_option(other));
  }
  report->callback(
      [&] { command = [&] { return o.sweep.faults ? faults_command(o.sweep) : report_command(o.sweep); }; });
}

void add_check(CLI::App& app, Options& o, Command& command) {
  CLI::App* check = add_command(
      app, "check", "a verdict on one kernel, and why; check ./MY.so: every law on a library",
      "Failing cases grouped by [cause](reports/diagnose/README.md): what the kernel computes instead, and where. "
      "Of a library, in C, C++ or CUDA, every kernel behind [a C ABI of one header](kernels/plugin.h), as compiled; a "
      "crash, a hang or a "
      "write out of bounds is a finding ([how](reports/guides/plugin.md), options: `check ./MY.so --help`). `list "
      "./MY.so` shows what it says "
      "of itself, `replay WITNESS --plugin ./MY.so` runs a finding again. A .ptx or a .cu takes the place of a "
      "library, "
      "on the CPU: `check ./MY.cu --map MY.toml` ([how](kernels/ptx/README.md#a-verdict)).",
      "1 on any finding; 4 if too little was decided, or if kernels of a library need a GPU and there is none");
  check->add_option("KERNEL", o.sweep.filters.kernels, "kernel ids or globs")->required()->type_name("");
  add_filters(check, o.sweep);
  add_executor(check, o.sweep.executor);
  add_math(check, o.sweep.math, o.sweep.profile);
  add_verbose(check, o.sweep.verbose);
  check->callback([&] { command = [&] { return check_command(o.sweep); }; });
}

void add_replay(CLI::App& app, Options& o, Command& command) {
  CLI::App* replay = add_command(
      app, "replay", "a witness file or a recipe, run again",
      "A recipe runs every kernel of its problem. A schedule with `+lazy` behind it: asynchronous copies land as "
      "late as they may. `--plugin ./MY.so` runs it on a kernel of that library.",
      "1 on a finding; 4 if too little was decided");
  add_positional(replay, "CASE", o.replay.target, kCaseHelp);
  add_declared(replay, "replay", "--kernel", o.replay.kernels);
  add_executor(replay, o.replay.executor);
  add_math(replay, o.replay.math, o.replay.profile);
  add_schedule(replay, o.replay.schedule);
  replay->callback([&] { command = [&] { return replay_command(o.replay); }; });
}

void add_explain(CLI::App& app, Options& o, Command& command) {
  CLI::App* explain =
      add_command(app, "explain", "one output element in words: its bound, who pays, what would lower it",
                  "Exact, computed, error, the four parts of its bound and what the largest pays for, the precondition "
                  "nearest to failing, the probable "
                  "bound, and which change of arithmetic would lower it by what factor; of a NaN or inf, from which "
                  "column, key or state on it is there.",
                  "2 if the kernel does not take the case");
  add_positional(explain, "KERNEL", o.explain.kernel, "a kernel's id");
  explain->add_option("--case", o.explain.target, kCaseHelp)->required()->type_name("CASE");
  explain
      ->add_option("--element", o.explain.element,
                   "o:ROW,COLUMN, lse:ROW, dq:ROW,COLUMN, ...; default the worst error/bound")
      ->type_name("ELEMENT");
  add_executor(explain, o.explain.executor);
  add_math(explain, o.explain.math, o.explain.profile);
  explain->callback([&] { command = [&] { return explain_command(o.explain); }; });
}

void add_export(CLI::App& app, Options& o, Command& command) {
  ExportArguments& a = o.reproduction;
  CLI::App* reproduction =
      add_command(app, "export", "a case for a reader without flashproof: data, and Python that judges a kernel by it",
                  "`reproduction.safetensors` (inputs, exact values with radius, what counts as right, what the kernel "
                  "computed) and `reproduce.py`, which "
                  "needs NumPy or PyTorch alone, has a place for their kernel and says which element is worst.",
                  "2 if the kernel does not take the case");
  add_positional(reproduction, "CASE", a.target, kCaseHelp);
  reproduction->add_option("--out", a.out, "directory for reproduction.safetensors and reproduce.py")
      ->required()
      ->type_name("DIR");
  reproduction->add_option("--kernel", a.kernel, "whose output and bound to add; default the witness's, else none")
      ->type_name("KERNEL");
  add_legal(reproduction, "--python", a.python, "LIBRARY", one_of({"numpy", "torch"}),
            "numpy or torch, which the script needs alone; default numpy");
  add_executor(reproduction, a.executor);
  add_math(reproduction, a.math, a.profile);
  add_schedule(reproduction, a.schedule);
  reproduction->callback([&] { command = [&] { return export_command(o.reproduction); }; });
}

void add_truth(CLI::App& app, Options& o, Command& command) {
  CLI::App* truth = add_command(app, "truth", "the true values of a case with their radius, as .safetensors",
                                "o, o_radius, lse, lse_radius (of `attention_backward` dq, dk, dv and theirs) as f64 "
                                "(hi, lo) pairs, radii at most 2^-12 ulp "
                                "of the format.",
                                "2 if it would need more memory");
  add_positional(truth, "CASE", o.truth.target, kCaseHelp);
  truth->add_option("--out", o.truth.out_file, "file to write")->required()->type_name("FILE");
  truth->add_option("--ulp", o.truth.ulp, "radii at most 2^-12 ulp of this format; default f32")->type_name("FORMAT");
  add_legal(truth, "--threads", o.truth.threads, "N", whole_number(1, 4096),
            "default one per core; the numbers do not depend on it");
  add_memory(truth, o.truth.memory_gib);
  truth->callback([&] { command = [&] { return truth_command(o.truth); }; });
}

void add_twin(CLI::App& app, Options& o, Command& command) {
  CLI::App* twin = add_command(
      app, "twin", "every kernel on fibers and on the GPU, or as PTX, bit for bit",
      "The table names the revision that the program was built from: the environment variable FLASHPROOF_REVISION "
      "if it is set, else that of the checkout that the program lies in.",
      "1 if a bit differs, 4 without a GPU, or with `--exec ptx` without nvcc or libLLVM");
  add_declared(twin, "twin", "--kernel", o.sweep.filters.kernels);
  add_filters(twin, o.sweep);
  add_executor(twin, o.sweep.executor);
  add_math(twin, o.sweep.math);
  twin->add_option("--out", o.file, "Markdown file to write")->type_name("FILE");
  twin->callback([&, twin] {
    if (twin->count("--exec") == 0) o.sweep.executor = name(Executor::cuda);
    command = [&] { return twin_command(o.sweep, o.file); };
  });
}

}  // namespace

void add_run_commands(CLI::App& app, Options& o, Command& command) {
  add_report(app, o, command);
  add_check(app, o, command);
  add_replay(app, o, command);
  add_explain(app, o, command);
  add_export(app, o, command);
  add_truth(app, o, command);
  add_twin(app, o, command);
}

}  // namespace flashproof
