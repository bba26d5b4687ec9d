#include "reports/plugin/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <vector>

#include "properties/laws/explanation.h"
#include "properties/laws/law.h"
#include "reference/error/semantics/semantics_json.h"
#include "reference/system/shown_text.h"
#include "reference/system/text.h"
#include "reports/diagnose/cause/cause_entries.h"
#include "reports/plugin/text.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

constexpr std::size_t kMostLaws = 6;      // named in one line
constexpr std::size_t kMostFamilies = 7;  // named with why, in the lines that a note has

std::string names_text(const std::vector<std::string>& names, std::size_t most) {
  const std::size_t shown = std::min(names.size(), most);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < names.size()) text += fmt::format(", {} more", names.size() - shown);
  return text;
}

/// Laws that fail one kernel in one way.
struct Failing {
  const Kernel* kernel;
  Failure failure;
  std::vector<const PluginResult*> results;
};

/// What a judging law finds of an output is found by laws that compare outputs, too: so the first way in which a kernel fails,
/// in the order of the laws, takes all laws that fail on a case in that way.
std::vector<Failing> failing_of(const PluginReport& report) {
  std::vector<Failing> list;
  for (const PluginResult& result : report.results) {
    if (!result.failure) continue;
    const Failure failure = result.failure->verdict.failure;
    auto at =
        std::ranges::find_if(list, [&](const Failing& f) { return f.kernel == result.kernel && f.failure == failure; });
    if (at == list.end()) at = list.insert(list.end(), {result.kernel, failure, {}});
    at->results.push_back(&result);
  }
  return list;
}

/// "3 laws (…), 12 input families (…)".
std::string extent_of(std::span<const PluginResult* const> results) {
  std::set<std::string> families;
  std::vector<std::string> laws;
  for (const PluginResult* result : results) {
    laws.emplace_back(result->law);
    for (const auto& [family, tally] : result->by_family) {
      if (tally.verdict.failed()) families.insert(family);
    }
  }
  return fmt::format("{} ({}), {} ({})", counted(laws.size(), "law", "laws"), names_text(laws, kMostLaws),
                     counted(families.size(), "input family", "input families"),
                     names_text({families.begin(), families.end()}, kMostLaws));
}

CauseEntry cause_of(const Failing& failing, const Plugin& plugin, const std::string& program) {
  const PluginResult& first = *failing.results.front();
  const PluginFailure& failure = *first.failure;
  CauseEntry cause;
  cause.sentence = fmt::format("{}: {}; {}", full_name(*failing.kernel), in_words(failing.failure),
                               one_line(failure.verdict.detail));
  cause.extent = fmt::format("{}; case {}", extent_of(failing.results),
                             failure.shrunk.empty() ? to_string(failure.spec) : failure.shrunk);
  cause.replay = replay_line(program, plugin, first);
  return cause;
}

bool is_judging(const PluginResult& result) {
  return std::ranges::find(judging_laws(), result.law, &Law::name) != judging_laws().end();
}

bool has_judging(const Failing& failing) {
  return std::ranges::any_of(failing.results, [](const PluginResult* r) { return is_judging(*r); });
}

/// Of no family: what all cases together say (Explanation::contradiction).
bool is_of_a_case(const Failing& failing) {
  return std::ranges::any_of(failing.results, [](const PluginResult* result) {
    return std::ranges::any_of(result->by_family, [](const auto& family) { return family.second.verdict.failed(); });
  });
}

/// That no single declaration explains all cases follows from one that none explains: no cause of its own beside it.
std::vector<Failing> without_consequences(std::vector<Failing> list) {
  const std::vector<Failing> all = list;
  std::erase_if(list, [&](const Failing& one) {
    return !is_of_a_case(one) && std::ranges::any_of(all, [&](const Failing& other) {
      return other.kernel == one.kernel && is_of_a_case(other) && has_judging(other);
    });
  });
  return list;
}

/// What a replay adds to the element that it shows: what the recipe of the case and its next seeds say of the kernel.
void add_diagnoses(const PluginReport& report, bool alone, VerdictBlock& block) {
  for (const auto& [kernel, causes] : report.causes) {
    for (const Cause& cause : causes) {
      if (!cause.confident) continue;
      block.notes.push_back({"diagnosis", (alone ? "" : full_name(*kernel) + ": ") + cause.text()});
    }
  }
}

/// The causes of its kernel are told in place of it.
bool is_diagnosed(const PluginReport& report, const Failing& failing) {
  const auto causes = report.causes.find(failing.kernel);
  return !report.replay && has_judging(failing) && causes != report.causes.end() && is_certain(causes->second);
}

