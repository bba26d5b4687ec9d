#include "reports/plugin/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "properties/driver/junit.h"
#include "properties/laws/law.h"
#include "reference/problem/atomic_file.h"
#include "reference/problem/error.h"
#include "reference/problem/exit_codes.h"
#include "reference/problem/text.h"
#include "reports/text.h"

namespace flashproof {
namespace {

std::string full_name(const Kernel& kernel) { return fmt::format("{} {}", kernel.id, info(kernel.formats[0]).name); }

/// As one word of a shell.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:=,+";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string cell(const PluginTally& tally) {
  const Verdict& v = tally.verdict;
  std::string_view word = name(v.kind);
  if (v.kind == VerdictKind::unsupported) word = "unsupp.";
  if (v.kind == VerdictKind::out_of_domain) word = "outside";
  if (v.failed()) return fmt::format("FAIL {}", name(v.failure));
  return tally.ratio < 0 ? std::string(word) : fmt::format("{} {}", word, short_number(tally.ratio));
}

/// What the judging laws and call_returns say of each family.
std::map<std::string, std::map<const Kernel*, PluginTally>> matrix_of(const PluginReport& report) {
  std::map<std::string, std::map<const Kernel*, PluginTally>> matrix;
  for (const PluginResult& result : report.results) {
    const Law* law = find_law(result.law);
    if (law != nullptr && law->judge == nullptr) continue;
    for (const auto& [family, tally] : result.by_family) {
      PluginTally& one = matrix[family][result.kernel];
      one.add(tally.verdict, tally.ratio);
    }
  }
  return matrix;
}

void show_matrix(const PluginReport& report) {
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
  const auto line = [](std::string text) {
    text.resize(text.find_last_not_of(' ') + 1);
    std::printf("%s\n", text.c_str());
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
}

std::size_t kernels_of(const PluginReport& report) {
  std::set<const Kernel*> kernels;
  for (const PluginResult& result : report.results) kernels.insert(result.kernel);
  return kernels.size();
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

void show_line(const PluginResult& result, const Plugin& plugin, const std::string& program) {
  std::string line = fmt::format("{} {} {} ", word(result), full_name(*result.kernel), result.law);
  for (std::size_t kind = 0; kind < kVerdictKinds; ++kind) {
    if (result.tally.counts[kind] > 0) {
      line += fmt::format(" {} {}", name(static_cast<VerdictKind>(kind)), result.tally.counts[kind]);
    }
  }
  if (result.tally.ratio >= 0 && result.law == "within_bound")
    line += "  error/bound " + short_number(result.tally.ratio);
  if (word(result) == "skip") line += "  " + one_line(result.does_not_apply);
  if (result.failure) {
    line += "\n  " + finding_line(result);
    if (!result.failure->witness.empty()) line += "\n  witness: " + result.failure->witness;
    line += "\n  replay: " + replay_line(program, plugin, result);
  }
  std::printf("%s\n", line.c_str());
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
      one.message = finding_line(result) + "\nwitness: " + result.failure->witness +
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
  return suite;
}

std::string json_of(const PluginReport& report, const Plugin& plugin, const std::string& program) {
  nlohmann::ordered_json root{{"plugin", plugin.name()}, {"version", plugin.version()}, {"finding", report.found()}};
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
  return root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
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
  }
  return text;
}

std::string replay_line(const std::string& program, const Plugin& plugin, const PluginResult& result) {
  const PluginFailure& f = *result.failure;
  const bool whole = !f.witness.empty();  // it names kernel and law
  return fmt::format("{} {} --plugin {}{}", program, shell_word(whole ? f.witness : to_string(f.spec)),
                     shell_word(plugin.path()),
                     whole ? "" : fmt::format(" --kernel {} --law {}", result.kernel->id, result.law));
}

int show(const PluginReport& report, const Plugin& plugin, const std::string& program) {
  const auto say = [](const std::string& text) { std::fprintf(stderr, "flashproof: %s\n", one_line(text).c_str()); };
  if (!report.results.empty()) show_matrix(report);
  for (const PluginResult& result : report.results) show_line(result, plugin, program);
  for (const Kernel* kernel : report.untested()) {
    std::printf("FAIL %s  no case was run to its end: nothing was tested\n", full_name(*kernel).c_str());
  }
  if (!report.results.empty()) {
    const auto failing =
        std::ranges::count_if(report.results, [](const PluginResult& r) { return r.failure.has_value(); });
    std::printf("%zu kernel(s) and format(s), %zu questions, %td finding(s)\n", kernels_of(report),
                report.results.size(), failing + std::ssize(report.untested()));
  }
  for (const Kernel* kernel : report.need_gpu) {
    say(fmt::format("{} skipped: its tensors lie on a GPU, and there is none ({})", full_name(*kernel),
                    report.why_no_gpu));
  }
  if (!report.failure.empty()) {
    say(report.failure + "; the result is partial");
    return kExitInfrastructure;
  }
  if (report.partial) say("interrupted: the result is partial");
  if (report.found()) return kExitFinding;
  if (report.partial) return kExitInfrastructure;
  return report.results.empty() ? kExitSkipped : kExitFine;
}

void forget_plugin_files(const std::string& junit, const std::string& json) {
  for (const std::filesystem::path path : {junit, json}) {
    if (path.empty()) continue;
    replaceable_file(path);  // refuses a folder or a device
    std::error_code error;
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
    if (!error) std::filesystem::remove(path, error);
    if (error) throw InfrastructureError(quote(path.string()) + ": " + error.message());
  }
}

void write_plugin_files(const PluginReport& report, const Plugin& plugin, const std::string& program,
                        const std::string& junit, const std::string& json) {
  if (report.partial || report.results.empty()) return;
  const JunitSuite suite = junit_of(report, plugin, program);
  if (!junit.empty()) write_atomically(junit, junit_xml(std::span(&suite, 1)));
  if (!json.empty()) write_atomically(json, json_of(report, plugin, program));
}

}  // namespace flashproof
