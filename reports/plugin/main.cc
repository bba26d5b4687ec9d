#include "reports/plugin/main.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kernels/plugin/plugin_process.h"
#include "properties/generators/family.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/add_option.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/parse_arguments.h"
#include "reference/system/process.h"
#include "reference/system/shown_text.h"
#include "reference/system/text.h"
#include "reports/plugin/before.h"
#include "reports/plugin/check.h"
#include "reports/plugin/declared_by.h"
#include "reports/plugin/mapped_ptx.h"
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
  std::string junit, json, declare, map, before;
};

constexpr const char* kCheck = "check-library";  // in the option table; its own name is that of a command on kernels
constexpr const char* kReplay = "replay-library";
constexpr const char* kList = "list-library";
constexpr const char* kSuggest = "suggest";

void add_common(CLI::App* app, const char* command, Arguments& a) {
  add_declared(app, command, "--kernel", a.check.kernels);
  add_declared(app, command, "--law", a.check.laws);
  add_declared(app, command, "--seconds", a.check.seconds);
  add_declared(app, command, "--map", a.map);
  add_declared(app, command, "--declare", a.declare);
  add_declared(app, command, "--verbose", a.verbose);
}

/// Which cases, and by how many workers.
void add_drawn(CLI::App* app, const char* command, Arguments& a) {
  a.check.jobs = default_jobs();
  add_declared(app, command, "--family", a.check.families);
  add_declared(app, command, "--format", a.check.formats);
  add_declared(app, command, "--seed", a.check.seed);
  add_declared(app, command, "--jobs", a.check.jobs);
}

void add_check(CLI::App* app, Arguments& a) {
  a.check.out = "out";
  add_declared(app, kCheck, "PLUGIN", a.plugin);
  add_common(app, kCheck, a);
  add_drawn(app, kCheck, a);
  auto* quick = add_declared(app, kCheck, "--quick", a.quick);
  auto* nightly = add_declared(app, kCheck, "--nightly", a.nightly)->excludes(quick);
  add_declared(app, kCheck, "--cases", a.check.cases)->excludes(quick)->excludes(nightly);
  add_declared(app, kCheck, "--out", a.check.out);
  add_declared(app, kCheck, "--junit", a.junit);
  add_declared(app, kCheck, "--json", a.json);
  add_declared(app, kCheck, "--before", a.before);
}

void add_suggest(CLI::App* app, Arguments& a) {
  add_declared(app, kSuggest, "PLUGIN", a.plugin);
  add_declared(app, kSuggest, "--kernel", a.check.kernels);
  add_declared(app, kSuggest, "--map", a.map);
  add_declared(app, kSuggest, "--declare", a.declare);
  add_drawn(app, kSuggest, a);
  add_declared(app, kSuggest, "--cases", a.check.cases);
  add_declared(app, kSuggest, "--seconds", a.check.seconds);
}

/// A finding about the library as a whole.
int broken_plugin(const std::string& path, const std::exception& e) {
  std::printf("FAIL plugin %s  fail(error)  %s\n", one_line(path).c_str(), one_line(e.what()).c_str());
  return kExitFinding;
}

PluginSource source_of(const Arguments& a) {
  const bool is_ptx = a.plugin.ends_with(".ptx") || (a.plugin.ends_with(".cu") && !a.map.empty());
  if (is_ptx && a.map.empty()) {
    throw UsageError(
        quote(a.plugin) +
        ": needs --map MY.toml, which says what it computes and how it is launched (kernels/ptx/README.md)");
  }
  if (!is_ptx && !a.map.empty()) throw UsageError("--map: legal with a .ptx or a .cu, not with " + quote(a.plugin));
  return is_ptx ? mapped_ptx(a.plugin, a.map) : library_source(a.plugin);
}

/// use(library), with what --declare says in place of its descriptions.
template <class Use>
int with_plugin(const Arguments& a, Use use) {
  try {
    if (a.declare.empty()) return use(Plugin(source_of(a), a.check.seconds));
    DeclaredBy declared(a.declare);
    const Plugin plugin(source_of(a), a.check.seconds, std::ref(declared));
    declared.require_used(plugin);
    return use(plugin);
  } catch (const PluginFault& e) {
    return broken_plugin(a.plugin, e);
  }
}

/// What a replay line begins with: the launcher as it was called, from whatever folder.
std::string replay_program(const Arguments& a) {
  const char* const launcher = std::getenv("FLASHPROOF_LAUNCHER");
  std::string program = shell_word(launcher != nullptr && *launcher != '\0' ? launcher : "./flashproof") + " replay";
  if (!a.map.empty()) program += " --map " + shell_word(a.map);
  return program + (a.declare.empty() ? "" : " --declare " + shell_word(a.declare));
}

int check(Arguments& a) {
  if (a.quick) a.check.cases = 1;
  if (a.nightly) a.check.cases = 40;
  const std::string program = replay_program(a);
  const std::optional<Before> before = a.before.empty() ? std::nullopt : std::optional<Before>(a.before);
  return with_plugin(a, [&](const Plugin& plugin) {
    if (!a.check.out.empty()) require_writable(a.check.out, "--out");
    remove_earlier_results(a.junit, a.json);  // not before all that is read was read
    if (a.verbose) std::printf("%s", plugin_text(plugin).c_str());
    PluginReport report = check_plugin(plugin, a.check);
    if (before) report.changed = before->changes(report);
    const int code =
        show(report, plugin, program, a.verbose);  // first: a file that cannot be written takes no verdict away
    write_plugin_files(report, plugin, program, a.junit, a.json);
    return code;
  });
}

int suggest(const Arguments& a) {
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

}  // namespace

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
  add_declared(replay_app, kReplay, "CASE", a.targets);
  add_declared(replay_app, kReplay, "--plugin", a.plugin);
  add_common(replay_app, kReplay, a);
  CLI::App* list_app = app.add_subcommand("list", "what a library says of its kernels");
  add_declared(list_app, kList, "PLUGIN", a.plugin);
  add_declared(list_app, kList, "--map", a.map);
  add_declared(list_app, kList, "--declare", a.declare);
  if (!parse_arguments(app, argc, argv)) return 0;
  return supervised([&] {
    stop_on_signals();
    if (check_app->parsed()) return check(a);
    if (suggest_app->parsed()) return suggest(a);
    return replay_app->parsed() ? replay(a) : list(a);
  });
}

}  // namespace flashproof
