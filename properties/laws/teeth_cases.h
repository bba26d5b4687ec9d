// Test helper: the default cases of the families, and the laws asked about kernels on them. Truths are computed once, and
// only where a law wants them.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "kernels/broken/fault.h"
#include "properties/generators/family.h"
#include "properties/laws/law.h"
#include "reference/system/error.h"

namespace flashproof {

struct TeethCase {
  explicit TeethCase(Case made) : content(std::move(made)), truth(content) {}
  TeethCase(const TeethCase&) = delete;
  TeethCase& operator=(const TeethCase&) = delete;

  Case content;
  CaseTruth truth;
};

inline constexpr std::uint64_t kTeethSeeds = 3;

/// Recipes that show a fault which only a particular shape shows.
inline constexpr std::string_view kTeethLines[] = {
    // F06: a first visited tile hidden, every later score below −104
    "attention:deep_negative:1:causal=1,chunk=4,order=reverse,sk=16,sq=16",
    // F17: thousands of small weights beside one peak; F18: thousands of equal ones in 16 bits
    "attention:flat_tail:1:chunk=256,d=64,dv=64,format=f16,hk=1,hq=1,sk=2048,sq=16",
    "softmax:equal:1:cols=4096,format=f16",
    "softmax:equal:2:cols=4096,format=bf16",
    // F27: the last key of a tile of a matrix unit that is one ahead of the diagonal
    "attention:normal:4:causal=1,chunk=64,d=64,dv=64,format=f16,sk=128,sq=50",
    "attention:normal:1:causal=1,chunk=64,sk=81,sq=80",
    // F29: a tile of one key
    "attention:normal:1:chunk=64,sk=65",
    // F31: scores of more than 89 caps
    "attention:softcap:49",
    // F39: a partly used page behind full ones
    "attention:paged:2:sk=200",
    "attention:paged:3:sk=200",
    // F47: many one-signed values of rounded weights
    "attention:one_signed_v:1:chunk=64,d=64,dv=64,format=bf16,sk=256,sq=16",
    // F57: a bias, several heads
    "attention:gqa:1:format=f32",
    "attention:alibi:6:format=f32",
    // F58 to F64: rows of the covering array
    "attention:pairs:8:format=f32",
    "attention:pairs:78:format=f32",
    "attention:pairs:83:format=f32",
    "attention:pairs:28:format=f32",
    "attention:pairs:59:format=f32",
    "merge:pairs:2:format=f32",
    "merge:pairs:34:format=f32",
};

/// The recipes of teeth_cases(); some of a gradient have no case.
inline std::vector<CaseSpec> teeth_specs(ProblemKind problem) {
  const bool gradient = problem == ProblemKind::backward;
  std::vector<CaseSpec> specs;
  const auto add = [&](std::string_view family, std::uint64_t seed) -> CaseSpec& {
    const Format format = kStorageFormats[seed % std::size(kStorageFormats)];
    return specs.emplace_back(
        CaseSpec{problem, std::string(family), seed, {{"format", std::string(info(format).name)}}});
  };
  const std::uint64_t rows = gradient ? find_family("pairs")->round(problem) : 0;
  for (std::uint64_t row = 0; row < rows; ++row) add("pairs", row);
  // Even seeds of a gradient are stages.
  const std::uint64_t first = gradient ? 0 : 1, end = gradient ? 2 * kTeethSeeds : kTeethSeeds + 1;
  for (std::uint64_t seed = first; seed < end; ++seed) {
    for (const Family& family : families()) {
      if (family.serves(problem)) add(family.name, seed);
    }
  }
  for (const std::string_view line : kTeethLines) {
    if (CaseSpec spec = parse_case_spec(line); spec.problem == problem) specs.push_back(std::move(spec));
  }
  return specs;
}

/// Every family that serves the problem, for some seeds, the formats in turn: all families of a seed before the next. Of a
/// gradient first every row of the covering array; of the others kTeethLines behind.
inline std::deque<TeethCase>& teeth_cases(ProblemKind problem) {
  static std::deque<TeethCase> all[std::size(kProblemKinds)];
  std::deque<TeethCase>& cases = all[static_cast<std::size_t>(problem)];
  if (!cases.empty()) return cases;
  for (const CaseSpec& spec : teeth_specs(problem)) {
    try {
      cases.emplace_back(make_case(spec));
    } catch (const UsageError&) {  // the family's problem has a feature without a gradient
      if (problem != ProblemKind::backward) throw;
    }
  }
  return cases;
}

inline bool takes(const Kernel& kernel, const Problem& problem) {
  return kind_of(problem) == kernel.problem && kernel.supports(format_of(problem)) &&
         kernel.unsupported(problem).empty();
}

/// The verdict of each judging law, in their order, on this output in place of the kernel's own.
inline std::vector<Verdict> judge_output(const Kernel& kernel, TeethCase& c, const Output& output) {
  Trial trial(kernel, c.content, &c.truth, {},
              [&](const Kernel&, const Problem&, const RunOptions&) { return output; });
  std::vector<Verdict> verdicts;
  for (const Law& law : judging_laws()) verdicts.push_back(ask(law, trial));
  return verdicts;
}

/// The law about a seeded fault, and, where it rejects that, about the kernel without the fault on the same case.
struct FaultVerdicts {
  Verdict fault;
  Verdict right;  // not asked, and a pass, where the fault is not rejected

  /// A law that fails the right kernel too says nothing about the fault.
  bool rejects() const { return fault.failed() && !right.failed(); }
};
inline FaultVerdicts ask_fault(const Kernel& kernel, const Law& law, TeethCase& c, Trial& trial) {
  FaultVerdicts verdicts{.fault = ask(law, trial), .right = {}};
  if (verdicts.fault.failed()) {
    Trial right(*find_kernel(kernel.fault->kernel), c.content, &c.truth);
    verdicts.right = ask(law, right);
  }
  return verdicts;
}

}  // namespace flashproof
