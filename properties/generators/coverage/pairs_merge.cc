// Merges of levels.
#include <algorithm>
#include <string>

#include "properties/generators/build.h"
#include "properties/generators/coverage/pairs.h"
#include "properties/generators/joins.h"
#include "properties/generators/plan.h"

namespace flashproof::pairwise {
namespace {

using Number = std::int64_t;

constexpr Number kMostMergeElements = Number{1} << 17;

bool merge_fits(Numbers& n) {
  if (n[kMergeStates] == kUnset) n[kMergeStates] = std::max<Number>(least_of(n[kMergeOrder]), 2);
  const bool seen = n[kMergeLayout] != kTransposed || n[kMergeWidth] > 1 || n[kMergeRows] > 1;
  const Number least = std::max<Number>(least_of(n[kMergeOrder]), n[kMergeTree] == 1 ? 2 : 1);
  return seen && least <= n[kMergeStates] && n[kMergeStates] * n[kMergeRows] * n[kMergeWidth] <= kMostMergeElements;
}

bool many_rows_alone(const Levels& levels) {
  return levels[kMergeRows] == 3 && std::ranges::count(levels, kFree) == kMergeAxes - 1;
}

Numbers plain_merge() {
  Numbers plain(kMergeAxes, 0);
  plain[kMergeStates] = kUnset;
  plain[kMergeRows] = 2;
  plain[kMergeWidth] = 4;
  return plain;
}

Choice choose_merge(const Levels& levels, const Numbers& turns) {
  Choice choice = choose(dimensions(ProblemKind::merge), levels, plain_merge(), turns, merge_fits);
  // More rows than 16 bits count, of which a merge of any width would cost too much: a row of the array by itself.
  if (many_rows_alone(levels)) choice = {{2, 65537, 1, 0, 0, 0, kForward, 0, kDense}, true};
  return choice;
}

/// l beside m, and O = l times a value of size 1; what is no state stays poison.
void put_sums(MergeProblem& p, Random& random) {
  p.l = Tensor::strided(Format::f32, p.lse.shape, p.lse.stride);
  for (Number c = 0; c < p.l.shape[0]; ++c) {
    for (Number r = 0; r < p.l.shape[1]; ++r) {
      const double l = magnitude(random, -3, 3);
      if (p.lse.at({c, r}) == -kInfinity) continue;
      p.l.set({c, r}, l);
      for (Number t = 0; t < p.o.shape[2]; ++t) p.o.set({c, r, t}, l * random.normal());
    }
  }
}

Problem make_merge(const CaseSpec& spec, const Numbers& n, Random& random) {
  constexpr std::string_view kNames[] = {"dense", "padded", "transposed"};
  const Number states = integer_key(spec, "n").value_or(n[kMergeStates]);
  const Number rows = integer_key(spec, "rows").value_or(n[kMergeRows]);
  const Number dv = integer_key(spec, "dv").value_or(n[kMergeWidth]);
  require_product("dv", "n * rows * dv", {states, rows, dv});
  Problem problem = MergeProblem{};
  auto& p = std::get<MergeProblem>(problem);
  const std::string layout = text_key(spec, "layout").value_or(std::string(kNames[n[kMergeLayout]]));
  const Number pad = random.integer(1, 3);
  p.o = with_layout(layout, pad, *parse_format(text_key(spec, "format").value_or("f32")), {states, rows, dv});
  p.lse = with_layout(layout, pad, Format::f32, {states, rows});
  p.form = text_key(spec, "form").value_or(n[kMergeForm] == 1 ? "concat" : "sum") == "concat" ? MergeForm::concat
                                                                                              : MergeForm::sum;
  const bool chosen = spec.keys.contains("n") || spec.keys.contains("order");
  p.order = chosen ? draw_order(random, static_cast<int>(states), spec.seed, text_key(spec, "order"))
                   : order_of(random, static_cast<int>(states), n[kMergeOrder]);
  if (n[kMergeTree] == 1) {
    const int least = chosen ? 1 : 2;
    p.joins =
        draw_joins(random, std::max(static_cast<int>(states), least), static_cast<TreeShape>(random.integer(0, 2)));
  }
  const double empty = n[kMergeEmpty] == 1 ? 0.3 : 0;
  const Number hidden = random.integer(0, std::max<Number>(states * rows - 1, 0));  // one at least
  Number at = 0;
  put_logits(problem, random, [&](Random& r, const LogitSite&, std::span<double> logits) {
    for (double& logit : logits) {
      const double number = 3 * r.normal();
      const bool drawn = r.chance(empty);
      logit = empty > 0 && (drawn || at == hidden) ? -kInfinity : number;
      ++at;
    }
  });
  if (n[kMergeSums] == 1) {
    put_sums(p, random);
  } else {
    put_values(problem, random);
  }
  return problem;
}

}  // namespace

const Kind kMergeKind{plain_merge, merge_fits, choose_merge, make_merge};

}  // namespace flashproof::pairwise
