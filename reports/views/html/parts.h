// The parts of the page that are there with scripting off, too, and the data that the script reads. All pure functions.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "reports/record/report.h"

namespace flashproof::html {

/// In the order of the rule that combines verdicts (reference/error/verdict.h): the first that occurs stands for all.
inline constexpr std::array kShownKinds = {VerdictKind::fail,       VerdictKind::inconclusive,  VerdictKind::pass,
                                           VerdictKind::undecided,  VerdictKind::out_of_domain, VerdictKind::vacuous,
                                           VerdictKind::unsupported};
inline constexpr std::array<const char*, 4> kTerms = {"weights", "numerator", "denominator", "output"};
inline constexpr std::array<const char*, 3> kProfiles = {"length", "magnitude", "merges"};
inline constexpr std::array<ProfileAxis SizeProfile::*, 3> kAxes = {&SizeProfile::length, &SizeProfile::magnitude,
                                                                    &SizeProfile::merges};

/// The kernel's id, and its math where that is native.
inline std::string label(const Record& r) {
  return std::string(r.kernel->id) + (r.kernel->math == Math::native ? " native" : "");
}
inline bool failed(const Record& r) { return r.count(VerdictKind::fail) > 0; }
/// Of the worst element's bound, in the order of kTerms.
inline std::array<double, kTerms.size()> terms_of(const WorstCase& worst) {
  const ElementBound& b = worst.element.bound;
  return {b.weights, b.numerator, b.denominator, b.output};
}
/// Null: none.
inline const HeatMap* shown_heat(const Record& r) {
  return failed(r) && !r.worst->heat.empty() ? &r.worst->heat : nullptr;
}
/// Elements by floor(log2(error/bound)); kExact: all below 2^-55.
std::map<int, std::uint64_t> ratio_octaves(const ErrorStats& stats);

/// A kernel that fails on a family, its formats together: a row of the tables of findings, which the matrix leads to.
struct FailingFamily {
  const Record* worst = nullptr;
  std::string formats;  // "f32, bf16"
  std::uint64_t fails = 0, cases = 0;
  std::size_t anchor = 0;  // id="f<anchor>"
};
/// Hardened, then published; seeded faults are meant to fail and are not here.
std::vector<FailingFamily> failing_families(const Report& report);

/// Banner, verdict, counts, findings in hardened kernels, environment. `odd`: how many entries investigation_table() has.
std::string summary(const Report& report, const std::vector<FailingFamily>& failing, std::size_t odd);
/// One table per problem: kernels down, families across.
std::string matrices(const Report& report, const std::vector<FailingFamily>& failing);
/// One row per kernel, format, executor and math, families together.
std::string kernel_table(const Report& report);
/// Where published kernels fail.
std::string published_findings(const std::vector<FailingFamily>& failing);
std::string investigation_table(const std::vector<Investigation>& odd);
/// Seeded faults and laws; "" if the report has none.
std::string kill_table(const Report& report);
/// "" if the report has none.
std::string speed_table(const Report& report);
/// The plots of all hardened kernels as SVG, for who reads without scripting.
std::string static_plots(const Report& report);

/// What the page's script reads, as JSON that is safe inside a <script> element: no '<', no '&', ASCII only.
std::string condensed(const Report& report);

}  // namespace flashproof::html
