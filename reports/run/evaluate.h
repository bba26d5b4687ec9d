// One kernel on one case: what was judged in, one CaseResult out. Pure; the sweep, check and replay all use it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "properties/laws/law.h"
#include "properties/laws/trial.h"
#include "reference/bound/bound.h"
#include "reference/error/judge.h"
#include "reference/error/part_stats.h"
#include "reference/error/power.h"
#include "reference/problem/case.h"
#include "reports/run/case_sizes.h"
#include "reports/statistics/domain_stats.h"
#include "reports/statistics/heat.h"

namespace flashproof {

/// One output element against its truth.
struct ElementFinding {
  std::string tensor;  // name() of its part; empty: no element stands out
  std::uint64_t index = 0;
  VerdictKind kind = VerdictKind::pass;
  Failure failure = Failure::none;
  double computed = 0;
  double exact = 0;
  double error = 0;
  double ratio = -1;
  ElementBound bound;
  std::string text;  // describe() of it, for findings
};

/// A truth's number, or the class that it lists in place of one.
double exact_value(const Ball& truth);
/// The more severe kind first, then the worse ratio.
bool worse_finding(const ElementFinding& a, const ElementFinding& b);

/// Is ratio a worse than b? NaN is worse than every number (nothing finite was there to measure).
bool worse_ratio(double a, double b);

/// Did a run ask the kernel for a case? What its description does not take, and a recipe of which there is no case, is no question.
enum class Asked : std::uint8_t { no, yes, refused };  // refused: when it was called, though its description takes it

/// Statistics by part, and what came of the case.
struct CaseResult : PartStats {
  std::uint64_t case_index = 0;  // in the plan
  std::uint64_t seed = 0;        // of the case
  Verdict verdict;
  bool executed = false;  // false: unsupported, or the kernel crashed before it returned
  Asked asked = Asked::no;
  DomainStats domain;
  Power power;                           // where it was judged
  std::vector<Verdict> laws;             // in the order of the judging laws; empty if not executed
  std::vector<ElementFinding> elements;  // failing ones, worst first, at most the number asked for; else the worst one
  std::uint64_t failing_elements = 0;
  std::optional<CaseSizes> sizes;  // where it was judged
  HeatMap heat;                    // of the worst element's tensor, where it failed
  std::uint64_t refined = 0;       // elements of o whose bound took the linear-fractional form (Bound::refined)

  bool failed() const { return verdict.failed(); }

  /// One line of text without newlines, and back. Throws UsageError on anything else.
  std::string serialize() const;
  static CaseResult deserialize(const std::string& line);
};

/// Of what was measured, the element with the largest ratio; ratio −1 if nothing was.
ElementFinding worst_of(const ErrorStats& stats, Part part);

/// `evaluation.judgement` was made with the case's seed. Without sizes.
CaseResult evaluate(const Evaluation& evaluation, std::uint64_t case_index, std::size_t max_elements);

/// What the judge asks where the truth is too wide to decide. Of a gradient nothing: its truth is as narrow as it gets.
NextTier next_tier_of(CaseTruth& truth, const Kernel& kernel);

/// Where nothing could be judged: unsupported, or fail(error), which was asked.
CaseResult not_judged(std::uint64_t case_index, VerdictKind kind, Failure failure, const std::string& detail,
                      Asked asked = Asked::no);

/// Where a kernel runs, in one word: cpu, cuda, native (cuda with native math), cpu.native, ptx or ptx.native.
inline constexpr std::string_view kNativeOnCpu = "cpu.native", kNativeAsPtx = "ptx.native";
std::string_view place(Math math, Executor executor);
std::string_view place(const Kernel& kernel, Executor executor);
/// The kernel's id, with ".native" behind it where the table has no column for place().
std::string full_id(const Kernel& kernel);
/// The line that report, check and replay print for one result.
std::string verdict_line(std::string_view id, std::string_view place, const std::string& case_line,
                         const Verdict& verdict, const std::vector<ElementFinding>& elements);
std::string verdict_line(const Kernel& kernel, Executor executor, const CaseSpec& spec, const CaseResult& result);
/// One line per element, with the four terms of its bound; `failing` of them in all.
std::vector<std::string> element_lines(const std::vector<ElementFinding>& elements, std::uint64_t failing);
std::vector<std::string> element_lines(const CaseResult& result);

/// The largest of the four terms.
std::string_view dominating_term(const ElementBound& bound);
double dominating_share(const ElementBound& bound);

}  // namespace flashproof
