#include "reports/cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "reference/problem/error.h"
#include "reference/problem/text.h"
#include "reports/compare/intervals.h"
#include "reports/traffic/traffic.h"

namespace flashproof {
namespace {

/// An option that may be given several times, each time with one value, so that it never swallows a positional.
CLI::Option* many(CLI::App* app, const std::string& flag, std::vector<std::string>& to, const std::string& help) {
  return app->add_option(flag, to, help)->type_size(1)->expected(1)->take_all()->type_name("GLOB");
}

// CLI11's own numbers take "-1" and what else strtoull takes.
void add_seed(CLI::App* app, std::uint64_t& seed, const std::string& help) {
  app->add_option_function<std::string>(
         "--seed",
         [&seed](const std::string& text) {
           const auto value = parse_u64(text);
           if (!value) throw CLI::ValidationError("--seed " + quote(text) + ": must be 0..18446744073709551615");
           seed = *value;
         },
         help)
      ->type_name("N");
}

void add_filters(CLI::App* app, SweepArguments& a, bool kernel_option) {
  if (kernel_option) many(app, "--kernel", a.filters.kernels, "kernels to run (* and ?); default all");
  many(app, "--family", a.filters.families, "input families; default all");
  many(app, "--format", a.filters.formats, "storage formats f32, f16, bf16, ...; default all");
  auto* quick = app->add_flag("--quick", a.quick, "fewer seeds");
  app->add_flag("--nightly", a.nightly, "many seeds; inconclusive counts as a finding")->excludes(quick);
  add_seed(app, a.seed, "first seed");
  app->add_option("--jobs", a.jobs, "worker processes; default one per core")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
}

void add_executor(CLI::App* app, std::string& executor) {
  app->add_option("--exec", executor, "cpu, cuda or all")
      ->check(CLI::IsMember({"cpu", "cuda", "all"}))
      ->type_name("EXEC");
}

void add_profile(CLI::App* app, std::string& profile) {
  app->add_option("--profile", profile, "what `probe` wrote for this GPU; default the shipped one")->type_name("FILE");
}

void add_math(CLI::App* app, std::string& math, std::string& profile) {
  app->add_option("--math", math, "det, native or all; native needs --exec cuda and a profile of the GPU")
      ->check(CLI::IsMember({"det", "native", "all"}))
      ->type_name("MATH");
  add_profile(app, profile);
}

void add_export(CLI::App* app, ExportArguments& a) {
  app->add_option("CASE", a.target, "a .safetensors witness or problem:family:seed[:key=value,...]")
      ->required()
      ->type_name("");
  app->add_option("--out", a.out, "directory for reproduction.safetensors and reproduce.py")
      ->required()
      ->type_name("DIR");
  app->add_option("--kernel", a.kernel, "whose output and bound to add; default the witness's, else none")
      ->type_name("KERNEL");
  app->add_option("--python", a.python, "numpy or torch, which the script needs alone; default numpy")
      ->check(CLI::IsMember({"numpy", "torch"}))
      ->type_name("LIBRARY");
  app->add_option("--exec", a.executor, "cpu or cuda; default the witness's, else cpu")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->type_name("EXEC");
  app->add_option("--math", a.math, "det or native; native needs --exec cuda and a profile of the GPU")
      ->check(CLI::IsMember({"det", "native"}))
      ->type_name("MATH");
  add_profile(app, a.profile);
  app->add_option("--schedule", a.schedule, "fifo, lifo, random:SEED or bytes:HEX, each also with +lazy")
      ->type_name("SCHEDULE");
}

void add_ledger(CLI::App* app, LedgerArguments& a) {
  a.ledger = FLASHPROOF_LEDGER;
  app->add_option("FILE", a.files, "a report.json or another ledger; default none: the table")->type_name("");
  app->add_option("--ledger", a.ledger, "default reports/ledger/ledger.tsv of the source")->type_name("FILE");
  app->add_option("--architecture", a.architecture, "of the records that were made on a GPU, as sm_90")
      ->type_name("SM");
  app->add_flag("--update", a.update, "take in what beats the ledger; needs --reason");
  app->add_option("--reason", a.reason, "where the figures come from")->type_name("TEXT");
}

constexpr double kMostSeconds = 1e6;

void add_attack(CLI::App* app, AttackArguments& a) {
  many(app, "--kernel", a.kernels,
       "kernels to attack; default all but the seeded faults (--validate: the hardened ones)");
  many(app, "--format", a.formats, "storage formats; default all");
  app->add_option("--seconds", a.seconds,
                  "time for the whole search; 0 measures the ledger's entries again; default 60")
      ->check([](const std::string& text) {  // CLI::Range lets NaN through
        double seconds = 0;
        const bool legal = CLI::detail::lexical_cast(text, seconds) && seconds >= 0 && seconds <= kMostSeconds;
        return legal ? std::string() : fmt::format("{}: must be 0..{}", quote(text), kMostSeconds);
      })
      ->type_name("S");
  app->add_option("--jobs", a.jobs, "worker processes; default one per core")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  add_seed(app, a.seed, "of the search; another seed goes other ways from the same ledger");
  a.ledger = FLASHPROOF_LEDGER;
  app->add_option("--ledger", a.ledger, "what is known and goes on; default reports/ledger/ledger.tsv of the source")
      ->type_name("FILE");
  app->add_flag("--update", a.update, "write the ledger; needs --reason");
  app->add_option("--reason", a.reason, "why its figures move")->type_name("TEXT");
  app->add_option("--out", a.out, "directory for witnesses of violations; default out")->type_name("DIR");
  app->add_option("--export", a.export_to, "write the ledger's cases there as witnesses, for explain")
      ->type_name("DIR");
  app->add_option("--validate", a.validate,
                  "no search: so many small cases per kernel, format and family; counts results outside their bound")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{10'000'000}))
      ->type_name("CASES");
}

