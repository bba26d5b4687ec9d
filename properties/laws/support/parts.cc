#include "properties/laws/support/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/laws/support/change.h"
#include "reference/error/element.h"
#include "reference/problem/score_terms.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

/// Not by mapped(): that one rounds through a double, which may change the bits of a NaN.
Tensor dense_copy(const Tensor& tensor) { return gather(tensor, 0, iota(tensor.shape[0])); }

void zero_beyond_lengths(Tensor& tensor, const AttentionProblem& p) {
  tensor = dense_copy(tensor);
  for (std::int64_t b = 0; b < p.batch(); ++b) {
    for (std::int64_t h = 0; h < tensor.shape[1]; ++h) {
      for (std::int64_t j = p.visible_length(b); j < tensor.shape[2]; ++j) {
        for (std::int64_t c = 0; c < tensor.shape[3]; ++c) tensor.set({b, h, j, c}, 0);
      }
    }
  }
}

void fill_keys(Tensor& tensor, std::int64_t first, std::int64_t n, double value) {
  for (std::int64_t b = 0; b < tensor.shape[0]; ++b) {
    for (std::int64_t h = 0; h < tensor.shape[1]; ++h) {
      for (std::int64_t j = first; j < first + n; ++j) {
        for (std::int64_t c = 0; c < tensor.shape[3]; ++c) tensor.set({b, h, j, c}, value);
      }
    }
  }
}

}  // namespace

std::string without_positions(AttentionProblem& p, bool exact) {
  if (p.packed() || p.paged()) return "the sequences share storage";
  if (!p.positions_matter() && p.key_length.empty()) return {};
  Tensor bias = dense_bias(p);
  bool held = true;
  for_each_query(p, [&](std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t) {
    const auto keys = p.visible_keys(s, i);
    for (std::int64_t j = 0; j < p.k_length(); ++j) {
      if (j < keys.first || j >= keys.last) {
        bias.set({s, h, i, j}, -kInfinity);
      } else if (p.counts_distances() && class_of(bias.at({s, h, i, j})) == kFinite) {  // −inf hides, whatever is added
        double sum = bias.at({s, h, i, j});
        for_each_distance_term(p, s, h, p.distance(s, i, j), [&](double value, std::int64_t times) {
          const TwoSum more = two_sum(sum, value * static_cast<double>(times));
          held = held && more.tail == 0;
          sum = more.sum;
        });
        bias.set({s, h, i, j}, sum);
        held = held && bias.at({s, h, i, j}) == sum;
      }
    }
  });
  if (exact && !held) return "the bias cannot hold exactly what distances add";
  if (!p.key_length.empty()) {
    zero_beyond_lengths(p.k, p);
    zero_beyond_lengths(p.v, p);
  }
  p.bias = std::move(bias);
  p.causal = false;
  p.window_left = p.window_right = -1;
  without_distances(p);
  p.key_length.clear();
  return {};
}

void without_lengths(SoftmaxProblem& p) {
  if (p.row_length.empty()) return;
  p.x = dense_copy(p.x);
  for (std::int64_t r = 0; r < p.x.shape[0]; ++r) {
    for (std::int64_t c = p.row_length[static_cast<std::size_t>(r)]; c < p.x.shape[1]; ++c) {
      p.x.set({r, c}, -kInfinity);
    }
  }
  p.row_length.clear();
}

ChunkPlan widened(const ChunkPlan& plan, int at, std::int64_t width) {
  ChunkPlan result;
  const auto extra = static_cast<std::int32_t>(width);
  for (int c = 0; c <= at; ++c) result.boundary.push_back(plan.boundary[static_cast<std::size_t>(c)]);
  for (int c = at; c <= plan.chunks(); ++c) {
    result.boundary.push_back(plan.boundary[static_cast<std::size_t>(c)] + extra);
  }
  for (const std::int32_t chunk : plan.order) result.order.push_back(chunk + (chunk >= at ? 1 : 0));
  result.order.insert(result.order.begin() + at, at);
  return result;
}

ChunkPlan tail(const ChunkPlan& plan, std::int64_t from) {
  ChunkPlan result;
  result.boundary.push_back(0);
  std::int32_t gone = 0;  // chunks that lie before `from`
  for (const std::int32_t end : plan.boundary) {
    if (end > from) result.boundary.push_back(end - static_cast<std::int32_t>(from));
    gone += end <= from ? 1 : 0;
  }
  gone -= 1;  // boundary 0 is no chunk's end
  for (const std::int32_t chunk : plan.order) {
    if (chunk >= gone) result.order.push_back(chunk - gone);
  }
  return result;
}

std::int64_t insert_keys(AttentionProblem& p, int at, std::int64_t n, double k, double v) {
  const std::int64_t first = p.plan.boundary[static_cast<std::size_t>(at)];
  auto from = iota(p.k_length());
  from.insert(from.begin() + first, static_cast<std::size_t>(n), 0);
  p.bias = gather(dense_bias(p), 3, from);
  p.k = gather(p.k, 2, from);
  p.v = gather(p.v, 2, from);
  p.plan = widened(p.plan, at, n);
  fill_keys(p.k, first, n, k);
  fill_keys(p.v, first, n, v);
  for_each_query(p, [&](std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t) {
    for (std::int64_t j = first; j < first + n; ++j) p.bias.set({s, h, i, j}, -kInfinity);
  });
  return first;
}

