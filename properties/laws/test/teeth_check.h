// Test helper: what is wrong with a law's teeth, as lines for a human; none if nothing is. teeth_test.cc asks it of every
// law, teeth_meta_test.cc of laws that are wrong on purpose.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "kernels/broken/fault.h"
#include "kernels/run/observe.h"
#include "properties/laws/support/race_observer.h"
#include "properties/laws/teeth_cases.h"

namespace flashproof {

/// For no_race, in a test program that links the kernels built for the race shadow.
class RaceObserverSet : public testing::Environment {
 public:
  void SetUp() override { set_race_observer(observe); }
};
inline const auto* const kRaceObserverSet = testing::AddGlobalTestEnvironment(new RaceObserverSet);

using Complaints = std::vector<std::string>;

/// Whether the kernel without the fault answers as it should where the fault is rejected: it passes, or the answer lies
/// beyond the range from which on its contract lets it refuse.
inline bool holds(const Kernel& right, const Verdict& verdict) {
  return verdict.kind == VerdictKind::pass ||
         (verdict.kind == VerdictKind::out_of_domain && right.contract.refuses_beyond_range);
}

/// What is wrong with how the law rejects this fault, from the first default case on that it rejects; "" if nothing is.
/// Where the kernel without the fault neither holds nor fails, another case must show the fault.
inline std::string doubt_about(const Law& law, const Kernel& kernel) {
  const Kernel& right = *find_kernel(kernel.fault->kernel);
  const std::string name(law.name), id(kernel.id);
  std::size_t cases = 0;
  std::string undecided;
  for (TeethCase& c : teeth_cases(kernel.problem)) {
    if (!takes(kernel, c.content.problem)) continue;
    ++cases;
    Trial trial(kernel, c.content, &c.truth);
    const FaultVerdicts verdicts = ask_fault(kernel, law, c, trial);
    if (!verdicts.fault.failed()) continue;
    if (holds(right, verdicts.right)) return {};
    const std::string where =
        to_string(c.content.spec) + ": " + to_string(verdicts.right) + " " + verdicts.right.detail;
    if (verdicts.right.failed()) {
      return name + " rejects " + std::string(right.id) + ", which is right, as it does " + id + ": " + where;
    }
    if (undecided.empty()) undecided = where;
  }
  if (undecided.empty()) {
    return name + " accepts " + id + " (" + std::string(kernel.fault->defect) + ") on all " + std::to_string(cases) +
           " default cases that it takes";
  }
  return name + " rejects " + id + " only where " + std::string(right.id) + " does not pass: " + undecided;
}

/// The faults that the law names and does not reject on a default case that the kernel without the fault passes, or that
/// are none.
inline Complaints accepted_faults(const Law& law) {
  Complaints complaints;
  for (const std::string_view id : law.must_reject) {
    const Kernel* kernel = find_kernel(id);
    if (kernel == nullptr || kernel->fault == nullptr) {
      complaints.push_back(std::string(law.name) + " names " + std::string(id) + ", which is no seeded fault");
      continue;
    }
    if (std::string doubt = doubt_about(law, *kernel); !doubt.empty()) complaints.push_back(std::move(doubt));
  }
  return complaints;
}

/// Where the law says anything but that these kernels, which are right, hold; where one that relates asks what is true; and
/// if it never passed. `verdicts`: how many of each. Over the first default case of every family; the property tests
/// (properties/driver) ask the same of many more.
inline Complaints doubts(const Law& law, std::span<const Kernel* const> right, std::map<VerdictKind, int>& verdicts) {
  Complaints complaints;
  const std::string name(law.name);
  for (const Kernel* kernel : right) {
    std::set<std::string> seen;
    for (TeethCase& c : teeth_cases(kernel->problem)) {
      if (!seen.insert(c.content.spec.family).second) continue;
      if (!takes(*kernel, c.content.problem)) continue;
      Trial trial(*kernel, c.content, &c.truth);
      const Verdict verdict = ask(law, trial);
      ++verdicts[verdict.kind];
      const std::string where = std::string(kernel->id) + " " + to_string(c.content.spec);
      if (verdict.failed() || verdict.kind == VerdictKind::inconclusive) {
        complaints.push_back(name + ": " + where + ": " + to_string(verdict) + " " + verdict.detail);
      }
      if (law.judge == nullptr && trial.consulted_truth()) {
        complaints.push_back(name + ": " + where + ": a relating law asked what is true");
      }
    }
  }
  if (verdicts[VerdictKind::pass] == 0) complaints.push_back(name + " passed nothing: it was not exercised");
  return complaints;
}

/// Faults that none of the laws names.
inline Complaints unnamed_faults(std::span<const Law> laws, std::span<const Kernel> kernels) {
  Complaints complaints;
  std::set<std::string_view> named;
  for (const Law& law : laws) named.insert(law.must_reject.begin(), law.must_reject.end());
  for (const Kernel& kernel : kernels) {
    if (kernel.fault != nullptr && !named.contains(kernel.id)) {
      complaints.push_back(std::string(kernel.id) + ": no law must reject it");
    }
  }
  return complaints;
}

}  // namespace flashproof
