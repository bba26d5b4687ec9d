#include "reports/plugin/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "properties/driver/junit.h"
#include "properties/laws/explanation.h"
#include "properties/laws/law.h"
#include "reference/error/semantics/semantics_json.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/shown_text.h"
#include "reference/system/text.h"
#include "reports/plugin/block.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

// The last line where nothing but a GPU is missing: what flashproof_add_plugin() makes ctest call a test skipped by.
constexpr const char* kSkipped = "skipped: tensors lie on a GPU, and there is none\n";

std::string cell(const PluginTally& tally) {
  const Verdict& v = tally.verdict;
  std::string_view word = name(v.kind);
  if (v.kind == VerdictKind::unsupported) word = "unsupp.";
  if (v.kind == VerdictKind::out_of_domain) word = "outside";
  if (v.failed()) return fmt::format("FAIL {}", name(v.failure));
  return tally.ratio < 0 ? std::string(word) : fmt::format("{} {}", word, short_number(tally.ratio));
}

/// Of each family what the first judging law says, and of the others and call_returns what is worse than a pass: that something was
/// stored in every element makes no pass of a family that lies outside the domain.
std::map<std::string, std::map<const Kernel*, PluginTally>> matrix_of(const PluginReport& report) {
  std::map<std::string, std::map<const Kernel*, PluginTally>> matrix;
  const std::string_view first = judging_laws().front().name;
  const bool asked = std::ranges::any_of(report.results, [&](const PluginResult& r) { return r.law == first; });
  for (const PluginResult& result : report.results) {
    const Law* law = find_law(result.law);
    if (law != nullptr && law->judge == nullptr) continue;
    for (const auto& [family, tally] : result.by_family) {
      if (asked && result.law != first && tally.verdict.kind == VerdictKind::pass) continue;
      PluginTally& one = matrix[family][result.kernel];
      one.add(tally.verdict, tally.ratio);
    }
  }
  return matrix;
}

std::string matrix_text(const PluginReport& report) {
  std::string out;
  std::vector<const Kernel*> kernels;
  for (const PluginResult& r : report.results) {
    if (kernels.empty() || kernels.back() != r.kernel) kernels.push_back(r.kernel);
  }
  constexpr std::size_t kFamily = 20;
  std::string heading = pad("family", kFamily);
  std::vector<std::size_t> widths;
  for (const Kernel* kernel : kernels) {
    widths.push_back(std::max<std::size_t>(20, full_name(*kernel).size()));
    heading += " " + pad(full_name(*kernel), widths.back());
  }
  const auto line = [&out](std::string text) {
    text.resize(text.find_last_not_of(' ') + 1);
    out += one_line(text) + "\n";
  };
  line(heading);
  for (const auto& [family, cells] : matrix_of(report)) {
    std::string text = pad(family, kFamily);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const auto at = cells.find(kernels[i]);
      text += " " + pad(at == cells.end() ? "." : cell(at->second), widths[i]);
    }
    line(text);
  }
  return out;
}

std::string_view word(const PluginResult& result) {
  if (result.tally.verdict.failed()) return "FAIL";
  if (result.decided() > 0) return "ok  ";
  return result.tally.verdict.kind == VerdictKind::unsupported ? "skip" : "idle";
}

std::string finding_line(const PluginResult& result) {
  const PluginFailure& f = *result.failure;
  return fmt::format("{} {}{}  {}", to_string(Verdict{f.verdict.kind, f.verdict.failure, {}}), to_string(f.spec),
                     f.shrunk.empty() ? "" : " (shrunk to " + f.shrunk + ")", one_line(f.verdict.detail));
}

std::string result_text(const PluginResult& result, const Plugin& plugin, const std::string& program) {
  std::string line = fmt::format("{} {} {} ", word(result), full_name(*result.kernel), result.law);
  for (std::size_t kind = 0; kind < kVerdictKinds; ++kind) {
    if (result.tally.counts[kind] > 0) {
      line += fmt::format(" {} {}", name(static_cast<VerdictKind>(kind)), result.tally.counts[kind]);
    }
  }
  if (result.tally.ratio >= 0 && result.law == judging_laws().front().name)
    line += "  error/bound " + short_number(result.tally.ratio);
  if (const std::string shares = shares_text(result.power); !shares.empty()) line += "  decided " + shares;
  if (word(result) == "skip") line += "  " + one_line(result.does_not_apply);
  if (result.failure) {
    line += "\n  " + finding_line(result);
    if (!result.failure->witness.empty()) line += "\n  witness: " + result.failure->witness;
    line += "\n  replay: " + replay_line(program, plugin, result);
  }
  return shown_lines(line) + "\n";
}

