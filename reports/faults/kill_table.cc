#include "reports/faults/kill_table.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "properties/generators/glob.h"
#include "properties/laws/law.h"
#include "properties/laws/teeth_cases.h"
#include "reports/views/terminal/text.h"
#include "reports/workers/workers.h"

namespace flashproof {
namespace {

using Json = nlohmann::json;

/// null for NaN, as JSON has it.
Json number(double value) { return std::isnan(value) ? Json() : Json(value); }

/// The weakest dose that each law rejects. Every law is asked at every step: one that misses a strong dose (whose result is
/// NaN, say, where nothing is left to compare) may see a weaker one.
void descend(const Kernel& kernel, std::vector<LawOutcome>& outcomes) {
  const Dose& dose = kernel.fault->dose;
  for (const double step : dose.ladder) {
    std::vector<LawOutcome> at_step = outcomes;
    if (step != dose.registered) {
      for (LawOutcome& outcome : at_step) outcome = {.law = outcome.law};
      ask_laws(kernel, step, at_step);
    }
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (at_step[i].rejects) outcomes[i].weakest_dose = step;
    }
  }
}

}  // namespace

void ask_laws(const Kernel& kernel, double dose, std::vector<LawOutcome>& outcomes) {
  RunOptions options;
  options.dose = dose;
  for (TeethCase& c : teeth_cases(kernel.problem)) {
    if (!takes(kernel, c.content.problem)) continue;
    Trial trial(kernel, c.content, &c.truth, options);
    for (LawOutcome& outcome : outcomes) {
      if (outcome.rejects) continue;
      const FaultVerdicts verdicts = ask_fault(kernel, *find_law(outcome.law), c, trial);
      outcome.executed += verdicts.fault.kind == VerdictKind::pass || verdicts.fault.failed() ? 1 : 0;
      outcome.rejects = verdicts.rejects();
      if (!outcome.rejects) continue;
      outcome.where = to_string(c.content.spec);
      outcome.why = one_line(verdicts.fault.detail);
    }
  }
}

int number_of(const SeededFault& fault) { return std::stoi(std::string(fault.number.substr(1))); }

std::vector<double> FaultOutcome::surviving_doses() const {
  std::vector<double> doses;
  for (const double step : fault->dose.ladder) {
    if (std::ranges::any_of(laws, [&](const LawOutcome& law) { return law.weakest_dose == step; }))
      doses.clear();
    else
      doses.push_back(step);
  }
  return doses;
}

std::vector<std::string> FaultOutcome::toothless_laws() const {
  std::vector<std::string> names;
  for (const Law& law : flashproof::laws()) {
    const auto found = std::ranges::find(laws, law.name, &LawOutcome::law);
    const bool named = std::ranges::find(law.must_reject, fault->id) != law.must_reject.end();
    if (named && found != laws.end() && !found->rejects) names.emplace_back(law.name);
  }
  return names;
}

bool FaultOutcome::rejected() const { return std::ranges::any_of(laws, &LawOutcome::rejects); }

std::vector<const FaultOutcome*> KillTable::survivors() const {
  std::vector<const FaultOutcome*> list;
  for (const FaultOutcome& outcome : faults) {
    if (outcome.crash.empty() && !outcome.rejected()) list.push_back(&outcome);
  }
  return list;
}

std::vector<const FaultOutcome*> KillTable::crashed() const {
  std::vector<const FaultOutcome*> list;
  for (const FaultOutcome& outcome : faults) {
    if (!outcome.crash.empty()) list.push_back(&outcome);
  }
  return list;
}

FaultOutcome ask_everything(const SeededFault& fault) {
  FaultOutcome outcome;
  outcome.fault = &fault;
  const Kernel& kernel = *find_kernel(fault.id);
  outcome.habits_asked = kernel.problem != ProblemKind::backward;
  if (outcome.habits_asked) {
    const Habits habits = ask_habits(kernel, *find_kernel(fault.kernel));
    outcome.allclose = habits.allclose;
    outcome.twice = habits.twice;
  }
  for (const Law* law : laws_of(kernel.problem)) outcome.laws.push_back({.law = std::string(law->name)});
  ask_laws(kernel, fault.dose.registered, outcome.laws);
  if (!fault.dose.unit.empty()) descend(kernel, outcome.laws);
  outcome.causes = diagnose_fault(fault);
  return outcome;
}