void add_certify(CLI::App* app, CertifyArguments& a) {
  const auto number = [&](const char* flag, std::int64_t& to, std::int64_t least, std::int64_t most, const char* help) {
    app->add_option(flag, to, help)->check(CLI::Range(least, most))->type_name("N");
  };
  constexpr std::int64_t kMostRows = 1 << 20;
  number("--heads", a.heads, 1, 65535, "query heads; default 8");
  number("--kv-heads", a.kv_heads, 1, 65535, "heads of K and V, a divisor of --heads; default as many");
  number("--length", a.length, 1, kMostRows, "queries and keys; default 8192");
  number("--dim", a.dim, 1, 128, "head dimension; default 128");
  many(app, "--format", a.formats, "f16, bf16 or f32; default all three")->type_name("FORMAT");
  app->add_flag("--causal", a.causal, "query i sees the keys up to i");
  add_seed(app, a.seed, "of the data");
  app->add_option("--exec", a.executor, "cpu, cuda or auto (the GPU if there is one); default auto")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->type_name("EXEC");
  number("--rows", a.rows, 1, kMostRows, "rows of every head that the CPU certifies; default 256");
  number("--sample", a.sample, 1, kMostRows, "rows that the CPU recomputes for the GPU; default 64");
  app->add_option("--memory", a.memory_gib, "refuse what needs more GiB of the host's memory than this; default 8")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("GIB");
  app->add_option("--cublas", a.cublas, "library whose dgemm to measure; default libcublas.so.13 or .12")
      ->type_name("FILE");
}

/// Those of the options that were given, each one word: a value that begins with a dash stays a value.
std::vector<std::string> words_of(const CLI::App& app, const std::vector<std::string>& options) {
  std::vector<std::string> words;
  for (const std::string& name : options) {
    const CLI::Option* option = app.get_option(name);
    if (option->count() > 0 && option->get_expected_max() == 0) words.push_back(name);  // a flag
    if (option->get_expected_max() == 0) continue;
    for (const std::string& value : option->results()) words.push_back(fmt::format("{}={}", name, value));
  }
  return words;
}

