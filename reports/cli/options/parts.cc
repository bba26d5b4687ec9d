#include "reports/cli/options/parts.h"

#include <utility>

#include "reference/system/source_tree.h"
#include "reference/system/text.h"

namespace flashproof {

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& summary, const std::string& more,
                      const std::string& exits) {
  CLI::App* command = app.add_subcommand(name, more.empty() ? summary : summary + "\n" + more);
  if (!exits.empty()) command->footer("Exit codes: " + exits);
  return command;
}

CLI::Option* many(CLI::App* app, const std::string& flag, std::vector<std::string>& to, const std::string& help) {
  return app->add_option(flag, to, help)->type_size(1)->expected(1)->take_all()->type_name("GLOB");
}

CLI::Option* add_positional(CLI::App* app, const std::string& name, std::string& to, const std::string& help) {
  return app->add_option(name, to, help)->required()->type_name("");
}

CLI::Option* add_one_of(CLI::App* app, const std::string& flag, std::string& to, std::vector<std::string> legal,
                        const std::string& type, const std::string& help) {
  return app->add_option(flag, to, help)->check(CLI::IsMember(std::move(legal)))->type_name(type);
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

void add_jobs(CLI::App* app, int& jobs, const std::string& help) {
  app->add_option("--jobs", jobs, help)->check(CLI::Range(1, 4096))->type_name("N");
}

void add_memory(CLI::App* app, std::int64_t& gib) {
  app->add_option("--memory", gib, "refuse what needs more GiB of the host's memory than this; default 8")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("GIB");
}

void add_schedule(CLI::App* app, std::string& schedule) {
  app->add_option("--schedule", schedule, "fifo, lifo, random:SEED or bytes:HEX, each also with +lazy")
      ->type_name("SCHEDULE");
}

void add_profile(CLI::App* app, std::string& profile) {
  app->add_option("--profile", profile, "what `probe` wrote for the GPU; default the shipped one")->type_name("FILE");
}

void add_executors(CLI::App* app, std::string& executor) {
  add_one_of(app, "--exec", executor, {"cpu", "cuda", "all"}, "EXEC", "cpu, cuda or all");
}

void add_math(CLI::App* app, std::string& math) {
  add_one_of(app, "--math", math, {"det", "native", "all"}, "MATH", "det, native or all");
}

void add_math(CLI::App* app, std::string& math, std::string& profile) {
  add_one_of(app, "--math", math, {"det", "native", "all"}, "MATH",
             "det, native or all; native is judged by a profile of a GPU");
  add_profile(app, profile);
}

void add_one_run(CLI::App* app, std::string& executor, std::string& math, std::string& profile,
                 const std::string& help) {
  add_one_of(app, "--exec", executor, {"cpu", "cuda"}, "EXEC", help);
  add_one_of(app, "--math", math, {"det", "native"}, "MATH", "det or native; native is judged by a profile of a GPU");
  add_profile(app, profile);
}

std::string default_ledger() { return std::string(source_tree()) + "reports/ledger/ledger.tsv"; }

void add_verbose(CLI::App* app, bool& verbose) {
  app->add_flag("--verbose", verbose, "the tables and every finding, beside the verdict's block");
}

void add_filters(CLI::App* app, SweepArguments& a, const std::string& which) {
  many(app, "--family", a.filters.families, which + "input families; default all");
  many(app, "--format", a.filters.formats, which + "storage formats f32, f16, bf16, ...; default all");
  auto* quick = app->add_flag("--quick", a.quick, which + "fewer seeds");
  app->add_flag("--nightly", a.nightly, which + "many seeds; inconclusive counts as a finding")->excludes(quick);
  add_seed(app, a.seed, which + "first seed");
  add_jobs(app, a.jobs, which + "worker processes; default one per core");
}

}  // namespace flashproof
