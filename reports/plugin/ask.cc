#include "reports/plugin/ask.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>

#include "kernels/plugin/plugin_process.h"
#include "properties/generators/family.h"
#include "reference/system/error.h"
#include "reference/system/text.h"
#include "reports/plugin/refusals.h"

namespace flashproof {
namespace {

/// A case and what is known of it so far.
struct Subject {
  std::uint64_t index = 0;
  bool first = false, first_costly = false;  // of its family
  std::optional<Case> own;
  std::string refused;  // the family has no such case
  std::string failed;   // why no law is asked
  std::optional<Trial> trial;
};

double ratio_of(const Judgement& judgement) {
  double ratio = -1;
  for (std::size_t i = 0; i < kPartCount; ++i) {
    const ErrorStats& stats = judgement[static_cast<Part>(i)];
    if (stats.finite_elements > 0 || stats.max_ratio > 0) ratio = std::max(ratio, stats.max_ratio);
  }
  return ratio;
}

/// By the first declaration that no judging law has rejected here; by the first, where all are.
double ratio_of(Trial& trial) {
  const std::vector<Trial::Judged>& judged = trial.judged();
  const auto left = std::ranges::find_if(
      judged, [&](const Trial::Judged& by) { return (trial.alternatives_seen().failed >> by.alternative & 1) == 0; });
  return ratio_of((left == judged.end() ? judged.front() : *left).judgement);
}

/// "0:1=64,3=2;1:..." – alternative, then Part and Decided as one number, and the elements.
std::string powers_text(const std::map<std::size_t, Power>& powers) {
  std::string text;
  for (const auto& [alternative, power] : powers) {
    text += fmt::format("{}{}:", text.empty() ? "" : ";", alternative);
    for (std::size_t i = 0; i < kPartCount * kDecided; ++i) {
      const std::uint64_t n = power.parts[i / kDecided].counts[i % kDecided];
      if (n != 0) text += fmt::format("{}={},", i, n);
    }
  }
  return text.empty() ? "-" : text;
}

/// False for anything that powers_text() does not write.
bool parse_powers(std::string_view text, std::map<std::size_t, Power>& powers) {
  if (text == "-") return true;
  const auto number = [&text](char end, std::uint64_t& value) {
    const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || at == text.data() + text.size() || *at != end) return false;
    text.remove_prefix(static_cast<std::size_t>(at - text.data()) + 1);
    return true;
  };
  while (!text.empty()) {
    std::uint64_t alternative = 0, place = 0, count = 0;
    if (!number(':', alternative) || alternative >= 32) return false;
    Power& power = powers[alternative];
    while (!text.empty() && text.front() != ';') {
      if (!number('=', place) || place >= kPartCount * kDecided || !number(',', count)) return false;
      power.parts[place / kDecided].counts[place % kDecided] = count;
    }
    if (!text.empty()) text.remove_prefix(1);
  }
  return true;
}

const std::string kCallFailed = std::string(kNotAsked) + "the call failed";

void make(Subject& subject, const PluginTask& task, std::uint64_t index) {
  subject.trial.reset();
  subject.own.reset();
  subject.index = index;
  const CaseSpec* const before = index > 0 ? &task.cases[index - 1] : task.before ? &*task.before : nullptr;
  subject.first = before == nullptr;
  subject.first_costly =
      task.data == nullptr && before != nullptr && is_costly(task.cases[index]) && !is_costly(*before);
  subject.refused.clear();
  subject.failed.clear();
  const Case* content = task.data;
  if (content == nullptr) {
    try {
      content = &subject.own.emplace(make_case(task.cases[index]));
    } catch (const UsageError& e) {
      subject.refused = e.what();
      return;
    }
  }
  subject.trial.emplace(*task.kernel, *content, nullptr, run_options(*task.kernel, *content), runner_that_asks_again());
}

PluginAnswer answer(Subject& subject, const Law* law) {
  if (!subject.refused.empty()) return {{VerdictKind::unsupported, Failure::none, subject.refused}};
  if (!subject.failed.empty()) return {{VerdictKind::unsupported, Failure::none, subject.failed}};
  Trial& trial = *subject.trial;
  if (law == nullptr) {
    PluginAnswer result{call_returns(trial)};
    if (result.verdict.failed()) subject.failed = kCallFailed;
    if (result.verdict.kind == VerdictKind::unsupported) subject.failed = result.verdict.detail;
    return result;
  }
  const bool promised = law->is_promised(trial.kernel().problem, trial.contract());
  return ask_law(*law, trial, subject.first || (subject.first_costly && promised) ? Extent::any : Extent::usual);
}

Verdict returned(Trial& trial) {
  try {
    trial.output();
  } catch (const UsageError& e) {
    return {VerdictKind::unsupported, Failure::none, e.what()};
  } catch (const KernelFault& e) {
    return {VerdictKind::fail, Failure::error, e.what()};
  }
  return {};
}

/// `again`: the same question where every tensor is aligned. A kernel that held a process up is not asked again.
template <class Ask>
void explain_by_alignment(Trial& trial, Verdict& verdict, Ask again) {
  if (!verdict.failed() || trial.options().placement == 0 || held_up_process(verdict)) return;
  RunOptions aligned = trial.options();
  aligned.placement = 0;
  Trial other(trial.kernel(), trial.subject(), nullptr, aligned);
  if (returned(other).kind != VerdictKind::pass || again(other).kind != VerdictKind::pass) return;
  // It is the alignment only if it fails where it failed: not by chance, nor for what was called before.
  Trial repeated(trial.kernel(), trial.subject(), nullptr, trial.options());
  if (const Verdict call = returned(repeated); !call.failed() && !again(repeated).failed()) return;
  verdict.detail +=
      "; not where every tensor is aligned to 256 bytes: \"alignment\" in the description can ask for more than the "
      "size of an element";
}

}  // namespace

