// Every kernel of the gradient, on the gradient cases of the attention families.
#include "fuzz/score/shape_class.h"
#include "fuzz/targets/target.h"
#include "kernels/registry.h"
#include "kernels/run.h"
#include "properties/laws/change.h"
#include "properties/shrink/brief.h"
#include "properties/shrink/shrink.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

std::vector<TargetSubject> subjects() {
  std::vector<TargetSubject> list;
  for (const Kernel& kernel : kernels_of(ProblemKind::backward)) {
    for (const Format format : kernel.formats)
      list.push_back({std::string(kernel.id), std::string(name(kernel.form)), format});
  }
  return list;
}

ProblemKind problem(const TargetSubject&) { return ProblemKind::backward; }

Case case_of(const TargetSubject& subject, const FuzzInput& input) {
  Case c = flashproof::case_of(ProblemKind::backward, input);
  if (format_of(c.problem) != subject.format) throw UsageError("input: data in another format");
  if (products(c.problem) > kMostWork) throw UsageError("input: more than " + std::to_string(kMostWork) + " products");
  return c;
}

Scored run(const TargetSubject& subject, const FuzzInput& input, Executor executor) {
  const Case c = case_of(subject, input);
  return {score(*find_kernel(subject.kernel), c, {.run = run_options(input, executor)}), describe(input),
          shape_class(c.problem), finding_class(c.problem)};
}

/// Recipes with one thing less: a mutation, a schedule, or the next smaller extent. They come first: each is a leap.
std::vector<FuzzInput> simpler(const FuzzInput& input) {
  std::vector<FuzzInput> list;
  if (!input.schedule.empty()) {
    list.push_back(input);
    list.back().schedule.clear();
  }
  for (std::size_t i = 0; i < input.origin.mutations.size(); ++i) {
    list.push_back(input);
    list.back().origin.mutations.erase(list.back().origin.mutations.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (const char* extent : {"b", "hq", "hk", "sq", "sk", "d", "dv"}) {
    const auto key = input.origin.spec.keys.find(extent);
    const int value = key == input.origin.spec.keys.end() ? 0 : std::stoi(key->second);
    for (const int smaller : {1, value / 2, value - 1}) {
      if (smaller < 1 || smaller >= value) continue;
      list.push_back(input);
      list.back().origin.spec.keys[extent] = std::to_string(smaller);
    }
  }
  return list;
}

Minimised minimise_gradient(const TargetSubject& subject, const FuzzInput& input, Executor executor,
                            const Defect& defect, int tries, const std::function<bool()>& stop) {
  const auto fails = [&](const FuzzInput& candidate) {
    try {
      return !stop() && defect.shown_by(run(subject, candidate, executor).score);
    } catch (const UsageError&) {  // no such case
      return false;
    }
  };
  if (!fails(input)) throw UsageError("input: does not show " + defect.what);
  FuzzInput smallest = input;
  for (bool better = !input.is_data(); better && tries > 0;) {
    better = false;
    for (FuzzInput& candidate : simpler(smallest)) {
      if (tries-- <= 0) break;
      if (!fails(candidate)) continue;
      smallest = std::move(candidate);
      better = true;
      break;
    }
  }
  Case shown = case_of(subject, smallest);
  const Kernel& kernel = *find_kernel(subject.kernel);
  const RunOptions how = run_options(smallest, executor);
  const auto still = [&](const Problem& problem) {
    return defect.shown_by(score(kernel, {shown.spec, problem}, {.run = how}));
  };
  // o and lse of the smaller ones are an ideal forward kernel's: what fails by others stays as it is.
  shown.problem = minimise(shown.problem, still, tries, stop);
  const Score last = score(kernel, shown, {.run = how});
  WitnessNotes notes = {{"kernel", subject.kernel},
                        {"executor", std::string(name(executor))},
                        {"math", "det"},
                        {"schedule", to_string(how.schedule)},
                        {"verdict", to_string(last.verdict)},
                        {"finding", defect.what}};
  if (const std::size_t colon = defect.what.find(':'); colon != std::string::npos)
    notes["law"] = defect.what.substr(0, colon);
  if (last.ratio >= 0) notes["ratio"] = std::to_string(last.ratio);
  std::string text = brief(shown.problem);
  return {format_witness({std::move(shown), std::move(notes)}), std::move(text)};
}

}  // namespace

Target fuzz_target() { return {"backward", subjects, run, minimise_gradient, problem}; }

}  // namespace flashproof
