#include "reports/views/junit/junit.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "properties/driver/junit.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

std::string worst_text(const Record& r) {
  if (!r.worst) return "";
  const ElementFinding& e = r.worst->element;
  std::string text = to_string(Verdict{r.worst->verdict.kind, r.worst->verdict.failure, {}});
  text += fmt::format(", {} of {} cases", r.count(r.verdict()), r.cases);
  if (!e.tensor.empty()) text += fmt::format("; error/bound {} at {}[{}]", short_number(e.ratio), e.tensor, e.index);
  text += fmt::format(" of {}", worst_case_line(r));
  if (!r.worst->verdict.detail.empty()) text += "\n" + r.worst->verdict.detail;
  if (!r.worst->file.empty()) text += "\nwitness: " + one_line(r.worst->file);
  return text + "\nreplay: " + replay_command(r);
}

JunitCase test_of(const Record& r, bool nightly) {
  JunitCase one;
  one.classname = r.kernel->id;
  one.name = fmt::format("{}/{}/{}/{}", info(r.format).name, name(r.executor), name(r.kernel->math), r.family);
  const VerdictKind kind = r.verdict();
  const bool failing = r.count(VerdictKind::fail) > 0;
  if (kind == VerdictKind::pass) return one;
  one.type = r.worst ? name(r.worst->verdict.failure) : name(kind);
  one.message = worst_text(r);
  if (failing && r.kernel->form == Form::hardened) {
    one.outcome = JunitOutcome::failed;
  } else if (failing) {
    one.outcome = JunitOutcome::skipped;
    one.message = fmt::format("expected of a {} kernel: {}", name(r.kernel->form), one.message);
  } else if (kind == VerdictKind::inconclusive && nightly) {
    one.outcome = JunitOutcome::failed;
    one.type = name(kind);
  } else {
    one.outcome = JunitOutcome::skipped;
    one.message = fmt::format("{}: nothing was decided in {} cases", name(kind), r.cases);
  }
  return one;
}

JunitSuite& suite_of(std::vector<JunitSuite>& suites, std::string_view id) {
  const auto at = std::ranges::find(suites, id, &JunitSuite::name);
  return at != suites.end() ? *at : suites.emplace_back(JunitSuite{std::string(id)});
}

/// What ran, and whether all of it did. Without date and times, so that one run and seed gives one file.
JunitSuite run_suite(const Run& run, const std::string& name) {
  const Environment& e = run.environment;
  JunitSuite suite{name};
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, std::string>>{
           {"revision", e.revision},
           {"tier", e.tier},
           {"seed", std::to_string(e.seed)},
           {"executors", e.executors},
           {"math", e.math},
           {"profile", e.profile},
           {"command_line", e.command_line},
           {"compiler", e.compiler},
           {"cuda_compiler", e.cuda_compiler},
           {"flags", e.flags},
           {"cpu", e.cpu},
           {"gpu", e.gpu},
           {"cases", std::to_string(run.cases)},
           {"kernel_runs", std::to_string(run.kernel_runs)},
           {"partial", run.partial},
       }) {
    if (!value.empty()) suite.properties.emplace_back(key, value);
  }
  JunitCase complete{name, "complete"};
  if (!run.partial.empty()) {
    complete.outcome = JunitOutcome::failed;
    complete.type = "partial";
    complete.message = run.partial;
  }
  suite.cases.push_back(complete);
  return suite;
}

/// A failed test for each kernel of which the run is no pass as a whole, whatever its records say.
void add_sentences(std::vector<JunitSuite>& suites, const std::vector<Undecided>& list, const std::string& test) {
  for (const Undecided& one : list) {
    const std::string id = one.kernel.substr(0, one.kernel.find(' '));
    JunitCase failed{id, test + " " + one.kernel.substr(std::min(one.kernel.size(), id.size() + 1))};
    failed.outcome = JunitOutcome::failed;
    failed.type = test;
    failed.message = one.why;
    suite_of(suites, id).cases.push_back(failed);
  }
}

}  // namespace

std::string junit_text(const Report& report) {
  const bool nightly =
      std::ranges::any_of(report.runs, [](const Run& run) { return run.environment.tier == name(SweepTier::nightly); });
  std::vector<JunitSuite> suites;
  suites.reserve(report.runs.size());
  for (const Run& run : report.runs) {
    suites.push_back(run_suite(run, report.runs.size() == 1 ? "run" : fmt::format("run {}", suites.size() + 1)));
  }
  for (const Record& r : report.result.records) suite_of(suites, r.kernel->id).cases.push_back(test_of(r, nightly));
  add_sentences(suites, report.narrow, "declaration");
  add_sentences(suites, report.undecided, "decided");
  return junit_xml(suites);
}

}  // namespace flashproof
