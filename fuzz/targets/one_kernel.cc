#include "fuzz/targets/one_kernel.h"

#include <stdexcept>

#include "fuzz/score/shape_class.h"
#include "properties/laws/support/change.h"
#include "properties/shrink/brief.h"
#include "properties/shrink/shrink.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

std::vector<const Law*> relating_laws() {
  std::vector<const Law*> list;
  for (const Law& law : laws().subspan(judging_laws().size())) {
    // As of every forward problem; of a gradient score() asks all.
    if (law.is_of(ProblemKind::attention)) list.push_back(&law);
  }
  return list;
}

const Law* law_of(const FuzzInput& input) {
  static const std::vector<const Law*> all = relating_laws();
  const auto index = chosen_law(input.law, all.size());
  return index ? all[*index] : nullptr;
}

ScoreOptions options_of(const FuzzInput& input, Executor executor) {
  return {.run = run_options(input, executor), .law = law_of(input)};
}

}  // namespace

std::vector<TargetSubject> subjects_of(ProblemKind problem) {
  std::vector<TargetSubject> list;
  for (const Kernel& kernel : kernels()) {
    if (kernel.problem != problem) continue;
    for (const Format format : kernel.formats)
      list.push_back({std::string(kernel.id), std::string(name(kernel.form)), format});
  }
  return list;
}

const Kernel& kernel_of(std::string_view id) {
  const Kernel* kernel = find_kernel(id);
  if (kernel == nullptr) throw std::logic_error("no kernel " + std::string(id));
  return *kernel;
}

ProblemKind problem_of_kernel(const TargetSubject& subject) { return kernel_of(subject.kernel).problem; }

FuzzInput in_format(const TargetSubject& subject, FuzzInput input) {
  input.origin.spec.keys["format"] = info(subject.format).name;
  return input;
}

RunOptions run_options(const FuzzInput& input, Executor executor) {
  RunOptions options;
  options.executor = executor;
  if (executor == Executor::cpu) options.schedule = input.order();
  return options;
}

Case subject_case(const TargetSubject& subject, const FuzzInput& input) {
  Case c = case_of(problem_of_kernel(subject), input);
  if (format_of(c.problem) != subject.format) throw UsageError("input: data in another format");
  if (products(c.problem) > kMostWork) throw UsageError("input: more than " + std::to_string(kMostWork) + " products");
  return c;
}

Scored scored(Score score, const Case& c, const FuzzInput& input) {
  return {std::move(score), describe(input), shape_class(c.problem), finding_class(c.problem)};
}

Scored run_input(const TargetSubject& subject, const FuzzInput& input, Executor executor) {
  const Case c = subject_case(subject, input);
  return scored(score(kernel_of(subject.kernel), c, options_of(input, executor)), c, input);
}

ScoredBatch run_inputs(const TargetSubject& subject, std::span<const FuzzInput> inputs, const BatchOptions& options) {
  Team caller;
  Team& team = options.team != nullptr ? *options.team : caller;
  std::vector<Case> cases(inputs.size());
  std::vector<char> made(inputs.size());
  team.for_each(static_cast<std::int64_t>(inputs.size()), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    try {
      cases[at] = subject_case(subject, inputs[at]);
      made[at] = 1;
    } catch (const UsageError&) {  // not a case
    }
  });
  std::vector<std::size_t> places;  // of the cases, among the inputs
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (made[i] == 0) continue;
    if (places.size() < i) cases[places.size()] = std::move(cases[i]);
    places.push_back(i);
  }
  cases.resize(places.size());
  BatchResult answers = score_batch(kernel_of(subject.kernel), cases, options);
  ScoredBatch batch{std::vector<std::optional<Scored>>(inputs.size()), answers.lost, {}, std::move(answers.why)};
  for (const std::size_t i : answers.together) batch.together.push_back(places[i]);
  for (std::vector<std::size_t>& launch : answers.failed_launches) {
    for (std::size_t& i : launch) i = places[i];
    batch.failed_launches.push_back(std::move(launch));
  }
  team.for_each(static_cast<std::int64_t>(cases.size()), [&](std::int64_t index) {
    const auto i = static_cast<std::size_t>(index);
    batch.results[places[i]] = scored(std::move(answers.scores[i]), cases[i], inputs[places[i]]);
    cases[i] = {};  // freed here, by all threads
  });
  return batch;
}

Minimised minimise_with(const MinimiseTask& task, const std::function<Score(const Case&)>& score_case,
                        WitnessNotes notes) {
  const Case found = subject_case(task.subject, task.input);
  const auto fails = [&](const Problem& problem) {
    return !task.stop() && task.defect.shown_by(score_case({found.spec, problem}));
  };
  if (!fails(found.problem)) throw UsageError("input: does not show " + task.defect.what);
  Case smallest{found.spec, minimise(found.problem, fails, task.tries)};
  const Score last = score_case(smallest);
  notes["verdict"] = to_string(last.verdict);
  notes["finding"] = task.defect.what;
  if (last.ratio >= 0) notes["ratio"] = std::to_string(last.ratio);
  std::string text = brief(smallest.problem);
  return {format_witness({std::move(smallest), std::move(notes)}), std::move(text)};
}

Minimised minimise_run(const TargetSubject& subject, const FuzzInput& input, Executor executor, const Defect& defect,
                       int tries, const std::function<bool()>& stop) {
  const Kernel& kernel = kernel_of(subject.kernel);
  const Case c = subject_case(subject, input);
  ScoreOptions options = options_of(input, executor);
  // A schedule and a law that the finding does not need would only be in the way of who replays it.
  for (const bool of_schedule : {true, false}) {
    ScoreOptions simpler = options;
    if (of_schedule) {
      simpler.run.schedule = {};
    } else {
      simpler.law = nullptr;
    }
    if (defect.shown_by(score(kernel, c, simpler))) options = simpler;
  }
  WitnessNotes notes = {{"kernel", subject.kernel},
                        {"executor", std::string(name(executor))},
                        {"math", std::string(name(kernel.math))},
                        {"schedule", to_string(options.run.schedule)}};
  if (options.law != nullptr) notes["law"] = options.law->name;
  return minimise_with(
      {subject, input, defect, tries, stop}, [&](const Case& smaller) { return score(kernel, smaller, options); },
      std::move(notes));
}

}  // namespace flashproof