/// Laws that relate runs and fail in the way that a judging law does, whose causes are told: in no entry otherwise.
void add_relating(const PluginReport& report, bool alone, VerdictBlock& block) {
  for (const Failing& one : without_consequences(failing_of(report))) {
    if (!is_diagnosed(report, one)) continue;
    std::vector<std::string> laws;
    for (const PluginResult* result : one.results) {
      if (!is_judging(*result)) laws.emplace_back(result->law);
    }
    if (laws.empty()) continue;
    block.notes.push_back({"also fails", fmt::format("{}{}: {}", alone ? "" : full_name(*one.kernel) + ": ",
                                                     fmt::join(laws, ", "), in_words(one.failure))});
  }
}

/// Kernel by kernel: what a diagnosis says for certain of those that a judging law rejects, and the other ways of failing: an element,
/// the smallest case and its witness say more than what may be.
std::vector<CauseEntry> entries_of(const PluginReport& report, const Plugin& plugin, const std::string& program) {
  std::vector<CauseEntry> entries;
  std::set<const Kernel*> told;
  for (const Failing& one : without_consequences(failing_of(report))) {
    if (!is_diagnosed(report, one)) {
      entries.push_back(cause_of(one, plugin, program));
      continue;
    }
    if (!told.insert(one.kernel).second) continue;
    std::vector<const PluginResult*> results;
    for (const PluginResult& result : report.results) {
      if (result.failure && result.kernel == one.kernel && is_judging(result)) results.push_back(&result);
    }
    const DiagnosedKernel kernel{full_name(*one.kernel), extent_of(results),
                                 [&](const std::string& line) {
                                   return fmt::format("{} {} --plugin {} --kernel {}", program, shell_word(line),
                                                      shell_word(plugin.path()), one.kernel->id);
                                 },
                                 true};
    for (CauseEntry& entry : cause_entries(report.causes.at(one.kernel), kernel)) entries.push_back(std::move(entry));
  }
  return entries;
}

/// "mine 1.2: "; empty where that says no more than the name of the only kernel.
std::string library_text(const Plugin& plugin, const PluginReport& report) {
  const bool named =
      std::ranges::any_of(report.results, [&](const PluginResult& r) { return r.kernel->id != plugin.name(); });
  if (!named && plugin.version().empty()) return "";
  return fmt::format("{}{}{}: ", plugin.name(), plugin.version().empty() ? "" : " ", plugin.version());
}

/// Those that were asked of some case: "19 laws (14 do not apply)".
std::string laws_text(const PluginReport& report, bool alone) {
  const auto asked = static_cast<std::size_t>(
      std::ranges::count_if(report.results, [](const PluginResult& r) { return r.executed() > 0; }));
  std::string text = alone ? counted(asked, "law", "laws") : counted(asked, "pair", "pairs") + " of a kernel and a law";
  const std::size_t others = report.results.size() - asked;
  if (others > 0) text += fmt::format(" ({} {} not apply)", others, others == 1 ? "does" : "do");
  return text;
}

/// "o 95 %, lse 97 %, 43 of 44 families"; empty where nothing was judged.
std::string decided_text(const PluginOutcome& outcome) {
  const std::string shares = shares_text(outcome.power);
  if (shares.empty()) return "";
  return fmt::format("{}, {} of {} families", shares, outcome.families - outcome.open.size(), outcome.families);
}

/// `alone`: of the only kernel, whose name the block has already. `fails`: by a law; then what was not decided decides nothing more.
void add_outcome(const PluginOutcome& outcome, bool alone, bool fails, VerdictBlock& block) {
  const std::string name = full_name(*outcome.kernel), head = alone ? "" : name + ": ";
  if (const std::string text = decided_text(outcome); !text.empty()) block.tested.push_back({"decided", head + text});
  if (const auto words = semantics_words(outcome.kernel->contract.semantics); !words.empty()) {
    block.tested.push_back({"declared", fmt::format("{}{}", head, fmt::join(words, "; "))});
  }
  if (outcome.refused > 0) {
    block.notes.push_back({"refused", head + refused_text(outcome)});
  }
  if (outcome.not_asked > 0) block.notes.push_back({"not run", head + not_asked_text(outcome)});
  // Part of a pass: what it says nothing about.
  if (!outcome.open.empty() && outcome.undecided.empty())
    block.notes.push_back({"not tested", head + not_tested_text(outcome, kMostFamilies)});
  if (!outcome.suggestion.empty()) block.notes.push_back({"narrower", head + narrower_text(outcome.suggestion)});
  if (!outcome.narrow.empty()) block.causes.push_back({name + ": its declaration. " + outcome.narrow, "", ""});
  if (fails) return;
  for (const std::string& why : outcome.undecided) block.notes.push_back({"undecided", head + why});
}

