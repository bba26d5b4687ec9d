#include "reports/plugin/main.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kernels/plugin/plugin_process.h"
#include "properties/generators/family.h"
#include "reference/problem/error.h"
#include "reference/problem/exit_codes.h"
#include "reference/problem/parse_arguments.h"
#include "reference/problem/process.h"
#include "reference/problem/text.h"
#include "reference/problem/witness.h"
#include "reports/plugin/check.h"
#include "reports/plugin/text.h"

namespace flashproof {
namespace {

struct Arguments {
  std::string plugin;
  std::vector<std::string> targets;  // of replay
  PluginCheck check;
  bool quick = false, nightly = false, verbose = false;
  std::string junit, json;
};

CLI::Option* many(CLI::App* app, const std::string& flag, std::vector<std::string>& to, const std::string& help) {
  return app->add_option(flag, to, help)->type_size(1)->expected(1)->take_all()->type_name("GLOB");
}

void add_common(CLI::App* app, Arguments& a) {
  many(app, "--kernel", a.check.kernels, "kernels of the library (* and ?); default all");
  many(app, "--law", a.check.laws, "call_returns and the laws of `list laws`; default all");
  app->add_option("--seconds", a.check.seconds,
                  "longest call of a kernel, of its process's own time; longer is a hang; default 20")
      ->check(CLI::Range(0.1, 3600.0))
      ->type_name("S");
  app->add_flag("--verbose", a.verbose, "families, laws and every finding, beside the verdict's block");
}

void add_check(CLI::App* app, Arguments& a) {
  app->add_option("PLUGIN", a.plugin, "a shared library with flashproof_plugin_entry()")->required()->type_name("");
  add_common(app, a);
  many(app, "--family", a.check.families, "input families; default all");
  many(app, "--format", a.check.formats, "storage formats; default all that a kernel has");
  auto* quick = app->add_flag("--quick", a.quick, "1 case per kernel, format and family");
  auto* nightly = app->add_flag("--nightly", a.nightly, "40 of them")->excludes(quick);
  app->add_option("--cases", a.check.cases, "so many; default 4")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000}))
      ->excludes(quick)
      ->excludes(nightly)
      ->type_name("N");
  app->add_option_function<std::string>(
         "--seed",
         [&a](const std::string& text) {
           const auto value = parse_u64(text);
           if (!value) throw CLI::ValidationError("--seed " + quote(text) + ": must be 0..18446744073709551615");
           a.check.seed = *value;
         },
         "of the first case of every family; default 0")
      ->type_name("N");
  a.check.jobs = default_jobs();
  app->add_option("--jobs", a.check.jobs, "worker processes; default one per core; kernels of a GPU have one")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  a.check.out = "out";
  app->add_option("--out", a.check.out, "directory for witnesses/; default out")->type_name("DIR");
  app->add_option("--junit", a.junit, "JUnit XML: a test case per kernel, format and law")->type_name("FILE");
  app->add_option("--json", a.json, "the counts and findings, for programs")->type_name("FILE");
}

/// A finding about the library as a whole.
int broken_plugin(const std::string& path, const std::exception& e) {
  std::printf("FAIL plugin %s  fail(error)  %s\n", one_line(path).c_str(), one_line(e.what()).c_str());
  return kExitFinding;
}

int check(Arguments& a) {
  if (a.quick) a.check.cases = 1;
  if (a.nightly) a.check.cases = 40;
  constexpr std::uint64_t kMostSeed = std::numeric_limits<std::uint64_t>::max() - (std::uint64_t{1} << 32);
  if (a.check.seed > kMostSeed) {
    throw UsageError(fmt::format("--seed {}: others follow it, legal is 0..{}", a.check.seed, kMostSeed));
  }
  const std::string program = "./flashproof replay";
  forget_plugin_files(a.junit, a.json);
  try {
    const Plugin plugin(a.plugin, a.check.seconds);
    if (a.verbose) std::printf("%s", plugin_text(plugin).c_str());
    const PluginReport report = check_plugin(plugin, a.check);
    write_plugin_files(report, plugin, program, a.junit, a.json);
    return show(report, plugin, program, a.verbose);
  } catch (const PluginFault& e) {
    return broken_plugin(a.plugin, e);
  }
}

int list(const Arguments& a) {
  try {
    std::printf("%s", plugin_text(Plugin(a.plugin, a.check.seconds)).c_str());
    return kExitFine;
  } catch (const PluginFault& e) {
    return broken_plugin(a.plugin, e);
  }
}

int replay(Arguments& a) {
  std::vector<std::string> kernels, laws;  // of the witnesses
  for (const std::string& target : a.targets) {
    Case& content = a.check.replay.emplace_back();
    if (target.ends_with(".safetensors")) {
      Witness witness = read_witness(target);
      content = std::move(witness.content);
      if (witness.notes.contains("kernel")) kernels.push_back(witness.notes["kernel"]);
      if (witness.notes.contains("law")) laws.push_back(witness.notes["law"]);
    } else {
      content = make_case(parse_case_spec(target));
    }
    content.spec.problem = kind_of(content.problem);  // the data decide, whatever the file says
  }
  if (a.check.kernels.empty()) a.check.kernels = std::move(kernels);
  if (a.check.laws.empty()) a.check.laws = std::move(laws);
  try {
    const Plugin plugin(a.plugin, a.check.seconds);
    return show(check_plugin(plugin, a.check), plugin, "./flashproof replay", a.verbose);
  } catch (const PluginFault& e) {
    return broken_plugin(a.plugin, e);
  }
}

}  // namespace

bool names_plugin(std::string_view argument) {
  return !argument.starts_with('-') && (argument.find('/') != std::string_view::npos || argument.ends_with(".so"));
}

bool is_plugin_command(int argc, const char* const* argv) {
  if (argc < 3) return false;
  const std::string_view command = argv[1];
  if (command == "check" || command == "list") return names_plugin(argv[2]);
  if (command != "replay") return false;
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--plugin" || word.starts_with("--plugin=")) return true;
  }
  return false;
}

int plugin_main(int argc, char** argv) {
  forbid_tracing();
  CLI::App app{"The laws of flashproof on kernels behind the C ABI (kernels/plugin.h).", "flashproof-plugin"};
  app.require_subcommand(1);
  Arguments a;
  CLI::App* check_app = app.add_subcommand("check", "every law on the kernels of a library");
  add_check(check_app, a);
  CLI::App* replay_app = app.add_subcommand("replay", "one case again, or several that contradict each other");
  replay_app->add_option("CASE", a.targets, ".safetensors witnesses or problem:family:seed[:key=value,...]")
      ->required()
      ->type_name("");
  replay_app->add_option("--plugin", a.plugin, "the library")->required()->type_name("PLUGIN");
  add_common(replay_app, a);
  CLI::App* list_app = app.add_subcommand("list", "what a library says of its kernels");
  list_app->add_option("PLUGIN", a.plugin, "the library")->required()->type_name("");
  if (!parse_arguments(app, argc, argv)) return 0;
  stop_on_signals();
  if (check_app->parsed()) return check(a);
  return replay_app->parsed() ? replay(a) : list(a);
}

}  // namespace flashproof
