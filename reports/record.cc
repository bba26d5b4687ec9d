#include "reports/record.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "properties/laws/law.h"

namespace flashproof {
namespace {

auto key(const Record& r) {
  return std::tuple<std::string_view, Math, Format, Executor, std::string_view>(r.kernel->id, r.kernel->math, r.format,
                                                                                r.executor, r.family);
}

/// Everything below inconclusive ranks alike: there the ratio decides.
int severity(VerdictKind kind) {
  if (kind == VerdictKind::fail) return 2;
  return kind == VerdictKind::inconclusive ? 1 : 0;
}

template <std::size_t n>
void add_counts(std::array<std::uint64_t, n>& to, const std::array<std::uint64_t, n>& from) {
  for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
}

}  // namespace

bool worse_case(const WorstCase& a, const WorstCase& b) {
  const int severity_a = severity(a.verdict.kind), severity_b = severity(b.verdict.kind);
  if (severity_a != severity_b) return severity_a > severity_b;
  if (worse_ratio(a.element.ratio, b.element.ratio)) return true;
  if (worse_ratio(b.element.ratio, a.element.ratio)) return false;
  return a.case_index < b.case_index;
}

void Record::add(const CaseResult& result) {
  Record one;
  one.cases = 1;
  one.by_case[static_cast<std::size_t>(result.verdict.kind)] = 1;
  if (result.failed()) one.failures_by_case[static_cast<std::size_t>(result.verdict.failure)] = 1;
  for (const Verdict& verdict : result.laws) {
    one.laws.emplace_back();
    one.laws.back()[static_cast<std::size_t>(verdict.kind)] = 1;
  }
  one.o = result.o;
  one.lse = result.lse;
  one.domain = result.domain;
  one.refined = result.refined;
  WorstCase worst{result.case_index, result.verdict, {}};
  if (!result.elements.empty()) worst.element = result.elements.front();
  if (result.verdict.kind != VerdictKind::unsupported) one.worst = std::move(worst);
  merge(one);
}

void Record::merge(const Record& other) {
  cases += other.cases;
  add_counts(by_case, other.by_case);
  add_counts(failures_by_case, other.failures_by_case);
  if (laws.size() < other.laws.size()) laws.resize(other.laws.size());
  for (std::size_t i = 0; i < other.laws.size(); ++i) add_counts(laws[i], other.laws[i]);
  o.merge(other.o);
  lse.merge(other.lse);
  domain.merge(other.domain);
  refined += other.refined;
  if (other.worst && (!worst || worse_case(*other.worst, *worst))) worst = other.worst;
}

VerdictKind Record::verdict() const { return combine(by_case, VerdictKind::unsupported); }

double Record::max_ratio() const {
  if (o.elements + lse.elements == 0) return -1;
  return worse(o.max_ratio, lse.max_ratio);
}

bool same_key(const Record& a, const Record& b) { return key(a) == key(b); }
bool key_less(const Record& a, const Record& b) { return key(a) < key(b); }

std::vector<Record> per_kernel(const std::vector<Record>& records) {
  std::vector<Record> rows;
  for (const Record& record : records) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const Record& r) {
      return r.kernel == record.kernel && r.format == record.format && r.executor == record.executor;
    });
    if (row == rows.end()) {
      rows.emplace_back();
      row = rows.end() - 1;
      row->kernel = record.kernel;
      row->format = record.format;
      row->executor = record.executor;
    }
    row->merge(record);
  }
  std::sort(rows.begin(), rows.end(), key_less);
  return rows;
}

}  // namespace flashproof
