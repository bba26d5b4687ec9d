#include "reports/plugin/main.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kernels/plugin/plugin_process.h"
#include "properties/generators/family.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/parse_arguments.h"
#include "reference/system/process.h"
#include "reference/system/shown_text.h"
#include "reference/system/text.h"
#include "reports/plugin/before.h"
#include "reports/plugin/check.h"
#include "reports/plugin/declared_by.h"
#include "reports/plugin/suggest.h"
#include "reports/plugin/supervised.h"
#include "reports/plugin/text.h"

namespace flashproof {
namespace {

struct Arguments {
  std::string plugin;
  std::vector<std::string> targets;  // of replay
  PluginCheck check;
  bool quick = false, nightly = false, verbose = false;
  std::string junit, json, declare, before;
};

CLI::Option* many(CLI::App* app, const std::string& flag, std::vector<std::string>& to, const std::string& help) {
  return app->add_option(flag, to, help)->type_size(1)->expected(1)->take_all()->type_name("GLOB");
}

void add_declare(CLI::App* app, Arguments& a) {
  app->add_option("--declare", a.declare, "TOML in place of fields of the descriptions: semantics, arithmetic, ...")
      ->type_name("FILE");
}

/// CLI::Range lets NaN through, beside which no call is too long.
void add_seconds(CLI::App* app, Arguments& a) {
  static constexpr double kLeast = 0.1, kMost = 3600;
  const std::function<std::string(std::string&)> legal = [](const std::string& text) {
    double seconds = 0;
    const bool in_range = CLI::detail::lexical_cast(text, seconds) && seconds >= kLeast && seconds <= kMost;
    return in_range ? std::string() : fmt::format("{}: must be {}..{}", quote(text), kLeast, kMost);
  };
  app->add_option("--seconds", a.check.seconds,
                  "longest call of a kernel, of its process's own time; longer is a hang; default 20")
      ->check(CLI::Validator(legal, fmt::format("FLOAT in [{} - {}]", kLeast, kMost)))
      ->type_name("S");
}

void add_common(CLI::App* app, Arguments& a) {
  many(app, "--kernel", a.check.kernels, "kernels of the library (* and ?); default all");
  many(app, "--law", a.check.laws, "call_returns and the laws of `list laws`; default all");
  add_seconds(app, a);
  add_declare(app, a);
  app->add_flag("--verbose", a.verbose, "families, laws and every finding, beside the verdict's block");
}

/// Which cases, and by how many workers.
void add_drawn(CLI::App* app, Arguments& a) {
  many(app, "--family", a.check.families, "input families; default all");
  many(app, "--format", a.check.formats, "storage formats; default all that a kernel has");
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
}

void add_check(CLI::App* app, Arguments& a) {
  app->add_option("PLUGIN", a.plugin, "a shared library with flashproof_plugin_entry()")->required()->type_name("");
  add_common(app, a);
  add_drawn(app, a);
  auto* quick = app->add_flag("--quick", a.quick, "1 case per kernel, format and family");
  auto* nightly = app->add_flag("--nightly", a.nightly, "40 of them")->excludes(quick);
  app->add_option("--cases", a.check.cases, "so many; default 4")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000}))
      ->excludes(quick)
      ->excludes(nightly)
      ->type_name("N");
  a.check.out = "out";
  app->add_option("--out", a.check.out, "directory for witnesses/; default out")->type_name("DIR");
  app->add_option("--junit", a.junit, "JUnit XML: a test case per kernel, format and law")->type_name("FILE");
  app->add_option("--json", a.json, "the counts and findings, for programs")->type_name("FILE");
  app->add_option("--before", a.before,
                  "the --json of an earlier run: says where other arithmetic explains a kernel now")
      ->type_name("FILE");
}

void add_suggest(CLI::App* app, Arguments& a) {
  app->add_option("PLUGIN", a.plugin, "a shared library with flashproof_plugin_entry()")->required()->type_name("");
  many(app, "--kernel", a.check.kernels, "kernels of the library (* and ?); default all");
  add_declare(app, a);
  add_drawn(app, a);
  app->add_option("--cases", a.check.cases,
                  "per kernel, format and family; default 4, and the covering arrays (sizes, pairs) whole")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1000}))
      ->type_name("N");
  add_seconds(app, a);
}

/// A finding about the library as a whole.
int broken_plugin(const std::string& path, const std::exception& e) {
  std::printf("FAIL plugin %s  fail(error)  %s\n", one_line(path).c_str(), one_line(e.what()).c_str());
  return kExitFinding;
}