void add_compare(CLI::App* app, CompareArguments& a) {
  app->add_option("BASE", a.base, "a report.json, a kernel's id or a git revision; none with --bench alone")
      ->type_name("");
  app->add_option("HEAD", a.head, "the same; . is the working tree")->type_name("");
  many(app, "--kernel", a.sweep.filters.kernels, "revisions: kernels; default all");
  many(app, "--family", a.sweep.filters.families, "kernels, revisions: input families; default all");
  many(app, "--format", a.sweep.filters.formats, "kernels, revisions: storage formats; default all");
  auto* quick = app->add_flag("--quick", a.sweep.quick, "kernels, revisions: fewer seeds");
  app->add_flag("--nightly", a.sweep.nightly, "kernels, revisions: many seeds")->excludes(quick);
  add_seed(app, a.sweep.seed, "kernels, revisions: first seed");
  app->add_option("--jobs", a.sweep.jobs, "kernels, revisions: worker processes; default one per core")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  add_executor(app, a.sweep.executor);
  add_math(app, a.sweep.math, a.sweep.profile);
  app->add_option("--case", a.case_text, "kernels: one case in place of the families")->type_name("CASE");
  app->add_option(
         "--measure", a.rounds,
         "rounds of timing, both sides one after the other: kernels on the CPU executor, revisions by their benchmarks")
      ->check(CLI::Range(2, static_cast<int>(compare::kMostRepetitions)))
      ->type_name("ROUNDS");
  app->add_option("--benchmark-filter", a.benchmark_filter, "revisions: which benchmarks --measure takes; default all")
      ->type_name("REGEX");
  for (const char* other : {"--family", "--format", "--quick", "--nightly", "--seed"}) {
    app->get_option("--case")->excludes(app->get_option(other));
  }
  app->add_option(
         "--bench", a.bench,
         "two results of Google Benchmark (JSON, with repetitions); several pairs are rounds, one after the other")
      ->type_size(2)
      ->expected(1, 200)
      ->type_name("BASE.json HEAD.json");
  app->add_flag("--partial", a.partial, "compare the common records of partial reports");
  app->add_flag("--check", a.check,
                "read the policy, the waivers and --bench, see that the files can be written, and stop");
  app->add_option("--gate", a.gate, "rules (TOML): exit 1 where one is broken")->type_name("POLICY.toml");
  app->add_option("--waivers", a.waivers, "exceptions to them, each with a reason and a last day")
      ->type_name("FILE.toml");
  app->add_option("--today", a.today, "the day that waivers are held against; default today, in UTC")
      ->type_name("YYYY-MM-DD");
  app->add_option("--markdown", a.markdown, "write it as Markdown, at most 65,000 bytes")->type_name("FILE");
  app->add_option("--json", a.json, "write it for programs")->type_name("FILE");
}

}  // namespace