std::string not_whole_text(const PluginReport& report) {
  if (!report.failure.empty()) return "given up: " + report.failure;
  return report.partial ? "interrupted before every case had run" : report.replaced;
}

/// The block's outcome in words, of so many kernels, of which so many fail.
std::string sentence(const PluginReport& report, const VerdictBlock& block, std::size_t kernels, std::size_t failing) {
  const std::string all = counted(kernels, "kernel and format", "kernels and formats");
  switch (block.outcome) {
    case BlockOutcome::fail:
      return fmt::format("{}, in {} of {}{}", counted(block.causes.size(), "cause of failure", "causes of failure"),
                         failing, all, report.is_whole() ? "" : "; " + not_whole_text(report));
    case BlockOutcome::partial:
      return not_whole_text(report);
    case BlockOutcome::undecided:
      return report.undecided() ? "nothing failed, but too little was decided: this is no pass"
                                : "nothing failed, but not every kernel was run: this is no pass";
    case BlockOutcome::none:
    case BlockOutcome::pass:
      break;
  }
  if (report.replay) return "no finding: all that was asked of this case holds";
  return fmt::format("{} {} what {}: no law finds anything", all, kernels == 1 ? "does" : "do",
                     kernels == 1 ? "it declares" : "they declare");
}

}  // namespace

std::string full_name(const Kernel& kernel) { return fmt::format("{} {}", kernel.id, info(kernel.formats[0]).name); }

std::string not_tested_text(const PluginOutcome& outcome, std::size_t most) {
  return fmt::format(
      "{} of {}: too little was decided there, so that a wrong answer could pass (the words in brackets: "
      "reports/guides/reading.md): {}",
      outcome.open.size(), counted(outcome.families, "input family", "input families"), names_text(outcome.open, most));
}

std::string refused_text(const PluginOutcome& outcome) {
  return counted(outcome.refused, "case", "cases") + " that its description takes, when it was called";
}

std::string not_asked_text(const PluginOutcome& outcome) {
  return counted(outcome.not_asked, "case", "cases") + ", since the kernel had ended or held up too many processes";
}

VerdictBlock plugin_block(const PluginReport& report, const Plugin& plugin, const std::string& program) {
  VerdictBlock block;
  std::set<const Kernel*> kernels, failing;
  std::uint64_t cases = 0;
  for (const PluginResult& result : report.results) {
    kernels.insert(result.kernel);
    if (result.failure) failing.insert(result.kernel);
    if (result.law == kCallReturns) cases += result.executed();
  }
  block.causes = entries_of(report, plugin, program);
  for (const Kernel* kernel : report.untested()) {
    failing.insert(kernel);
    block.causes.push_back({full_name(*kernel) + ": no case was run to its end: nothing was tested", "", ""});
  }
  block.tested.push_back(
      {"tested", fmt::format("{}{} of {}, {}{}", library_text(plugin, report),
                             kernels.size() == 1 ? full_name(**kernels.begin())
                                                 : counted(kernels.size(), "kernel and format", "kernels and formats"),
                             plugin.path(), laws_text(report, kernels.size() == 1),
                             cases > 0 ? fmt::format(", on {}", counted(cases, "case", "cases")) : "")});
  for (const PluginOutcome& outcome : report.outcomes) {
    add_outcome(outcome, kernels.size() == 1, failing.contains(outcome.kernel), block);
    if (!outcome.narrow.empty()) failing.insert(outcome.kernel);
  }
  add_relating(report, kernels.size() == 1, block);
  if (report.replay) add_diagnoses(report, kernels.size() == 1, block);
  for (const std::string& part : report.parts) block.notes.push_back({"not whole", part});
  for (const std::string& changed : report.changed) block.notes.push_back({"precision", changed});
  for (const Kernel* kernel : report.need_gpu) {
    block.notes.push_back(
        {"not tested", fmt::format("{}: its tensors lie on a GPU, and there is none", full_name(*kernel))});
  }
  block.outcome = report.found()                                   ? BlockOutcome::fail
                  : !report.is_whole()                             ? BlockOutcome::partial
                  : report.undecided() || !report.need_gpu.empty() ? BlockOutcome::undecided
                                                                   : BlockOutcome::pass;
  block.sentence = sentence(report, block, kernels.size(), failing.size());
  return block;
}

}  // namespace flashproof