/// use(library), with what --declare says in place of its descriptions.
template <class Use>
int with_plugin(const Arguments& a, Use use) {
  try {
    if (a.declare.empty()) return use(Plugin(a.plugin, a.check.seconds));
    DeclaredBy declared(a.declare);
    const Plugin plugin(a.plugin, a.check.seconds, std::ref(declared));
    declared.require_used(plugin);
    return use(plugin);
  } catch (const PluginFault& e) {
    return broken_plugin(a.plugin, e);
  }
}

/// What a replay line begins with.
std::string replay_program(const Arguments& a) {
  return "./flashproof replay" + (a.declare.empty() ? "" : " --declare " + shell_word(a.declare));
}

void refuse_last_seeds(std::uint64_t seed) {
  constexpr std::uint64_t kMostSeed = std::numeric_limits<std::uint64_t>::max() - (std::uint64_t{1} << 32);
  if (seed > kMostSeed) {
    throw UsageError(fmt::format("--seed {}: others follow it, legal is 0..{}", seed, kMostSeed));
  }
}

int check(Arguments& a) {
  if (a.quick) a.check.cases = 1;
  if (a.nightly) a.check.cases = 40;
  refuse_last_seeds(a.check.seed);
  const std::string program = replay_program(a);
  const std::optional<Before> before = a.before.empty() ? std::nullopt : std::optional<Before>(a.before);
  forget_plugin_files(a.junit, a.json);
  return with_plugin(a, [&](const Plugin& plugin) {
    if (a.verbose) std::printf("%s", plugin_text(plugin).c_str());
    PluginReport report = check_plugin(plugin, a.check);
    if (before) report.changed = before->changes(report);
    write_plugin_files(report, plugin, program, a.junit, a.json);
    return show(report, plugin, program, a.verbose);
  });
}

int suggest(const Arguments& a) {
  refuse_last_seeds(a.check.seed);
  return with_plugin(a, [&](const Plugin& plugin) { return show(suggest_for(plugin, a.check)); });
}

int list(const Arguments& a) {
  return with_plugin(a, [](const Plugin& plugin) {
    std::printf("%s", plugin_text(plugin).c_str());
    return kExitFine;
  });
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
  return with_plugin(a, [&](const Plugin& plugin) {
    return show(check_plugin(plugin, a.check), plugin, replay_program(a), a.verbose);
  });
}

/// Of an option that check does not have, too: what follows is its value then, so far as anyone knows.
bool takes_value(const CLI::App& check_app, const std::string& word) {
  if (!word.starts_with("--") || word.find('=') != std::string::npos) return false;
  const CLI::Option* option = check_app.get_option_no_throw(word);
  return option == nullptr || option->get_items_expected_min() > 0;
}

}  // namespace

bool names_plugin(std::string_view argument) {
  constexpr std::array<std::string_view, 7> kEndings = {".so", ".c", ".cc", ".cpp", ".cu", ".o", ".py"};
  return !argument.starts_with('-') &&
         (argument.find('/') != std::string_view::npos ||
          std::ranges::any_of(kEndings, [&](std::string_view ending) { return argument.ends_with(ending); }));
}

bool is_plugin_command(int argc, const char* const* argv) {
  if (argc > 1 && std::string_view(argv[1]) == "suggest") return true;
  if (argc < 3) return false;
  const std::string_view command = argv[1];
  if (command == "check" || command == "list") {
    CLI::App app;
    Arguments a;
    add_check(&app, a);
    for (int i = 2; i < argc; ++i) {
      const std::string_view word = argv[i];
      if (names_plugin(word) && (word.ends_with(".so") || !takes_value(app, argv[i - 1]))) return true;
    }
    return false;
  }
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
  CLI::App* suggest_app = app.add_subcommand("suggest", "the declaration that explains the kernels of a library");
  add_suggest(suggest_app, a);
  CLI::App* replay_app = app.add_subcommand("replay", "one case again, or several that contradict each other");
  replay_app->add_option("CASE", a.targets, ".safetensors witnesses or problem:family:seed[:key=value,...]")
      ->required()
      ->type_name("");
  replay_app->add_option("--plugin", a.plugin, "the library")->required()->type_name("PLUGIN");
  add_common(replay_app, a);
  CLI::App* list_app = app.add_subcommand("list", "what a library says of its kernels");
  list_app->add_option("PLUGIN", a.plugin, "the library")->required()->type_name("");
  add_declare(list_app, a);
  if (!parse_arguments(app, argc, argv)) return 0;
  return supervised([&] {
    stop_on_signals();
    if (check_app->parsed()) return check(a);
    if (suggest_app->parsed()) return suggest(a);
    return replay_app->parsed() ? replay(a) : list(a);
  });
}

}  // namespace flashproof