void insert_state(MergeProblem& p, std::size_t place, const std::function<double(std::int64_t)>& lse, double o,
                  double l) {
  const std::int64_t n = p.o.shape[0], rows = p.o.shape[1];
  Tensor more = Tensor::dense(p.o.format, {1, rows, p.o.shape[2]});
  p.o = joined(p.o, mapped(more, [&](double) { return o; }), 0);
  more = Tensor::dense(Format::f32, {1, rows});
  if (p.has_l()) p.l = joined(p.l, mapped(more, [&](double) { return l; }), 0);
  for (std::int64_t r = 0; r < rows; ++r) more.set({0, r}, lse(r));
  p.lse = joined(p.lse, more, 0);
  p.order.insert(p.order.begin() + static_cast<std::ptrdiff_t>(place), static_cast<std::int32_t>(n));
  if (p.joins.empty()) return;
  const auto leaves = static_cast<std::int32_t>(n), at = static_cast<std::int32_t>(place);
  const std::int32_t neighbour = std::min(at, leaves - 1);  // by its old number
  // Of the n + 1 leaves those from `at` on moved by one; the join of the new one comes first and moves the inner nodes.
  const auto moved = [&](std::int32_t node) {
    if (node == neighbour) return leaves + 1;
    return node < leaves ? node + (node >= at ? 1 : 0) : node + 2;
  };
  std::vector<Join> joins;
  joins.push_back(at < leaves ? Join{at, at + 1} : Join{neighbour, at});
  for (const Join& join : p.joins) joins.push_back({moved(join.left), moved(join.right)});
  p.joins = std::move(joins);
}

Measured share(const Measured& x) {
  // Both ends of x rounded outward: an ulp of an exponent of 700 is 2^-43 of e^x.
  double lower = x.value - x.radius, upper = x.value + x.radius;
  const double most = lower > 0 ? 700.0 : 0.0;
  lower = std::min(lower - std::fabs(lower) * 0x1p-52, most);
  upper = std::min(upper + std::fabs(upper) * 0x1p-52, most);
  const double low = std::exp(lower), high = std::exp(upper);
  return {(low + high) / 2, (high - low) / 2 + high * kSlop + std::numeric_limits<double>::denorm_min()};
}

Expected expect(const Reading& reading, Part part, std::int64_t row, std::int64_t column) {
  return {.standing = reading.standing(part, row, column),
          .value = reading.at(part, row, column),
          .sharp = reading.sharp(part, row, column)};
}

Expected operator+(Expected a, const Measured& b) {
  if (a.standing == Standing::number) a.value = a.value + b;
  return a;
}

Expected operator*(Expected a, const Measured& b) {
  if (a.standing == Standing::special) a.standing = Standing::excused;  // how far beyond the range is not known
  if (a.standing == Standing::number) a.value = a.value * b;
  return a;
}

void compare(Comparison& tally, const Reading& computed, Part part, std::int64_t row, std::int64_t column,
             const Expected& expected, std::string_view relation) {
  compare(tally, computed, part, row, column, expected, [relation] { return std::string(relation); });
}

void compare(Comparison& tally, const Reading& computed, Part part, std::int64_t row, std::int64_t column,
             const Expected& expected, const std::function<std::string()>& relation) {
  const Standing standing = computed.standing(part, row, column);
  if (standing == Standing::excused || expected.standing == Standing::excused) return;
  const Measured is = computed.at(part, row, column);
  const Measured& should = expected.value;
  const auto what = [&] { return fmt::format("{}, {}", place_of(part, row, column), relation()); };
  if (standing == Standing::number && expected.standing == Standing::number) {
    tally.agree(is, should, std::min(computed.sharp(part, row, column), expected.sharp), what);
    return;
  }
  tally.agree_specials(is, should, computed.format(part), what);
}

Joint::Joint(const Expected& a, const Expected& b) {
  const auto empty = [](const Expected& e) { return e.standing == Standing::special && e.value.value == -kInfinity; };
  const auto usable = [&](const Expected& e) { return e.standing == Standing::number || empty(e); };
  if (!usable(a) || !usable(b)) {
    lse_.standing = Standing::excused;
  } else if (empty(a) || empty(b)) {
    lse_ = empty(a) ? b : a;
    a_ = empty(a) ? 0 : 1;
    b_ = empty(b) ? 0 : 1;
  } else {
    const double most = std::max(a.value.value, b.value.value);
    const double gap = std::fabs(a.value.value - b.value.value);
    const double larger = 1 / (1 + std::exp(-gap)), smaller = std::exp(-gap) * larger;
    a_ = a.value.value < b.value.value ? smaller : larger;
    b_ = a.value.value < b.value.value ? larger : smaller;
    shift_ = std::min(1.0, larger * smaller * std::expm1(a.value.radius + b.value.radius) + kSlop);
    lse_.value = exactly(most) + Measured{std::log1p(std::exp(-gap)), std::max(a.value.radius, b.value.radius) + kSlop};
  }
  lse_.sharp = kInfinity;
}

Expected Joint::o(const Expected& a, const Expected& b) const {
  Expected result;
  result.standing = Standing::excused;
  if (lse_.standing == Standing::excused) return result;
  if (lse_.standing == Standing::special) return expect(exactly(0));
  const bool both = a_ > 0 && b_ > 0;
  if (a_ > 0 && a.standing != Standing::number) return result;
  if (b_ > 0 && b.standing != Standing::number) return result;
  // Neither weight is 0 but by underflow or an empty state; then the other one is 1.
  if (!both && shift_ == 0) return a_ > 0 ? expect(a.value) : expect(b.value);
  if (a.standing != Standing::number || b.standing != Standing::number) return result;
  result.standing = Standing::number;
  result.value = Measured{a_, 0} * a.value + Measured{b_, 0} * b.value;
  result.value.radius +=
      shift_ * (std::fabs(a.value.value - b.value.value) + a.value.radius + b.value.radius) * (1 + kSlop);
  return result;
}

}  // namespace flashproof