void add_commands(CLI::App& app, Options& o, std::function<int()>& command) {
  add_launched_commands(app, o, command);
  o.sweep.ledger = FLASHPROOF_LEDGER;
  auto* report = app.add_subcommand(
      "report", "every kernel on every input family: error table, report.json, .html, .md, junit.xml");
  add_filters(report, o.sweep, true);
  add_executor(report, o.sweep.executor);
  add_math(report, o.sweep.math, o.sweep.profile);
  report
      ->add_option("--out", o.sweep.out, "directory for report.json, .html, .md, junit.xml and witnesses; default out")
      ->type_name("DIR");
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
                            "--with-faults", "--with-bench", "--ledger"}) {
    faults->excludes(report->get_option(other));
  }
  report->callback(
      [&] { command = [&] { return o.sweep.faults ? faults_command(o.sweep) : report_command(o.sweep); }; });

  auto* compare =
      app.add_subcommand("compare", "what got better and what worse between two revisions, reports or kernels");
  add_compare(compare, o.compare);
  compare->callback([&, compare] {
    o.compare.sweep_options = words_of(*compare, {"--kernel", "--family", "--format", "--quick", "--nightly", "--seed",
                                                  "--jobs", "--exec", "--math", "--profile"});
    o.compare.launcher = o.launcher;
    command = [&] { return compare_command(o.compare); };
  });
  auto* merge = app.add_subcommand("merge", "several report.json as one, exactly, in any order");
  merge->add_option("REPORT", o.merge.files, "report.json files of runs with different cases")
      ->required()
      ->type_name("");
  merge->add_option("--out", o.merge.out, "directory for report.json, .html, .md and junit.xml; default out")
      ->type_name("DIR");
  merge->add_flag("--allow-partial", o.merge.allow_partial, "take runs that were interrupted");
  merge->callback([&] { command = [&] { return merge_command(o.merge); }; });

  auto* list = app.add_subcommand("list", "kernels, families, laws, faults or coverage");
  list->add_option("what", o.what, "kernels, families, laws, faults or coverage")->required();
  list->add_flag("--json", o.json, "for programs");
  list->callback([&] { command = [&] { return list_command(o.what, o.json); }; });

  auto* check = app.add_subcommand(
      "check", "one kernel, every finding element by element; check ./MY.so: every law on a library");
  check->add_option("KERNEL", o.sweep.filters.kernels, "kernel ids or globs")->required()->type_name("");
  add_filters(check, o.sweep, false);
  add_executor(check, o.sweep.executor);
  add_math(check, o.sweep.math, o.sweep.profile);
  check->footer(
      "check ./MY.so asks every law of the kernels of a library behind the C ABI (kernels/plugin.h), each in a process "
      "that may die: flashproof-plugin check --help.");
  check->callback([&] { command = [&] { return check_command(o.sweep); }; });

  auto* truth = app.add_subcommand("truth", "the true values of a case with their radius, as .safetensors");
  truth->add_option("CASE", o.truth.target, "a .safetensors file or problem:family:seed[:key=value,...]")
      ->required()
      ->type_name("");
  truth->add_option("--out", o.truth.out_file, "file to write")->required()->type_name("FILE");
  truth->add_option("--ulp", o.truth.ulp, "radii at most 2^-12 ulp of this format; default f32")->type_name("FORMAT");
  truth->add_option("--threads", o.truth.threads, "default one per core; the numbers do not depend on it")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  truth->add_option("--memory", o.truth.memory_gib, "refuse what needs more GiB of memory than this; default 8")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("GIB");
  truth->callback([&] { command = [&] { return truth_command(o.truth); }; });

  auto* replay = app.add_subcommand("replay", "a witness file or a recipe, run again");
  replay
      ->add_option(
          "CASE", o.replay.target,
          "a .safetensors witness or problem:family:seed[:key=value,...]; attention_backward:... is a gradient")
      ->required()
      ->type_name("");
  many(replay, "--kernel", o.replay.kernels, "kernels; default the witness's, else all of the problem");
  add_executor(replay, o.replay.executor);
  add_math(replay, o.replay.math, o.replay.profile);
  replay->add_option("--schedule", o.replay.schedule, "fifo, lifo, random:SEED or bytes:HEX, each also with +lazy")
      ->type_name("SCHEDULE");
  replay->footer("replay CASE --plugin ./MY.so runs it on a kernel of that library (kernels/plugin.h).");
  replay->callback([&] { command = [&] { return replay_command(o.replay); }; });

  auto* ledger = app.add_subcommand("ledger", "the worst error/bound known per kernel, format and architecture");
  add_ledger(ledger, o.worst);
  ledger->callback([&] { command = [&] { return ledger_command(o.worst); }; });

  auto* reproduction = app.add_subcommand(
      "export", "a case for somebody without flashproof: data, and Python that judges a kernel by it");
  add_export(reproduction, o.reproduction);
  reproduction->callback([&] { command = [&] { return export_command(o.reproduction); }; });

  auto* explain =
      app.add_subcommand("explain", "one output element in words: its bound, who pays, what would lower it");
  explain->add_option("KERNEL", o.explain.kernel, "a kernel's id")->required()->type_name("");
  explain->add_option("--case", o.explain.target, "a .safetensors file or problem:family:seed[:key=value,...]")
      ->required()
      ->type_name("CASE");
  explain->add_option("--element", o.explain.element, "o:ROW,COLUMN or lse:ROW; default the worst error/bound")
      ->type_name("ELEMENT");
  explain->add_option("--exec", o.explain.executor, "cpu or cuda; default cpu")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->type_name("EXEC");
  explain->add_option("--math", o.explain.math, "det or native; native needs --exec cuda and a profile of the GPU")
      ->check(CLI::IsMember({"det", "native"}))
      ->type_name("MATH");
  add_profile(explain, o.explain.profile);
  explain->callback([&] { command = [&] { return explain_command(o.explain); }; });

  auto* attack =
      app.add_subcommand("attack", "search for the largest error/bound per kernel, format and term; the ledger");
  add_attack(attack, o.attack);
  attack->callback([&] { command = [&] { return attack_command(o.attack); }; });

  auto* traffic =
      app.add_subcommand("traffic", "global memory traffic of the softmax kernels: claimed, counted, measured");
  many(traffic, "--kernel", o.traffic.kernels, "kernels; default every softmax kernel but the seeded faults");
  traffic->add_option("--format", o.traffic.format, "f32, f16 or bf16; default f32")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}))
      ->type_name("FORMAT");
  traffic->add_option("--rows", o.traffic.rows, "M; default 16")
      ->check(CLI::Range(std::int64_t{1}, kMostTrafficElements))
      ->type_name("M");
  traffic->add_option("--cols", o.traffic.cols, "N; default 2048; M * N at most 2097152")
      ->check(CLI::Range(std::int64_t{1}, kMostTrafficElements))
      ->type_name("N");
  traffic->add_option("--measured", o.traffic.measured, "CSV of a GPU's counters, from reports/traffic/traffic_gpu.sh")
      ->type_name("FILE");
  traffic->callback([&] { command = [&] { return traffic_command(o.traffic); }; });

  auto* experiment = app.add_subcommand("experiment", "known results of the literature, measured again; Markdown");
  experiment
      ->add_option("NAME", o.experiment.names,
                   "fused_exponent, one_signed_v, merge_orders, biased_output, outlier_rmse; default all of them")
      ->type_name("");
  add_seed(experiment, o.experiment.seed, "of the data; default 0");
  experiment->callback([&] { command = [&] { return experiment_command(o.experiment); }; });

  auto* twin = app.add_subcommand("twin", "compare the bits of both executors");
  add_filters(twin, o.sweep, true);
  twin->add_option("--out", o.file, "Markdown file to write")->type_name("FILE");
  twin->footer(
      "The table names the revision that the program was built from: the environment variable FLASHPROOF_REVISION if "
      "it "
      "is set, else that of the checkout that the program lies in.");
  twin->callback([&] { command = [&] { return twin_command(o.sweep, o.file); }; });

  auto* certify =
      app.add_subcommand("certify", "attention of production size: every row on a GPU, or a sample of rows");
  add_certify(certify, o.certify);
  certify->callback([&] { command = [&] { return certify_command(o.certify); }; });

  auto* probe = app.add_subcommand("probe", "certify the arithmetic of this GPU: functions and matrix units");
  probe->add_option("--out", o.file, "profile (JSON) to write, for --profile")->type_name("FILE");
  probe->callback([&] { command = [&] { return probe_command(o.file); }; });

  auto* render = app.add_subcommand("render", "a report.json as a page that opens offline: report.html");
  render->add_option("REPORT", o.what, "a report.json of this build's schema")->required()->type_name("");
  render->add_option("--out", o.file, "file to write; default beside REPORT, with .html for its extension")
      ->type_name("FILE");
  render->callback([&] { command = [&] { return render_command(o.what, o.file); }; });
}

}  // namespace flashproof
