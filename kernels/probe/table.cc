// A profile as Markdown, for people.
#include <fmt/format.h>

#include <cmath>

#include "kernels/probe/probe.h"

namespace flashproof::probe {
namespace {

/// "2^-22.73", rounded up in its last digit.
std::string power(double error) {
  if (error == 0) return "0";
  if (!std::isfinite(error)) return "none";
  return fmt::format("2^{:.2f}", std::ceil(std::log2(error) * 100) / 100);
}

std::string yes(bool value) { return value ? "yes" : "no"; }

void function_rows(const FunctionProfile& f, std::string& out) {
  for (const RegionFigure& r : f.regions) {
    out += fmt::format("| `{}` | {}{} | {} | {} | {:.4g} | {:a} | {:+.2e} |\n", f.name, r.mirrored ? "±, " : "", r.name,
                       r.relative ? "relative" : "absolute", power(r.error), r.error, r.worst, r.bias);
  }
}

}  // namespace

std::string profile_table(const Profile& p) {
  std::string out = fmt::format(
      "# Probe: the arithmetic of {}\n\n- date {}\n- GPU {}, compute capability {}, driver {}\n- CUDA {}\n- revision "
      "{}\n\n"
      "## Functions, every one of the 2^32 f32 patterns\n\nThe largest error in an interval, an upper bound (the "
      "reference's own error, 2^-48, is in it), where it is, and the mean signed error: for exponentials of arguments "
      "uniform in the interval, for the others over the patterns.\n\n"
      "| function | arguments or results | error | largest | | at | mean signed |\n|---|---|---|---|--:|---|--:|\n",
      p.gpu.name, p.date, p.gpu.name, p.gpu.compute_capability, p.driver, p.cuda, p.revision);
  for (const FunctionProfile& f : p.functions) function_rows(f, out);
  out +=
      "\nWhat kernels rely on, in patterns that break it. Falls: neighbouring arguments whose results are in the wrong "
      "order, and the largest such step, relative. Flushed: subnormal arguments count as zero; no result is "
      "subnormal.\n\n"
      "| function | f(0) = 1 | above 1 for x <= 0 | falls | largest fall | NaN lost | NaN invented | arguments flushed "
      "| "
      "results flushed |\n|---|---|--:|--:|--:|--:|--:|---|---|\n";
  for (const FunctionProfile& f : p.functions) {
    const bool exponential = f.region("[-126, 0]") != nullptr || f.region("[-87.33, 0]") != nullptr;
    out += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} | {} | {} |\n", f.name,
                       exponential ? yes(f.exact_at_zero) : "–", exponential ? std::to_string(f.above_one) : "–",
                       f.falls, power(f.largest_fall), f.lost_nans, f.invented_nans,
                       exponential ? "–" : yes(f.flushes_inputs), yes(f.flushes_results));
  }
  out += "\n## Matrix units\n\n| unit | K | F | ofb | random steps | unlike the model |\n|---|--:|--:|--:|--:|--:|\n";
  for (const UnitProfile& u : p.units) {
    out += u.block.k > 0 ? fmt::format("| `{}` | {} | {} | {}{} |", u.name, u.block.k, u.block.f, u.block.ofb,
                                       u.c_last ? ", c last" : "")
                         : fmt::format("| `{}` | – | – | – |", u.name);
    out += fmt::format(" {} | {} |\n", u.random_steps, u.random_mismatches);
  }
  out += "\n| unit | claim | holds | measured |\n|---|---|---|---|\n";
  for (const UnitProfile& u : p.units) {
    for (const Answer& a : u.answers) {
      out += fmt::format("| `{}` | {} | {} | {} |\n", u.name, a.question, a.yes ? "yes" : "**no**", a.figure);
    }
  }
  return out;
}

}  // namespace flashproof::probe