/// Of every kernel what was decided of each output, and what keeps the run from being a pass.
std::string outcomes_text(const PluginReport& report) {
  std::string out;
  for (const PluginOutcome& outcome : report.outcomes) {
    const std::string name = full_name(*outcome.kernel);
    if (const std::string shares = shares_text(outcome.power); !shares.empty()) {
      out += fmt::format("decided {}: {}, {} of {} families\n", name, shares, outcome.families - outcome.open.size(),
                         outcome.families);
    }
    if (outcome.refused > 0) {
      out += fmt::format("refused {}: {}\n", name, refused_text(outcome));
    }
    if (outcome.not_asked > 0) out += fmt::format("not run {}: {}\n", name, not_asked_text(outcome));
    // Part of a pass: what it says nothing about.
    if (!outcome.open.empty() && outcome.undecided.empty()) {
      out += fmt::format("not tested {}: {}\n", name, not_tested_text(outcome, outcome.open.size()));
    }
    if (!outcome.suggestion.empty()) {
      out += fmt::format("narrower {}: {}\n", name, narrower_text(outcome.suggestion));
    }
    if (!outcome.narrow.empty()) out += fmt::format("FAIL {} declaration  {}\n", name, outcome.narrow);
    for (const std::string& why : outcome.undecided) out += fmt::format("UNDECIDED {}: {}\n", name, why);
  }
  return out;
}

JunitSuite junit_of(const PluginReport& report, const Plugin& plugin, const std::string& program) {
  JunitSuite suite{"flashproof"};
  for (const PluginResult& result : report.results) {
    JunitCase& one = suite.cases.emplace_back();
    one.classname = fmt::format("{}.{}", result.kernel->id, info(result.kernel->formats[0]).name);
    one.name = result.law;
    if (result.failure) {
      one.outcome = JunitOutcome::failed;
      one.type = name(result.failure->verdict.failure);
      one.message = finding_line(result) +
                    (result.failure->witness.empty() ? "" : "\nwitness: " + result.failure->witness) +
                    "\nreplay: " + replay_line(program, plugin, result);
    } else if (result.decided() == 0 && result.law == kCallReturns) {
      one.outcome = JunitOutcome::failed;
      one.type = "error";
      one.message = "the kernel takes none of these cases: nothing was tested";
    } else if (result.decided() == 0) {
      one.outcome = JunitOutcome::skipped;
      one.message = "the law says nothing about this kernel: " + one_line(result.does_not_apply);
    }
  }
  for (const PluginOutcome& outcome : report.outcomes) {
    for (const std::string& why : outcome.undecided) {
      JunitCase& one = suite.cases.emplace_back();
      one.classname = fmt::format("{}.{}", outcome.kernel->id, info(outcome.kernel->formats[0]).name);
      one.name = "decided";
      one.outcome = JunitOutcome::failed;
      one.type = "undecided";
      one.message = why;
    }
    if (outcome.narrow.empty()) continue;
    JunitCase& one = suite.cases.emplace_back();
    one.classname = fmt::format("{}.{}", outcome.kernel->id, info(outcome.kernel->formats[0]).name);
    one.name = "declaration";
    one.outcome = JunitOutcome::failed;
    one.type = "declaration";
    one.message = outcome.narrow;
  }
  return suite;
}

/// The decided share by output.
nlohmann::ordered_json shares_json(const Power& power) {
  nlohmann::ordered_json shares = nlohmann::ordered_json::object();
  for (std::size_t part = 0; part < kPartCount; ++part) {
    const PowerCounts& counts = power.parts[part];
    if (counts.elements() > 0) shares[std::string(name(static_cast<Part>(part)))] = counts.share();
  }
  return shares;
}

nlohmann::ordered_json outcome_json(const PluginOutcome& outcome) {
  nlohmann::ordered_json one{
      {"kernel", outcome.kernel->id},     {"format", info(outcome.kernel->formats[0]).name},
      {"undecided", outcome.undecided},   {"refused", outcome.refused},
      {"not_asked", outcome.not_asked},   {"declaration", outcome.narrow},
      {"suggestion", outcome.suggestion}, {"semantics", semantics_words(outcome.kernel->contract.semantics)}};
  if (auto shares = shares_json(outcome.power); !shares.empty()) one["decided"] = std::move(shares);
  return one;
}

