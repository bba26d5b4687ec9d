// A law: a pure function (case, kernel) -> verdict, shared by the property tests, the sweeps of the reports and the fuzzers.
//
// Two kinds. A judging law reads one output beside its truth and its bound: every report asks it of every run. A relating
// law runs the kernel again, on a problem that it changes in a way whose effect is known, and compares the two outputs;
// what it allows between them follows from the two a-priori bounds. It never asks what is true.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/laws/trial.h"
#include "reference/error/power.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// What a judging law reads. The references must outlive it.
struct Evaluation {
  const Kernel& kernel;
  const Case& subject;
  const Output& output;
  const Truth& truth;
  const Bound& bound;
  // judge() of the above; a fuzzer's (fuzz/score/screen.h) has of ErrorStats the counts alone. So a judging law reads the
  // verdict, the counts and the balls, but no sum, maximum or witness.
  const Judgement& judgement;
  // Of the above; null where only findings are wanted (fuzzing), so that a pass says no more than that there is none.
  const Power* power = nullptr;

  /// With the ball that decided it.
  Element element(Part part, std::int64_t index) const {
    return judged_element(output, truth, bound, judgement, part, index);
  }
};

struct Law {
  std::string_view summary;
  /// Seeded faults that it must reject on at least one default case of the families (teeth; asserted by a test).
  std::span<const std::string_view> must_reject = {};
  // One of the two kinds. A failing verdict's detail is one line: which element, the numbers compared, what they may differ by.
  // vacuous: the case has nothing that the law could see (none of its hazard, or bounds too wide); unsupported: the law
  // says nothing about such a problem or kernel, and why.
  // A relating law: of forward problems, of some of which it may still have nothing to say (unsupported); of gradients; or of both.
  Verdict (*relate)(Trial& trial) = nullptr;
  Verdict (*of_gradients)(Trial& trial) = nullptr;
  Verdict (*judge)(const Evaluation& evaluation) = nullptr;  // of every problem
  /// Whether a kernel of such problems with this contract promises what the law asks, so that a run in which the law decided no case
  /// has left a promise untested; of a judging law always. Null: the law says something of some problems only.
  bool (*promised)(ProblemKind problem, const Contract& contract) = nullptr;
  std::string_view name = {};  // of a law in laws.cmake: that of its file

  bool is_promised(ProblemKind problem, const Contract& contract) const {
    return judge != nullptr || (promised != nullptr && promised(problem, contract));
  }
  bool is_of(ProblemKind problem) const { return judge != nullptr || relation(problem) != nullptr; }
  auto relation(ProblemKind problem) const -> Verdict (*)(Trial&) {
    return problem == ProblemKind::backward ? of_gradients : relate;
  }
};

/// Every law, in the order of the report, the judging ones first: laws.cmake. A new law is one file, a line there, and a row in
/// README.md.
std::span<const Law> laws();
/// They are asked about every problem.
std::span<const Law> judging_laws();
/// Those that are asked about this problem, in the same order.
std::span<const Law* const> laws_of(ProblemKind problem);
/// By its name, or by one that it had (witnesses, regressions and reports of earlier versions). Null if there is none.
const Law* find_law(std::string_view name);
/// Those that the globs name, in the order of laws(); all without a glob. Throws UsageError for one that names none.
std::vector<const Law*> select_laws(std::span<const std::string> globs);

/// Of more rows, and of cases of Family::costly, the judging laws alone speak, of one run that has every row; the detail of the others.
inline constexpr std::int64_t kMostRowsRelated = 16'384;
inline constexpr std::string_view kNotRelated = "of a case this large the judging laws alone speak";
/// How the detail of a vacuous verdict begins where a foreign kernel took the case, and refused what the law made of it.
inline constexpr std::string_view kRefusedByLaw = "refused when it was called: ";

/// How many rows a case may have that a relating law is asked of.
enum class Extent : std::uint8_t { usual, any };

/// The law's verdict: unsupported if the kernel does not take the case, fail(error) for what its executor found. Throws
/// std::logic_error if the law runs it on a problem that it does not take, or that is not valid: a defect of the law.
/// Extent::usual leaves cases of more rows than kMostRowsRelated, and costly ones, to the judging laws: laws that relate runs would be most of a check's time
/// there. A kernel may take no smaller case: a check asks every law of the first case of a family, and of its first costly one
/// those that are promised; properties until it has decided one; a replay of every case.
Verdict ask(const Law& law, Trial& trial, Extent extent = Extent::any);

}  // namespace flashproof
