#include "reports/compare/views/document.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/system/text.h"
#include "reports/record/read_report.h"
#include "reports/views/terminal/text.h"

namespace flashproof::compare {
namespace {

TensorFigures figures_of(const ErrorStats& s) {
  return {.elements = s.elements,
          .finite_elements = s.finite_elements,
          .max_ratio = s.max_ratio,
          .max_ulp = s.max_ulp,
          .mean_abs = s.mean_abs(),
          .rmse = s.rmse(),
          .max_budget = s.max_budget,
          .bias = s.bias(),
          .bias_limit = s.bias_limit(),
          .bias_elements = s.bias_elements,
          .biased = s.biased(),
          .octaves = octaves_of(s)};
}

/// Those that pass are those of no other class.
void add_classes(const Record& record, RecordOf& r) {
  SeedSet others;
  const auto add = [&](CaseClass c, std::uint64_t cases, const SeedSet& seeds) {
    r.classes[static_cast<std::size_t>(c)] = cases;
    r.class_seeds[static_cast<std::size_t>(c)] = seeds;
    others.merge(seeds);
  };
  for (std::size_t i = 0; i < kVerdictKinds; ++i) {
    const auto kind = static_cast<VerdictKind>(i);
    if (kind != VerdictKind::fail && kind != VerdictKind::pass) {
      add(class_of(kind, Failure::none), record.by_case[i], record.seeds_by_kind[i]);
    }
  }
  for (std::size_t i = 1; i < kFailures; ++i) {
    add(class_of(VerdictKind::fail, static_cast<Failure>(i)), record.failures_by_case[i], record.seeds_by_failure[i]);
  }
  add(CaseClass::pass, record.count(VerdictKind::pass), record.seeds.without(others));
}

RecordOf record_of(const Record& record, const std::string& label) {
  RecordOf r;
  r.key = {label.empty() ? std::string(record.kernel->id) : label, std::string(info(record.format).name),
           std::string(name(record.executor)), std::string(name(record.kernel->math)), record.family};
  r.record = &record;
  if (record.worst) r.case_line = worst_case_line(record);
  r.replay = replay_command(record);
  add_classes(record, r);
  r.max_ratio = record.max_ratio();
  for (const Part part : parts(record.kernel->problem)) {
    r.figures[std::string(flashproof::name(part))] = figures_of(record[part]);
  }
  r.digest = measured_digest(record);
  return r;
}

}  // namespace

std::string Key::text() const { return fmt::format("{}/{}/{}/{}/{}", kernel, format, executor, math, family); }

std::string RecordOf::replay_of(std::uint64_t seed) const {
  // PROBLEM:FAMILY:SEED:...
  const std::size_t family = case_line.find(':');
  const std::size_t begin = family == std::string::npos ? family : case_line.find(':', family + 1);
  const std::size_t at = replay.find(case_line);
  if (begin == std::string::npos || at == std::string::npos) return replay;
  const std::size_t end = std::min(case_line.find(':', begin + 1), case_line.size());
  return std::string(replay).replace(at + begin + 1, end - begin - 1, std::to_string(seed));
}

std::string Document::partial() const {
  for (const Run& run : report.runs) {
    if (!run.partial.empty()) return one_line(run.partial);
  }
  return {};
}

std::string Document::label() const {
  std::string text;
  for (const Run& run : report.runs) {
    const Environment& e = run.environment;
    std::string revision = e.revision.substr(0, 12);
    if (e.revision.ends_with("-dirty")) revision += "-dirty";
    const std::string one = one_line(fmt::format("{} (seed {}, {}{})", revision, e.seed, e.tier,
                                                 e.gpu == "not used" || e.gpu == "none" ? "" : ", " + e.gpu));
    if (text.find(one) == std::string::npos) text += (text.empty() ? "" : " + ") + one;
  }
  return text;
}

Document document_of(Report report, const std::string& name, const std::string& label) {
  Document document;
  document.name = name;
  document.report = std::move(report);
  for (const Record& record : document.report.result.records) {
    RecordOf r = record_of(record, label);
    const Key key = r.key;
    document.records.emplace(key, std::move(r));
  }
  return document;
}

Document read_document(const std::string& file) { return document_of(read_report(file), printable(file, 200)); }

}  // namespace flashproof::compare