std::string json_of(const PluginReport& report, const Plugin& plugin, const std::string& program) {
  nlohmann::ordered_json root{{"plugin", plugin.name()},
                              {"version", plugin.version()},
                              {"finding", report.found()},
                              {"partial", !report.is_whole()},
                              {"undecided", report.undecided()}};
  auto& list = root["results"] = nlohmann::ordered_json::array();
  for (const PluginResult& result : report.results) {
    nlohmann::ordered_json one{
        {"kernel", result.kernel->id},
        {"format", info(result.kernel->formats[0]).name},
        {"law", result.law},
        {"verdict", to_string(Verdict{result.tally.verdict.kind, result.tally.verdict.failure, {}})}};
    for (std::size_t kind = 0; kind < kVerdictKinds; ++kind) {
      one["cases"][std::string(name(static_cast<VerdictKind>(kind)))] = result.tally.counts[kind];
    }
    if (auto shares = shares_json(result.power); !shares.empty()) one["decided"] = std::move(shares);
    for (const auto& [family, tally] : result.by_family) one["families"][family] = cell(tally);
    if (result.tally.ratio >= 0 && std::isfinite(result.tally.ratio)) one["error_over_bound"] = result.tally.ratio;
    if (result.failure) {
      one["case"] = to_string(result.failure->spec);
      one["message"] = finding_line(result);
      one["witness"] = result.failure->witness;
      one["replay"] = replay_line(program, plugin, result);
    }
    list.push_back(std::move(one));
  }
  for (const PluginOutcome& outcome : report.outcomes) root["outcomes"].push_back(outcome_json(outcome));
  return root.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string plugin_text(const Plugin& plugin) {
  std::string text = fmt::format("plugin {} {}\n", plugin.name(), plugin.version());
  for (const Kernel& kernel : plugin.kernels()) {
    const Contract& c = kernel.contract;
    text += fmt::format("  {} on the {}{}{}{}{}\n", full_name(kernel), kernel.has_cuda ? "GPU" : "CPU",
                        c.deterministic ? ", deterministic" : "", c.isolates_hidden ? ", isolates hidden keys" : "",
                        c.refuses_beyond_range ? ", refuses beyond its range" : "",
                        c.returns == Returns::both ? ""
                        : c.returns == Returns::o  ? ", returns o alone"
                                                   : ", returns lse alone");
    const Described& described = plugin.described(kernel);
    std::vector<std::string_view> takes;
    takes.reserve(described.declared.size());
    for (const Capability* one : described.declared) takes.push_back(one->name);
    if (!takes.empty()) text += fmt::format("    takes {}\n", fmt::join(takes, ", "));
    if (!described.limits.empty()) text += fmt::format("    limits {}\n", in_words(described.limits));
    for (const std::string& word : semantics_words(c.semantics)) text += fmt::format("    {}\n", word);
  }
  return text;
}

std::string replay_line(const std::string& program, const Plugin& plugin, const PluginResult& result) {
  const PluginFailure& f = *result.failure;
  const bool whole = !f.witness.empty();  // it names kernel and law
  std::string cases = shell_word(whole ? f.witness : to_string(f.spec));
  if (!f.together.empty()) {
    cases.clear();
    for (const CaseSpec& spec : f.together) cases += (cases.empty() ? "" : " ") + shell_word(to_string(spec));
  }
  return fmt::format("{} {} --plugin {}{}", program, cases, shell_word(plugin.path()),
                     whole ? "" : fmt::format(" --kernel {} --law {}", result.kernel->id, result.law));
}

std::string detail_text(const PluginReport& report, const Plugin& plugin, const std::string& program) {
  std::string text = report.results.empty() ? "" : matrix_text(report);
  for (const PluginResult& result : report.results) text += result_text(result, plugin, program);
  return text + outcomes_text(report);
}

int exit_code(const PluginReport& report) {
  if (!report.failure.empty()) return kExitInfrastructure;
  if (report.found()) return kExitFinding;
  if (!report.is_whole()) return kExitInfrastructure;
  if (report.undecided() || report.results.empty() || !report.need_gpu.empty()) return kExitSkipped;
  return kExitFine;
}

int show(const PluginReport& report, const Plugin& plugin, const std::string& program, bool verbose) {
  const auto say = [](const std::string& text) { std::fprintf(stderr, "flashproof: %s\n", one_line(text).c_str()); };
  if (!report.results.empty()) {
    VerdictBlock block = plugin_block(report, plugin, program);
    if (!verbose) block.rest.push_back({"more", "--verbose shows families and laws, line by line"});
    show_block(block, verbose ? detail_text(report, plugin, program) : "");
  }
  for (const Kernel* kernel : report.need_gpu) {
    say(fmt::format("{} skipped: its tensors lie on a GPU, and there is none ({})", full_name(*kernel),
                    report.why_no_gpu));
  }
  if (!report.replaced.empty()) say(report.replaced);
  if (!report.failure.empty()) say(report.failure + "; the result is partial");
  if (report.failure.empty() && report.partial) say("interrupted: the result is partial");
  const int code = exit_code(report);
  if (code == kExitSkipped && !report.undecided() && !report.need_gpu.empty()) std::printf("%s", kSkipped);
  return code;
}

void write_plugin_files(const PluginReport& report, const Plugin& plugin, const std::string& program,
                        const std::string& junit, const std::string& json) {
  if (report.results.empty() || (!report.is_whole() && !report.found())) return;
  const JunitSuite suite = junit_of(report, plugin, program);
  if (!junit.empty()) write_atomically(junit, junit_xml(std::span(&suite, 1)));
  if (!json.empty()) write_atomically(json, json_of(report, plugin, program));
}

}  // namespace flashproof
