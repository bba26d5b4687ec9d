#include "reports/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/problem/special_values.h"
#include "reference/system/error.h"
#include "reports/compare/fisher.h"

namespace flashproof::compare {
namespace {

int order_of(const TensorFigures& base, const TensorFigures& head) {
  if (base.octaves.elements() > 0 && head.octaves.elements() > 0) {
    for (const double q : {0.99, 0.9, 0.5}) {
      const int steps = octave_steps(base.octaves.quantile(q), head.octaves.quantile(q));
      if (steps != 0) return steps;
    }
  }
  if (const int by = order_of_errors(base.max_ulp, head.max_ulp); by != 0) return by;
  if (const int by = order_of_errors(base.rmse, head.rmse); by != 0) return by;
  return order_of_errors(std::fabs(base.bias), std::fabs(head.bias));
}

Direction direction(int sign) { return sign > 0 ? Direction::worse : sign < 0 ? Direction::better : Direction::same; }

/// Sums over families. RMSE and mean again from sums, in double: good to the digits that are shown.
void merge(Errors& to, const Errors& from) {
  to.max_ratio = order_of_errors(to.max_ratio, from.max_ratio) > 0 ? from.max_ratio : to.max_ratio;
  for (const auto& [tensor, f] : from.figures) {
    TensorFigures& t = to.figures[tensor];
    const auto n = static_cast<double>(t.finite_elements), m = static_cast<double>(f.finite_elements);
    if (m > 0) {
      t.mean_abs = (t.mean_abs * n + f.mean_abs * m) / (n + m);
      t.rmse = std::sqrt((t.rmse * t.rmse * n + f.rmse * f.rmse * m) / (n + m));
    }
    // The limit is a mean drift and what chance adds, a root of a sum of squares: roots add up to no less, so this one is
    // too wide rather than too narrow, and what it calls biased is.
    const auto have = static_cast<double>(t.bias_elements), more = static_cast<double>(f.bias_elements);
    if (more > 0) {
      t.bias = (t.bias * have + f.bias * more) / (have + more);
      t.bias_limit = (t.bias_limit * have + f.bias_limit * more) / (have + more);
    }
    t.bias_elements += f.bias_elements;
    t.biased = std::fabs(t.bias) > t.bias_limit;
    t.elements += f.elements;
    t.finite_elements += f.finite_elements;
    t.max_ratio = order_of_errors(t.max_ratio, f.max_ratio) > 0 ? f.max_ratio : t.max_ratio;
    t.max_ulp = order_of_errors(t.max_ulp, f.max_ulp) > 0 ? f.max_ulp : t.max_ulp;
    t.max_budget = order_of_errors(t.max_budget, f.max_budget) > 0 ? f.max_budget : t.max_budget;
    t.octaves.merge(f.octaves);
  }
}

RecordChange change_of(const RecordOf& base, const RecordOf& head) {
  RecordChange c;
  c.base = &base;
  c.head = &head;
  c.same_cases = base.record->seeds == head.record->seeds;
  c.differs = base.digest != head.digest;
  if (c.same_cases) {
    c.classes = class_change(base.class_seeds, head.class_seeds);
    c.differs = c.differs || c.classes.any();
    c.error = direction_of(errors_of(base), errors_of(head));
  } else {
    c.more_failures_p = fisher(failing(base.classes), base.record->cases, failing(head.classes), head.record->cases);
  }
  return c;
}

void add_kernels(Comparison& c) {
  for (const RecordChange& r : c.records) {
    Key key = r.key();
    key.family = "*";
    if (c.kernels.empty() || c.kernels.back().key != key) {
      c.kernels.emplace_back();
      c.kernels.back().key = key;
    }
    KernelChange& k = c.kernels.back();
    ++k.families;
    if (r.differs) ++k.changed;
    k.same_cases = k.same_cases && r.same_cases;
    if (r.classes.any()) {  // of its families' the most harmful, so that none hides another
      const bool worse = k.classes.worse || r.classes.worse, better = k.classes.better || r.classes.better;
      if (!k.classes.any() || harms_more(r.classes, k.classes)) k.classes = r.classes;
      k.classes.worse = worse;
      k.classes.better = better;
    }
    merge(k.base, errors_of(*r.base));
    merge(k.head, errors_of(*r.head));
  }
  for (KernelChange& k : c.kernels) {
    if (k.same_cases) k.error = direction_of(k.base, k.head);
  }
}

}  // namespace

int order_of_errors(double base, double head) {
  if (std::isnan(base) || std::isnan(head))
    return static_cast<int>(std::isnan(head)) - static_cast<int>(std::isnan(base));
  return head > base ? 1 : head < base ? -1 : 0;
}

Errors errors_of(const RecordOf& record) { return {record.max_ratio, record.figures}; }

Direction direction_of(const Errors& base, const Errors& head) {
  if (const int by = order_of_errors(base.max_ratio, head.max_ratio); by != 0) return direction(by);
  for (const auto& [tensor, figures] : base.figures) {
    const auto other = head.figures.find(tensor);
    if (other == head.figures.end()) continue;
    if (const int by = order_of(figures, other->second); by != 0) return direction(by);
  }
  return Direction::same;
}

double growth(const Errors& base, const Errors& head) {
  if (order_of_errors(base.max_ratio, head.max_ratio) == 0) return 1;
  if (std::isnan(head.max_ratio) || !(base.max_ratio > 0)) return kInfinity;
  if (std::isnan(base.max_ratio)) return 0;
  return std::isinf(base.max_ratio) ? 0 : head.max_ratio / base.max_ratio;
}

std::string RecordChange::replay() const {
  if (classes.worse && !classes.moves.empty()) return head->replay_of(classes.moves.front().first);
  return head->replay.empty() ? base->replay : head->replay;
}

std::size_t Comparison::changed() const {
  return static_cast<std::size_t>(std::ranges::count_if(records, [](const RecordChange& r) { return r.differs; }));
}

std::vector<const RecordChange*> Comparison::by_class() const { return by_harm(records); }

std::vector<const RecordChange*> Comparison::by_error() const {
  std::vector<const RecordChange*> list;
  for (const RecordChange& r : records) {
    if (r.same_cases && r.differs && !r.classes.any()) list.push_back(&r);
  }
  const auto rank = [](const RecordChange* r) {
    return std::pair(static_cast<int>(r->error), growth(errors_of(*r->base), errors_of(*r->head)));
  };
  std::ranges::stable_sort(list, [&](const auto* a, const auto* b) { return rank(a) > rank(b); });
  return list;
}

Comparison compare(const Document& base, const Document& head, bool take_partial) {
  Comparison c;
  c.base = &base;
  c.head = &head;
  for (const Document* d : {&base, &head}) {
    if (d->partial().empty()) continue;
    if (!take_partial) {
      throw UsageError(fmt::format("{}: the report is partial ({}); --partial compares the cases that both ran",
                                   d->name, d->partial()));
    }
    c.partial += fmt::format("{}{}: {}", c.partial.empty() ? "" : "; ", d == &base ? "BASE" : "HEAD", d->partial());
  }
  for (const auto& [key, record] : base.records) {
    const auto other = head.records.find(key);
    if (other == head.records.end()) {
      c.only_base.push_back(key);
    } else {
      c.records.push_back(change_of(record, other->second));
    }
  }
  for (const auto& [key, record] : head.records) {
    if (!base.records.contains(key)) c.only_head.push_back(key);
  }
  if (c.records.empty()) {
    throw UsageError(
        fmt::format("{} and {} have no kernel x format x executor x math x family in common", base.name, head.name));
  }
  for (const RecordChange& r : c.records) c.other_cases += r.same_cases ? 0 : 1;
  for (RecordChange& r : c.records) {
    r.more_failures_p = std::min(1.0, r.more_failures_p * static_cast<double>(std::max<std::size_t>(1, c.other_cases)));
  }
  add_kernels(c);
  return c;
}

}  // namespace flashproof::compare
