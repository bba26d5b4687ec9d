// What is wrong with a kernel, in sentences: failing cases grouped by what explains them. Everything said is computed
// (README.md): a hypothesis that fits the output element by element, what the output holds, what a law finds, and the condition
// that separates failing from passing rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/run/run.h"
#include "reference/problem/case.h"

namespace flashproof {

struct Cause {
  std::string id = {};         // of a hypothesis; "nan:first_chunk_hidden": a symptom and its condition; "law.no_race"
  std::string sentence = {};   // without a full stop
  std::string condition = {};  // "only where …", or empty
  std::vector<std::string> others = {};        // ids of what explains the same just as well
  std::string other_sentence = {};             // of the first of them
  std::uint64_t cases = 0, failing_cases = 0;  // explained, of those that were looked at
  std::uint64_t elements = 0;                  // failing ones, explained
  std::string witness = {};                    // line of the smallest of the cases
  bool confident = false;                      // by the rules of README.md; else it is what can be said

  /// The sentence and the condition.
  std::string text() const { return condition.empty() ? sentence : sentence + "; " + condition; }
  /// One line of JSON, and back. Throws std::exception on anything else.
  std::string serialize() const;
  static Cause deserialize(const std::string& line);
};

/// How much is looked at: cases that fail, cases that pass. A kernel takes seconds.
inline constexpr std::size_t kMostFailing = 12, kMostPassing = 36;

/// Causes, those of most cases first. `failing` and `passing` are of the kernel's problem; those that it does not take, or that are
/// too large to look at, are left out. Runs the kernel in this process: what that may do is kept apart by diagnose_apart().
/// The same for the same arguments.
std::vector<Cause> diagnose(const Kernel& kernel, std::span<const CaseSpec> failing, std::span<const CaseSpec> passing,
                            Executor executor);

struct FailingRuns {
  const Kernel* kernel = nullptr;
  std::vector<CaseSpec> failing, passing;
  Executor executor = Executor::cpu;
};
/// diagnose() of each, `jobs` of them at once, every one in a process of its own, as a sweep runs kernels. One that ends or hangs
/// (`seconds`) leaves one cause that says so; an interrupted run leaves those that it did not come to without any. `prepare`: what each
/// process does first; null: nothing.
std::vector<std::vector<Cause>> diagnose_apart(std::span<const FailingRuns> questions, int jobs, double seconds = 300,
                                               void (*prepare)() = nullptr);

}  // namespace flashproof
