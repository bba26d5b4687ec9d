#include "reports/plugin/ask.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "properties/generators/family.h"
#include "reference/problem/error.h"
#include "reference/problem/text.h"

namespace flashproof {
namespace {

/// A case and what is known of it so far.
struct Subject {
  std::uint64_t index = 0;
  std::optional<Case> own;
  std::string refused;  // the family has no such case
  std::string failed;   // why no law is asked
  std::optional<Trial> trial;
};

double ratio_of(Trial& trial) {
  const Judgement& judgement = trial.judgement();
  double ratio = -1;
  for (const ErrorStats* stats : {&judgement.o, &judgement.lse}) {
    if (stats->finite_elements > 0 || stats->max_ratio > 0) ratio = std::max(ratio, stats->max_ratio);
  }
  return ratio;
}

void make(Subject& subject, const PluginTask& task, std::uint64_t index) {
  subject.trial.reset();
  subject.own.reset();
  subject.index = index;
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
  subject.trial.emplace(*task.kernel, *content, nullptr, run_options(*task.kernel));
}

PluginAnswer answer(Subject& subject, const Law* law) {
  if (!subject.refused.empty()) return {{VerdictKind::unsupported, Failure::none, subject.refused}};
  if (!subject.failed.empty()) return {{VerdictKind::unsupported, Failure::none, subject.failed}};
  Trial& trial = *subject.trial;
  if (law == nullptr) {
    PluginAnswer result{call_returns(trial)};
    if (result.verdict.failed()) subject.failed = "not asked: the call failed";
    if (result.verdict.kind == VerdictKind::unsupported) subject.failed = result.verdict.detail;
    return result;
  }
  PluginAnswer result{ask(*law, trial)};
  if (law->judge != nullptr && result.verdict.kind != VerdictKind::unsupported && !trial.output().o.shape.empty()) {
    result.ratio = ratio_of(trial);
  }
  return result;
}

}  // namespace

std::string PluginAnswer::text() const {
  return fmt::format("{} {} {:a} {}", static_cast<int>(verdict.kind), static_cast<int>(verdict.failure), ratio,
                     one_line(verdict.detail));
}

PluginAnswer PluginAnswer::parse(const std::string& text) {
  int kind = -1, failure = -1, length = 0;
  double ratio = 0;
  if (std::sscanf(text.c_str(), "%d %d %lf %n", &kind, &failure, &ratio, &length) != 3 || kind < 0 ||
      kind >= static_cast<int>(kVerdictKinds) || failure < 0 || failure >= static_cast<int>(kFailures)) {
    throw UsageError("no verdict: " + quote(text));
  }
  return {
      {static_cast<VerdictKind>(kind), static_cast<Failure>(failure), text.substr(static_cast<std::size_t>(length))},
      ratio};
}

RunOptions run_options(const Kernel& kernel) {
  RunOptions options;
  options.executor = kernel.has_cuda ? Executor::cuda : Executor::cpu;
  return options;
}

bool spoils_process(const Kernel& kernel, const Verdict& verdict) {
  return kernel.has_cuda && verdict.failure == Failure::error && !verdict.detail.starts_with("the kernel wrote ");
}

Verdict call_returns(Trial& trial) {
  if (std::string why = trial.refusal(trial.problem()); !why.empty()) {
    return {VerdictKind::unsupported, Failure::none, std::move(why)};
  }
  try {
    trial.output();
  } catch (const UsageError& e) {
    return {VerdictKind::unsupported, Failure::none, e.what()};
  } catch (const KernelFault& e) {
    return {VerdictKind::fail, Failure::error, e.what()};
  }
  return {};
}

void ask_laws(const PluginTask& task, std::uint64_t number, std::span<const Law* const> laws,
              const PluginDeaths& deaths, std::uint64_t first_step, WorkerVoice& voice) {
  const std::uint64_t per_case = laws.size() + 1;
  const std::uint64_t steps = (task.data != nullptr ? 1 : task.cases.size()) * per_case;
  Subject subject;
  bool made = false;
  for (std::uint64_t step = first_step; step < steps; ++step) {
    const std::uint64_t index = step / per_case, at = step % per_case;
    if (deaths.given_up.contains(task.kernel)) {
      voice.result(step, PluginAnswer{{VerdictKind::unsupported, Failure::none,
                                       "not asked: the kernel has ended or held up too many processes"}}
                             .text());
      continue;
    }
    if (!made || subject.index != index) make(subject, task, index), made = true;
    if (at > 0 && deaths.calls.contains({number, index})) subject.failed = "not asked: the call failed";
    voice.starting(step);  // from here to the result every death counts as the kernel's: it may have spoilt what we use
    const PluginAnswer result = answer(subject, at == 0 ? nullptr : laws[at - 1]);
    voice.result(step, result.text());
    voice.returned();
    if (spoils_process(*task.kernel, result.verdict)) ::_exit(0);  // the pool starts another for the next step
  }
}

}  // namespace flashproof
