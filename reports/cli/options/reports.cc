// Commands that read reports: compare, merge, render, ledger, list.
#include <fmt/format.h>

#include "reference/system/error.h"
#include "reference/system/text.h"
#include "reports/cli/command_tables.h"
#include "reports/cli/options/parts.h"
#include "reports/compare/intervals.h"

namespace flashproof {
namespace {

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

/// What is compared, and on which cases.
void add_sides(CLI::App* compare, CompareArguments& a) {
  compare->add_option("BASE", a.base, "a report.json, a kernel's id or a git revision; none with --bench alone")
      ->type_name("");
  compare->add_option("HEAD", a.head, "the same; . is the working tree")->type_name("");
  add_declared(compare, "compare", "--kernel", a.sweep.filters.kernels);
  add_filters(compare, a.sweep, "kernels, revisions: ");
  add_executor(compare, a.sweep.executor);
  add_math(compare, a.sweep.math, a.sweep.profile);
  compare->add_option("--case", a.case_text, "kernels: one case in place of the families")->type_name("CASE");
  for (const char* other : {"--family", "--format", "--quick", "--nightly", "--seed"}) {
    compare->get_option("--case")->excludes(compare->get_option(other));
  }
}

void add_speeds(CLI::App* compare, CompareArguments& a) {
  add_legal(compare, "--measure", a.rounds, "ROUNDS", whole_number(2, compare::kMostRepetitions),
            "rounds of timing, both sides one after the other: kernels on the CPU executor, revisions by their "
            "benchmarks");
  compare
      ->add_option("--benchmark-filter", a.benchmark_filter, "revisions: which benchmarks --measure takes; default all")
      ->type_name("REGEX");
  compare
      ->add_option(
          "--bench", a.bench,
          "two results of Google Benchmark (JSON, with repetitions); several pairs are rounds, one after the other")
      ->type_size(2)
      ->expected(1, 200)
      ->type_name("BASE.json HEAD.json");
}

void add_compare(CLI::App& app, Options& o, Command& command) {
  CompareArguments& a = o.compare;
  CLI::App* compare =
      add_command(app, "compare", "what got better and what worse between two revisions, reports or kernels",
                  "By how many ulp, against which bound, on which input; speeds with their noise "
                  "([how](reports/compare/README.md)). `.` is the working "
                  "tree.",
                  "1 if the gate's policy is broken");
  add_sides(compare, a);
  add_speeds(compare, a);
  compare->add_flag("--partial", a.partial, "compare the common records of partial reports");
  compare->add_flag("--check", a.check,
                    "read the policy, the waivers and --bench, see that the files can be written, and stop");
  compare->add_option("--gate", a.gate, "rules (TOML): exit 1 where one is broken")->type_name("POLICY.toml");
  compare->add_option("--waivers", a.waivers, "exceptions to them, each with a reason and a last day")
      ->type_name("FILE.toml");
  compare->add_option("--today", a.today, "the day that waivers are held against; default today, in UTC")
      ->type_name("YYYY-MM-DD");
  compare->add_option("--markdown", a.markdown, "write it as Markdown, at most 65,000 bytes")->type_name("FILE");
  compare->add_option("--json", a.json, "write it for programs")->type_name("FILE");
  add_verbose(compare, a.verbose);
  compare->callback([&, compare] {
    o.compare.sweep_options = words_of(*compare, {"--kernel", "--family", "--format", "--quick", "--nightly", "--seed",
                                                  "--jobs", "--exec", "--math", "--profile"});
    o.compare.launcher = o.launcher;
    command = [&] { return compare_command(o.compare); };
  });
}

void add_merge(CLI::App& app, Options& o, Command& command) {
  CLI::App* merge =
      add_command(app, "merge", "several report.json as one, exactly, in any order",
                  "[The record](reports/README.md#the-record) says how.",
                  "2 for a case that is there twice, a partial run, runs of two GPUs, or what is no report");
  merge->add_option("REPORT", o.merge.files, "report.json files of runs with different cases")
      ->required()
      ->type_name("");
  merge->add_option("--out", o.merge.out, "directory for report.json, .html, .md and junit.xml; default out")
      ->type_name("DIR");
  merge->add_flag("--allow-partial", o.merge.allow_partial, "take runs that were interrupted");
  add_verbose(merge, o.merge.verbose);
  merge->callback([&] { command = [&] { return merge_command(o.merge); }; });
}

void add_render(CLI::App& app, Options& o, Command& command) {
  CLI::App* render = add_command(
      app, "render", "a report.json as a page that opens offline: report.html",
      "Verdict, kernels × families, plots, every record with its replay line ([how](reports/views/html/README.md)). "
      "`--json`: every figure of every record.",
      "2 if the file is no report of this schema");
  add_positional(render, "REPORT", o.render.report, "a report.json of this build's schema");
  render->add_option("--out", o.render.page, "file to write; default beside REPORT, with .html for its extension")
      ->type_name("FILE");
  render->add_option("--json", o.render.json, "write the report spelled out, every figure of every record")
      ->type_name("FILE");
  render->callback([&] { command = [&] { return render_command(o.render); }; });
}

void add_ledger(CLI::App& app, Options& o, Command& command) {
  LedgerArguments& a = o.worst;
  CLI::App* ledger = add_command(app, "ledger", "the worst error/bound known per kernel, format and architecture",
                                 "With a `report.json` (or the folder of a campaign of `fuzz`, or another "
                                 "[ledger](reports/ledger/README.md)) what beats "
                                 "it; `--update` takes that in.",
                                 "2 if a file is malformed");
  a.ledger = default_ledger();
  ledger->add_option("FILE", a.files, "a report.json, a folder of fuzz or another ledger; default none: the table")
      ->type_name("");
  ledger->add_option("--ledger", a.ledger, "default reports/ledger/ledger.tsv of the source")->type_name("FILE");
  ledger->add_option("--architecture", a.architecture, "of the records that were made on a GPU, as sm_90")
      ->type_name("SM");
  ledger->add_flag("--update", a.update, "take in what beats the ledger; needs --reason");
  ledger->add_option("--reason", a.reason, "where the figures come from")->type_name("TEXT");
  ledger->callback([&] { command = [&] { return ledger_command(o.worst); }; });
}

void add_list(CLI::App& app, Options& o, Command& command) {
  CLI::App* list = add_command(
      app, "list", "kernels, families, laws, faults, coverage or commands",
      "`coverage`: sizes, storage, features and plans × the cases of a default report; `commands`: this table; "
      "`completion`: a script for a shell, for bash `source <(./flashproof list completion)`; `man`: a man page, "
      "`./flashproof list man >flashproof.1`. `list FILE`: what the kernels of a .ptx or .cu need.",
      "");
  add_positional(list, "WHAT", o.what, "kernels, families, laws, faults, coverage, commands, completion or man");
  list->add_flag("--json", o.json, "for programs");
  add_legal(list, "--shell", o.shell, "SHELL", one_of({"bash", "zsh", "fish"}), "of completion; default bash");
  list->callback([&, root = &app] {
    command = [&o, root] {
      if (!o.shell.empty() && o.what != "completion") {
        throw UsageError("list: --shell is of completion alone, not of " + quote(o.what));
      }
      return is_command_table(o.what) ? print_commands(*root, o.what, o.shell, o.json) : list_command(o.what, o.json);
    };
  });
}

}  // namespace

void add_report_commands(CLI::App& app, Options& o, Command& command) {
  add_compare(app, o, command);
  add_merge(app, o, command);
  add_render(app, o, command);
  add_ledger(app, o, command);
  add_list(app, o, command);
}

}  // namespace flashproof
