#include "properties/laws/support/plant.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "properties/laws/support/change.h"
#include "properties/laws/support/plant_places.h"
#include "reference/problem/special_values.h"

namespace flashproof {
std::string to_string(const Plant& plant) {
  std::string text = fmt::format("{} planted at {}[{}]", plant.value, plant.tensor, fmt::join(plant.index, ","));
  if (plant.count > 1) text += fmt::format(" and {} more", plant.count - 1);
  return text + (plant.among_minus_inf ? ", among -inf" : "");
}

Planted planted(const SoftmaxProblem& p, std::int64_t turn, Random& random) {
  Planted result(p, output_shape(p));
  Tensor& x = std::get<SoftmaxProblem>(result.problem).x;
  const std::int64_t cols = x.shape[1];
  for (std::int64_t r = 0; r < x.shape[0]; ++r) {
    const std::int64_t length = length_of(p, r);
    const auto plant = static_cast<int>((r + turn) % kPlants);
    if (length == 0 || plant == 0) continue;
    const std::int64_t at = one_of({0, length}, random);
    KeyRange range{at, at + 1};
    if (plant == 2) range = chunk_in({0, length}, p.plan, random);
    if (plant == 5) range = {0, length};
    if (plant == 3) {
      for (std::int64_t c = 0; c < length; ++c) x.set({r, c}, -kInfinity);
    }
    for (std::int64_t c = range.first; c < range.end; ++c) plant_at(x, x.offset({r, c}), plant == 4 ? kInfinity : kNan);
    result.set_row(r, Expect::nan);
    result.seen[static_cast<std::size_t>(r)] =
        result.note({"x", {r, range.first}, plant == 4 ? kInfinity : kNan, range.end - range.first, plant == 3});
    for (std::int64_t c = 0; c < cols; ++c) {
      if (c >= length || x.at({r, c}) == -kInfinity) result.o[static_cast<std::size_t>(r * cols + c)] = Expect::nothing;
    }
  }
  return result;
}

Planted planted(const MergeProblem& p, std::int64_t turn, Random& random, bool infinities,
                std::span<const std::uint8_t> in_domain) {
  const OutputShape shape = output_shape(p);
  Planted result(p, shape);
  auto& to = std::get<MergeProblem>(result.problem);
  const std::int64_t states = p.o.shape[0], dv = p.o.shape[2];
  const auto empty = [&](std::int64_t n, std::int64_t r) {
    const double lse = to.lse.at({n, r});
    return lse == -kInfinity || (to.has_l() && std::isfinite(lse) && to.l.at({n, r}) == 0);
  };
  for (std::int64_t r = 0; r < shape.rows; ++r) {
    const auto plant = static_cast<int>((r + turn) % kPlants);
    if (plant == 0) continue;
    const std::int64_t n = one_of({0, states}, random);
    std::int32_t& seen = result.seen[static_cast<std::size_t>(r)];
    if (plant == 4) {
      if (empty(n, r)) continue;
      const std::int64_t c = random.integer(0, dv - 1);
      plant_at(to.o, to.o.offset({n, r, c}), kNan);
      seen = result.note({"o", {n, r, c}, kNan});
      const std::int64_t column = p.form == MergeForm::concat ? n * dv + c : c;
      result.o[static_cast<std::size_t>(r * shape.width + column)] =
          in_domain[static_cast<std::size_t>(r)] != 0 ? Expect::nan : Expect::free;
      continue;
    }
    if (plant == 3) {
      for (std::int64_t other = 0; other < states; ++other) to.lse.set({other, r}, -kInfinity);
    }
    if (plant == 5 && p.has_l()) {
      if (p.lse.at({n, r}) == -kInfinity) continue;
      plant_at(to.l, to.l.offset({n, r}), kNan);
      seen = result.note({"l", {n, r}, kNan});
    } else if (plant == 5) {
      for (std::int64_t other = 0; other < states; ++other) plant_at(to.lse, to.lse.offset({other, r}), kNan);
      seen = result.note({"lse", {0, r}, kNan, states});
    } else {
      const double special = plant == 2 && infinities ? kInfinity : kNan;
      plant_at(to.lse, to.lse.offset({n, r}), special);
      seen = result.note({"lse", {n, r}, special, 1, plant == 3});
    }
    result.set_row(r, Expect::nan);
    for (std::int64_t i = 0; p.form == MergeForm::concat && i < shape.width; ++i) {
      if (empty(i / dv, r)) result.o[static_cast<std::size_t>(r * shape.width + i)] = Expect::nothing;
    }
  }
  return result;
}

}  // namespace flashproof