std::string PluginAnswer::text() const {
  return fmt::format("{} {} {:a} {:x} {:x} {} {}", static_cast<int>(verdict.kind), static_cast<int>(verdict.failure),
                     ratio, alternatives.asked, alternatives.failed, powers_text(powers), one_line(verdict.detail));
}

PluginAnswer PluginAnswer::parse(const std::string& text) {
  int kind = -1, failure = -1, length = 0;
  PluginAnswer answer;
  if (std::sscanf(text.c_str(), "%d %d %lf %" SCNx32 " %" SCNx32 " %n", &kind, &failure, &answer.ratio,
                  &answer.alternatives.asked, &answer.alternatives.failed, &length) != 5 ||
      kind < 0 || kind >= static_cast<int>(kVerdictKinds) || failure < 0 || failure >= static_cast<int>(kFailures)) {
    throw UsageError("no verdict: " + quote(text));
  }
  const std::string_view rest = std::string_view(text).substr(static_cast<std::size_t>(length));
  const std::size_t end = rest.find(' ');
  if (end == std::string_view::npos || !parse_powers(rest.substr(0, end), answer.powers)) {
    throw UsageError("no verdict: " + quote(text));
  }
  answer.verdict = {static_cast<VerdictKind>(kind), static_cast<Failure>(failure), std::string(rest.substr(end + 1))};
  return answer;
}

RunOptions run_options(const Kernel& kernel, const Case& subject) {
  RunOptions options;
  options.executor = kernel.has_cuda ? Executor::cuda : Executor::cpu;
  options.placement = Trial(kernel, subject).random("placement").next_u64() | 1;
  return options;
}

bool ended_process(const Verdict& verdict) {
  return verdict.failure == Failure::error && verdict.detail.starts_with("the process ");
}

bool held_up_process(const Verdict& verdict) {
  return ended_process(verdict) && verdict.detail.find("gave no result") != std::string::npos;
}

void PluginCrashes::note(const Kernel* kernel, std::pair<std::uint64_t, std::uint64_t> at, bool call,
                         const Verdict& verdict) {
  if (!verdict.failed()) return;
  if (ended_process(verdict)) note_crash(kernel, held_up_process(verdict));
  if (call) calls.insert(at);
}

void PluginCrashes::note_crash(const Kernel* kernel, bool hung) {
  // A process is started for every crash, and a hang takes its whole time: after so many nothing more is learned.
  constexpr int kMostCrashes = 40, kMostHangs = 3;
  auto& [crashes, hangs] = counts_[kernel];
  ++crashes;
  if (hung) ++hangs;
  if (crashes >= kMostCrashes || hangs >= kMostHangs) given_up.insert(kernel);
}

Verdict call_returns(Trial& trial) {
  if (std::string why = trial.refusal(trial.problem()); !why.empty()) {
    return {VerdictKind::unsupported, Failure::none, std::move(why)};
  }
  Verdict verdict = returned(trial);
  explain_by_alignment(trial, verdict, [](Trial&) { return Verdict{}; });
  return verdict;
}

PluginAnswer ask_law(const Law& law, Trial& trial, Extent extent) {
  PluginAnswer result{ask(law, trial, extent)};
  explain_by_alignment(trial, result.verdict, [&](Trial& aligned) { return ask(law, aligned, extent); });
  const bool judged = result.verdict.kind != VerdictKind::unsupported && result.verdict.failure != Failure::error;
  if (law.judge != nullptr && judged) {
    result.ratio = ratio_of(trial);
    result.alternatives = trial.alternatives_seen();
    if (&law == &judging_laws().front()) result.powers = trial.powers();
  }
  return result;
}

void ask_laws(const PluginTask& task, std::uint64_t number, std::span<const Question> questions,
              const PluginCrashes& crashes, std::uint64_t first_step, StepReporter& reporter) {
  const std::uint64_t per_case = questions.size() + 1;
  const std::uint64_t steps = (task.data != nullptr ? 1 : task.cases.size()) * per_case;
  shield_judge();
  Subject subject;
  bool made = false;
  for (std::uint64_t step = first_step; step < steps; ++step) {
    const std::uint64_t index = step / per_case, at = step % per_case;
    if (crashes.given_up.contains(task.kernel)) {
      reporter.result(step,
                      PluginAnswer{{VerdictKind::unsupported, Failure::none,
                                    std::string(kNotAsked) + "the kernel has ended or held up too many processes"}}
                          .text());
      continue;
    }
    if (!made || subject.index != index) make(subject, task, index), made = true;
    if (at > 0 && crashes.calls.contains({number, index})) subject.failed = kCallFailed;
    reporter.starting(
        step);  // from here to the result every crash counts as the kernel's: it can kill what it cannot trace
    const PluginAnswer result = answer(subject, at == 0 ? nullptr : questions[at - 1].law);
    reporter.result(step, result.text());
    reporter.returned();
    // The pool starts another for the next step, which knows by then how often the kernel did that.
    if (ended_process(result.verdict)) ::_exit(0);
  }
}

}  // namespace flashproof
