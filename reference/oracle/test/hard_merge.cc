// The un-normalised part of hard_kinds(): states (m, l, O).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/oracle/test/hard_parts.h"
#include "reference/problem/special_values.h"

namespace flashproof::test {
namespace {

constexpr double kLargest = 0x1.fffffep127;

/// 6 states x 3 rows x 4 columns: `l` draws |l|, the outputs O/l are normal, O is clipped to the range of f32.
MergeProblem states(Random& r, const Draw& m, const Draw& l) {
  MergeProblem p = merge(Format::f32, 6, 3, 4, [] { return 0.0; }, m, MergeForm::sum);
  p.l = filled(Format::f32, {6, 3}, [&] { return std::fabs(l()); });
  for (std::int64_t s = 0; s < 6; ++s) {
    for (std::int64_t row = 0; row < 3; ++row) {
      for (std::int64_t c = 0; c < 4; ++c) {
        p.o.set({s, row, c}, std::clamp(p.l.at({s, row}) * r.normal(), -kLargest, kLargest));
      }
    }
  }
  if (r.chance(0.5)) p.joins = random_joins(r, 6);
  return p;
}

MergeProblem in_blocks(MergeProblem p) {
  p.form = MergeForm::concat;
  return p;
}

/// The states of the largest m weigh least: m + ln l is about 0 for all of them.
MergeProblem balanced(Random& r, int lo, int hi) {
  MergeProblem p = states(r, normal(r), log_uniform(r, lo, hi));
  for (std::int64_t s = 0; s < 6; ++s) {
    for (std::int64_t row = 0; row < 3; ++row) p.lse.set({s, row}, r.normal() - std::log(p.l.at({s, row})));
  }
  return p;
}

/// States without a weight, and whatever they may hold.
MergeProblem with_empty_states(Random& r) {
  MergeProblem p = states(r, normal(r), log_uniform(r, 0, 5));
  const double junk[] = {kNan, kInfinity, -1.0, 3e38, 0.0};
  for (std::int64_t row = 0; row < 3; ++row) {
    for (std::int64_t s = row; s < 6; s += 2) {
      if (r.chance(0.5)) {
        p.lse.set({s, row}, -kInfinity);
        p.l.set({s, row}, junk[r.integer(0, 4)]);
      } else {
        p.l.set({s, row}, 0.0);
        p.lse.set({s, row}, 80.0 * r.normal());
      }
      for (std::int64_t c = 0; c < 4; ++c) p.o.set({s, row, c}, junk[r.integer(0, 4)]);
    }
  }
  return p;
}

}  // namespace

std::vector<Join> random_joins(Random& random, std::int64_t states) {
  std::vector<std::int32_t> open(static_cast<std::size_t>(states));  // the nodes that no join has used
  std::iota(open.begin(), open.end(), 0);
  std::vector<Join> joins;
  const auto take = [&] {
    std::swap(open[random.integer(0, static_cast<std::int64_t>(open.size()) - 1)], open.back());
    const std::int32_t node = open.back();
    open.pop_back();
    return node;
  };
  while (open.size() > 1) {
    const std::int32_t left = take(), right = take();
    open.push_back(static_cast<std::int32_t>(states + static_cast<std::int64_t>(joins.size())));
    joins.push_back({left, right});
  }
  return joins;
}

std::vector<Kind> hard_merge_kinds() {
  return {
      {"merge states", [](Random& r) { return states(r, normal(r), log_uniform(r, -1, 6)); }},
      {"merge states in blocks", [](Random& r) { return in_blocks(states(r, normal(r), log_uniform(r, -1, 6))); }},
      {"merge states, l of every exponent",
       [](Random& r) { return states(r, normal(r, 60.0), log_uniform(r, -149, 128)); }},
      {"merge states in blocks, l of every exponent",
       [](Random& r) { return in_blocks(states(r, normal(r, 60.0), log_uniform(r, -149, 128))); }},
      {"merge states, l subnormal", [](Random& r) { return states(r, normal(r, 3.0), log_uniform(r, -149, -126)); }},
      {"merge states, l near 3.4e38", [](Random& r) { return states(r, normal(r, 3.0), log_uniform(r, 126, 128)); }},
      {"merge states, m near 3e38, l of every exponent",
       [](Random& r) { return states(r, [&r] { return r.chance(0.5) ? 3e38 : 2.9e38; }, log_uniform(r, -149, 128)); }},
      {"merge states, m to 1e38", [](Random& r) { return states(r, normal(r, 3e37), log_uniform(r, -10, 10)); }},
      {"merge states, the largest m weighs least", [](Random& r) { return balanced(r, -149, 128); }},
      {"merge states in blocks, the largest m weighs least",
       [](Random& r) { return in_blocks(balanced(r, -149, 128)); }},
      {"merge states, some empty", [](Random& r) { return with_empty_states(r); }},
      {"merge states in blocks, some empty", [](Random& r) { return in_blocks(with_empty_states(r)); }},
      {"merge states cancel", [](Random& r) { return cancelling(states(r, normal(r), log_uniform(r, -3, 5))); }},
      {"merge states, lse near 0",
       [](Random& r) {
         MergeProblem p = balanced(r, -20, 20);  // Σ is about 1
         for (std::int64_t s = 0; s < 6; ++s) {
           for (std::int64_t row = 0; row < 3; ++row) {
             p.lse.set({s, row}, -std::log(6.0) - std::log(p.l.at({s, row})) + 1e-6 * r.normal());
           }
         }
         return p;
       }},
  };
}

}  // namespace flashproof::test
