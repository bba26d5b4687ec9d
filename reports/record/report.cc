// What the three renderers share.
#include "reports/record/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "properties/generators/family.h"
#include "properties/laws/run_power.h"
#include "reference/system/error.h"
#include "reports/views/terminal/text.h"

namespace flashproof {

std::uint64_t count_of(const Record& record, VerdictKind kind) {
  return record.by_case[static_cast<std::size_t>(kind)];
}

Open open_of(const std::vector<Record>& records) {
  constexpr auto kOpen = static_cast<std::size_t>(VerdictKind::inconclusive);
  Open open;
  for (const Record& r : records) {
    for (const Part part : parts(r.kernel->problem)) open.elements += r[part].verdicts[kOpen];
    open.runs += r.by_case[kOpen];
  }
  return open;
}

bool has_finding(const std::vector<Record>& records, bool nightly) {
  const Open open = open_of(records);
  if (nightly && (open.elements > 0 || open.runs > 0)) return true;
  return std::any_of(records.begin(), records.end(), [](const Record& r) {
    return r.kernel->form == Form::hardened && count_of(r, VerdictKind::fail) > 0;
  });
}

namespace {

/// One kernel and format in one place: what its records have decided together, and the families that the sweep had for it.
struct KernelPower {
  const Kernel* kernel = nullptr;
  RunPower power;
  std::size_t offered = 0;

  /// A kernel that takes no case at all is no pass of a run over most families of its problem; who chooses a few learns of one that
  /// takes none of them that there was nothing to ask. What a kernel states that it does not take is no loss otherwise:
  /// attention.paged takes 4 of 51 families.
  std::string undecided(ProblemKind problem) const {
    const auto served = std::ranges::count_if(families(), [&](const Family& f) { return f.serves(problem); });
    if (power.families().empty() && 2 * offered > static_cast<std::size_t>(served))
      return fmt::format("no case was judged: the kernel takes none of {} input families", offered);
    return power.undecided();
  }
};

/// A record of every kernel, format and family of the plan is there, whatever came of its cases: with the executor and the math,
/// since each is a run of its own.
std::map<std::string, KernelPower> run_powers(const std::vector<Record>& records, Kernels kernels) {
  std::map<std::string, KernelPower> runs;
  for (const Record& r : records) {
    if (kernels == Kernels::hardened && r.kernel->form != Form::hardened) continue;
    auto& run = runs[fmt::format("{} {} {}", r.kernel->id, info(r.format).name, place(r.kernel->math, r.executor))];
    run.kernel = r.kernel;
    ++run.offered;
    if (r.asked == 0 && r.judged() == 0) continue;  // a report that was read from a file does not know who was asked
    run.power.ask(r.family);
    run.power.refuse(r.family, r.refused);
    if (r.judged() > 0) run.power.add(case_of(r, r.seeds.intervals().front().first), r.power, r.judged());
  }
  return runs;
}

}  // namespace

std::vector<Undecided> undecided_of(const std::vector<Record>& records, Kernels kernels) {
  std::vector<Undecided> list;
  for (const auto& [name, run] : run_powers(records, kernels)) {
    if (std::string why = run.undecided(run.kernel->problem); !why.empty()) list.push_back({name, std::move(why)});
  }
  return list;
}

std::vector<Undecided> narrow_declarations(const std::vector<Record>& records, Kernels kernels) {
  std::vector<Undecided> list;
  for (const auto& [name, run] : run_powers(records, kernels)) {
    if (std::string why = run.power.narrow_declaration(*run.kernel); !why.empty())
      list.push_back({name, std::move(why)});
  }
  return list;
}

std::string undecided_text(const std::vector<Undecided>& undecided, std::string_view what) {
  std::string text;
  for (const Undecided& one : undecided) text += fmt::format("{} {}: {}\n", what, one.kernel, one.why);
  return text;
}

std::string open_line(const std::vector<Record>& records, bool nightly) {
  const Open open = open_of(records);
  if (open.elements == 0 && open.runs == 0) return "";
  return fmt::format("Inconclusive at the oracle's last tier: {} elements, {} runs{}.\n", open.elements, open.runs,
                     nightly ? ": a nightly run fails for it" : "");
}

}  // namespace flashproof
