// list kernels|families|laws|faults|coverage: what there is, for people or (--json) for programs.
#include <algorithm>
#include <array>
#include <cstdio>

#include <fmt/format.h>

#include "kernels/broken/fault.h"
#include "properties/generators/coverage/coverage_table.h"
#include "properties/generators/coverage/threshold_table.h"
#include "properties/generators/family.h"
#include "properties/generators/glob.h"
#include "properties/laws/law.h"
#include "reference/problem/case.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reports/cli/commands/commands.h"
#include "reports/record/report.h"

namespace flashproof {
namespace {

std::string kernel_line(const Kernel& kernel) {
  std::vector<std::string_view> formats;
  for (const Format format : kernel.formats) formats.push_back(info(format).name);
  std::string line = fmt::format("{:<44} {:<10} {:<13} {:<8} {}", kernel.id, name(kernel.form),
                                 fmt::format("{}", fmt::join(formats, ",")), kernel.has_cuda ? "cpu,cuda" : "cpu",
                                 kernel.contract.refuses_beyond_range ? "NaN beyond the range of its form" : "");
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

std::string family_line(const Family& family) {
  std::vector<std::string_view> problems;
  for (const ProblemKind problem : family.problems) problems.push_back(name(problem));
  return fmt::format("{:<22} {:<24} {}", family.name, fmt::format("{}", fmt::join(problems, ",")), family.summary);
}

}  // namespace

int list_command(const std::string& what, bool json) {
  // The last three are answered before this (command_tables.h); here they are names that somebody may have meant.
  constexpr std::array<std::string_view, 8> kWords = {"kernels",  "families", "laws",       "faults",
                                                      "coverage", "commands", "completion", "man"};
  if (std::ranges::find(kWords, what) == kWords.end()) throw UsageError(unknown_name("list", what, kWords));
  std::string text;
  if (what == "coverage") {
    if (json) throw UsageError("list coverage: has no --json; legal for kernels, families, laws and faults");
    for (const ProblemKind problem : kProblemKinds) {
      text += default_coverage(problem).text();
    }
    text += threshold_text(default_thresholds());
  } else if (json) {
    text = list_json(what);
  } else if (what == "kernels") {
    for (const Kernel& kernel : kernels()) {
      if (kernel.fault == nullptr) text += kernel_line(kernel) + "\n";
    }
  } else if (what == "families") {
    for (const Family& family : families()) text += family_line(family) + "\n";
  } else if (what == "faults") {
    for (const SeededFault& fault : seeded_faults()) {
      text += fmt::format("{} {:<46} {}\n", fault.number, fault.id, fault.defect);
    }
  } else {
    for (const Law& law : laws()) text += fmt::format("{:<44} {}\n", law.name, law.summary);
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kExitFine;
}

}  // namespace flashproof
