#include "reports/record/record.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <tuple>

#include "properties/laws/law.h"
#include "reports/ledger/ledger.h"
#include "reports/views/terminal/text.h"

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
void merge_sets(std::array<SeedSet, n>& to, const std::array<SeedSet, n>& from) {
  for (std::size_t i = 0; i < n; ++i) to[i].merge(from[i]);
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
  return std::tie(a.seed, a.family) < std::tie(b.seed, b.family);
}

namespace {

/// The worst of a figure over some parts; those that a problem does not have are 0.
double worst_of_parts(const PartStats& stats, std::initializer_list<Part> parts, double ErrorStats::* figure) {
  double worst = 0;
  for (const Part part : parts) worst = worse(worst, stats[part].*figure);
  return worst;
}

double worst_ratio(const PartStats& stats) {
  return worst_of_parts(stats, {Part::o, Part::lse, Part::dq, Part::dk, Part::dv}, &ErrorStats::max_ratio);
}

}  // namespace

void Record::add(const CaseResult& outcome) {
  // The ulp of lse, near 0, say little.
  const double max_ulp = worst_of_parts(outcome, {Part::o, Part::dq, Part::dk, Part::dv}, &ErrorStats::max_ulp);
  ++cases;
  if (outcome.asked != Asked::no) ++asked;
  if (outcome.asked == Asked::refused) ++refused;
  seeds.add(outcome.seed);
  ++by_case[static_cast<std::size_t>(outcome.verdict.kind)];
  if (outcome.failed()) {
    ++failures_by_case[static_cast<std::size_t>(outcome.verdict.failure)];
    seeds_by_failure[static_cast<std::size_t>(outcome.verdict.failure)].add(outcome.seed);
  } else if (outcome.verdict.kind != VerdictKind::pass) {
    seeds_by_kind[static_cast<std::size_t>(outcome.verdict.kind)].add(outcome.seed);
  }
  for (std::size_t i = 0; i < outcome.laws.size(); ++i) {
    const Law& law = judging_laws()[i];
    ++laws[std::string(law.name)][static_cast<std::size_t>(outcome.laws[i].kind)];
  }
  domain.merge(outcome.domain);
  power.merge(outcome.power);
  PartStats::merge(outcome);
  refined += outcome.refined;
  if (outcome.sizes) profile.add(*outcome.sizes, worst_ratio(outcome), max_ulp);
  if (outcome.verdict.kind == VerdictKind::unsupported) return;
  WorstCase candidate{family, outcome.seed, outcome.verdict, {}, outcome.heat, {}};
  if (!outcome.elements.empty()) candidate.element = outcome.elements.front();
  if (!worst || worse_case(candidate, *worst)) worst = std::move(candidate);
}

void Record::merge(const Record& other) {
  PartStats::merge(other);
  refined += other.refined;
  cases += other.cases;
  asked += other.asked;
  refused += other.refused;
  seeds.merge(other.seeds);
  add_counts(by_case, other.by_case);
  add_counts(failures_by_case, other.failures_by_case);
  merge_sets(seeds_by_kind, other.seeds_by_kind);
  merge_sets(seeds_by_failure, other.seeds_by_failure);
  for (const auto& [law, counts] : other.laws) add_counts(laws[law], counts);
  domain.merge(other.domain);
  power.merge(other.power);
  profile.merge(other.profile);
  if (other.worst && (!worst || worse_case(*other.worst, *worst))) worst = other.worst;
  if (other.ledger && (!ledger || *other.ledger > *ledger)) ledger = other.ledger;
}

bool Record::beaten() const {
  const bool decided = verdict() != VerdictKind::fail && verdict() != VerdictKind::inconclusive;
  return ledger && decided && beats(max_ratio(), *ledger);
}

Rejection Record::rejection() const {
  Rejection most{"no judging law"};
  for (const auto& [law, counts] : laws) {
    const std::uint64_t rejected = counts[static_cast<std::size_t>(VerdictKind::fail)];
    if (rejected > most.cases) most = {law, rejected};
  }
  return most;
}

double Record::max_ratio() const {
  if (o.elements + lse.elements + dq.elements + dk.elements + dv.elements == 0) return -1;
  return worst_ratio(*this);
}

CaseSpec case_of(const Record& record, std::uint64_t seed) {
  return {record.kernel->problem, record.family, seed, {{"format", std::string(info(record.format).name)}}};
}

std::string worst_case_line(const Record& record) {
  if (!record.worst) return "-";
  CaseSpec spec = case_of(record, record.worst->seed);
  spec.family = record.worst->family;  // a row of several families has none of its own
  return one_line(to_string(spec));
}

ErrorStats Record::values() const {
  ErrorStats sum;
  for (const Part part : parts(kernel->problem)) {
    if (part != Part::lse) sum.merge((*this)[part]);
  }
  return sum;
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
  std::ranges::sort(rows, [](const Record& a, const Record& b) { return key_less(a, b); });
  return rows;
}

}  // namespace flashproof