std::string FaultOutcome::serialize() const {
  Json list = Json::array();
  for (const LawOutcome& o : laws)
    list.push_back({o.law, o.executed, o.rejects, o.where, o.why, number(o.weakest_dose)});
  const auto habit = [](const HabitResult& result) { return Json{result.sees, result.where, result.tested}; };
  Json said = Json::array();
  for (const Cause& cause : causes) said.push_back(cause.serialize());
  const Json json = {std::string(fault->id), habit(allclose), habit(twice), habits_asked, list, crash, said};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

FaultOutcome FaultOutcome::deserialize(const std::string& line) {
  const Json json = Json::parse(line);
  FaultOutcome outcome;
  outcome.fault = find_fault(json.at(0).get<std::string>());
  if (outcome.fault == nullptr) throw std::logic_error("a worker names an unknown fault");
  const auto habit = [](const Json& result) { return HabitResult{result.at(0), result.at(1), result.at(2)}; };
  outcome.allclose = habit(json.at(1));
  outcome.twice = habit(json.at(2));
  outcome.habits_asked = json.at(3);
  outcome.crash = json.at(5);
  for (const Json& cause : json.at(6)) outcome.causes.push_back(Cause::deserialize(cause.get<std::string>()));
  for (const Json& o : json.at(4))
    outcome.laws.push_back(
        {o.at(0), o.at(1), o.at(2), o.at(3), o.at(4), o.at(5).is_null() ? std::nan("") : o.at(5).get<double>()});
  return outcome;
}

KillTable kill_table(const std::vector<std::string>& globs, int jobs,
                     const std::function<void(std::uint64_t done, std::uint64_t total)>& progress,
                     const std::function<FaultOutcome(const SeededFault&)>& ask) {
  std::vector<std::string_view> names;
  for (const SeededFault& fault : seeded_faults()) names.push_back(fault.id);
  std::vector<const SeededFault*> chosen;
  for (const std::size_t i : select_names(globs, names, "fault")) chosen.push_back(&seeded_faults()[i]);
  std::ranges::stable_sort(chosen, {}, [](const SeededFault* fault) { return number_of(*fault); });

  for (const ProblemKind problem : kProblemKinds) {
    const auto of_problem = [&](const SeededFault* f) { return find_kernel(f->id)->problem == problem; };
    if (std::ranges::none_of(chosen, of_problem)) continue;
    if (problem != ProblemKind::backward) prepare_habits(problem);
    for (TeethCase& c : teeth_cases(problem)) {
      if (problem == ProblemKind::backward)
        c.truth.forward(), c.truth.gaps();  // made once, for every process that is forked
    }
  }

  KillTable table;
  std::vector<FaultOutcome> outcomes(chosen.size());
  PoolHooks hooks;
  hooks.steps = [](std::uint64_t) { return std::uint64_t{1}; };
  hooks.work = [&](std::uint64_t task, std::uint64_t first_step, StepReporter& reporter) {
    if (first_step > 0) return;
    reporter.starting(0);
    const std::string text = ask(*chosen[task]).serialize();
    reporter.returned();
    reporter.result(0, text);
  };
  hooks.result = [&](std::uint64_t task, std::uint64_t, const std::string& text) {
    outcomes[task] = FaultOutcome::deserialize(text);
  };
  hooks.crashed = [&](std::uint64_t task, std::uint64_t, const std::string& how) {
    outcomes[task].fault = chosen[task];  // a row of the table, like any other
    outcomes[task].crash = how;
  };
  hooks.progress = [&](std::uint64_t done) { progress(done, chosen.size()); };
  PoolOptions options;
  options.jobs = jobs;
  options.step_seconds = 1800;  // one fault against everything
  const PoolOutcome pool = run_pool(chosen.size(), hooks, options);
  if (!pool.failure.empty()) table.failure = pool.failure;
  table.partial = !pool.complete || !table.failure.empty();
  for (FaultOutcome& outcome : outcomes) {
    if (outcome.fault != nullptr) table.faults.push_back(std::move(outcome));
  }
  return table;
}

}  // namespace flashproof
