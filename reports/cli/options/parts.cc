#include "reports/cli/options/parts.h"

#include "reference/system/source_tree.h"

namespace flashproof {

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& summary, const std::string& more,
                      const std::string& exits) {
  CLI::App* command = app.add_subcommand(name, more.empty() ? summary : summary + "\n" + more);
  if (!exits.empty()) command->footer("Exit codes: " + exits);
  return command;
}

CLI::Option* add_positional(CLI::App* app, const std::string& name, std::string& to, const std::string& help) {
  return app->add_option(name, to, help)->required()->type_name("");
}

void add_memory(CLI::App* app, std::int64_t& gib) {
  add_legal(app, "--memory", gib, "GIB", whole_number(1, 1 << 20),
            "refuse what needs more GiB of the host's memory than this; default 8");
}

void add_schedule(CLI::App* app, std::string& schedule) {
  app->add_option("--schedule", schedule, "fifo, lifo, random:SEED or bytes:HEX, each also with +lazy")
      ->type_name("SCHEDULE");
}

void add_profile(CLI::App* app, std::string& profile) {
  app->add_option("--profile", profile, "what `probe` wrote for the GPU; default the shipped one")->type_name("FILE");
}

void add_executor(CLI::App* app, std::string& executor) { add_declared(app, app->get_name(), "--exec", executor); }

void add_math(CLI::App* app, std::string& math) { add_declared(app, app->get_name(), "--math", math); }

void add_math(CLI::App* app, std::string& math, std::string& profile) {
  add_math(app, math);
  add_profile(app, profile);
}

std::string default_ledger() { return std::string(source_tree()) + "reports/ledger/ledger.tsv"; }

void add_verbose(CLI::App* app, bool& verbose) {
  app->add_flag("--verbose", verbose, "the tables and every finding, beside the verdict's block");
}

void add_filters(CLI::App* app, SweepArguments& a, const std::string& which) {
  const std::string command = app->get_name();
  add_declared(app, command, "--family", a.filters.families, which);
  add_declared(app, command, "--format", a.filters.formats, which);
  auto* quick = add_declared(app, command, "--quick", a.quick, which);
  add_declared(app, command, "--nightly", a.nightly, which)->excludes(quick);
  add_declared(app, command, "--seed", a.seed, which);
  add_declared(app, command, "--jobs", a.jobs, which);
}

}  // namespace flashproof
