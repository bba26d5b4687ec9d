#include "properties/laws/plant.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/laws/change.h"

namespace flashproof {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Range {
  std::int64_t first, end;
};

/// The first, the last or any of them.
std::int64_t one_of(Range range, Random& random) {
  const std::int64_t last = range.end - 1;
  const std::int64_t which = random.integer(0, 2);
  return which == 0 ? range.first : which == 1 ? last : random.integer(range.first, last);
}

/// A chunk of the plan, as much as lies in the range; all of the range if nothing of it does.
Range chunk_in(Range range, const ChunkPlan& plan, Random& random) {
  const auto c = static_cast<std::size_t>(random.integer(0, std::max(plan.chunks() - 1, 0)));
  const Range chunk{std::max<std::int64_t>(range.first, plan.boundary[c]),
                    std::min<std::int64_t>(range.end, plan.boundary[c + 1])};
  return chunk.first < chunk.end ? chunk : range;
}

}  // namespace

Planted planted(const SoftmaxProblem& p, std::int64_t turn, Random& random) {
  Planted result(p, output_shape(p));
  Tensor& x = std::get<SoftmaxProblem>(result.problem).x;
  const std::int64_t cols = x.shape[1];
  for (std::int64_t r = 0; r < x.shape[0]; ++r) {
    const std::int64_t length = length_of(p, r);
    const auto plant = static_cast<int>((r + turn) % kPlants);
    if (length == 0 || plant == 0) continue;
    const std::int64_t at = one_of({0, length}, random);
    Range range{at, at + 1};
    if (plant == 2) range = chunk_in({0, length}, p.plan, random);
    if (plant == 5) range = {0, length};
    if (plant == 3) {
      for (std::int64_t c = 0; c < length; ++c) x.set({r, c}, -kInf);
    }
    for (std::int64_t c = range.first; c < range.end; ++c) x.set({r, c}, plant == 4 ? kInf : kNan);
    result.set_row(r, Expect::nan);
    for (std::int64_t c = 0; c < cols; ++c) {
      if (c >= length || x.at({r, c}) == -kInf) result.o[static_cast<std::size_t>(r * cols + c)] = Expect::nothing;
    }
  }
  return result;
}

Planted planted(const MergeProblem& p, std::int64_t turn, Random& random, std::span<const std::uint8_t> in_domain) {
  const OutputShape shape = output_shape(p);
  Planted result(p, shape);
  auto& to = std::get<MergeProblem>(result.problem);
  const std::int64_t states = p.o.shape[0], dv = p.o.shape[2];
  const auto empty = [&](std::int64_t n, std::int64_t r) {
    const double lse = to.lse.at({n, r});
    return lse == -kInf || (to.has_l() && std::isfinite(lse) && to.l.at({n, r}) == 0);
  };
  for (std::int64_t r = 0; r < shape.rows; ++r) {
    const auto plant = static_cast<int>((r + turn) % kPlants);
    if (plant == 0) continue;
    const std::int64_t n = one_of({0, states}, random);
    if (plant == 4) {
      if (empty(n, r)) continue;
      const std::int64_t c = random.integer(0, dv - 1);
      to.o.set({n, r, c}, kNan);
      const std::int64_t column = p.form == MergeForm::concat ? n * dv + c : c;
      result.o[static_cast<std::size_t>(r * shape.width + column)] =
          in_domain[static_cast<std::size_t>(r)] != 0 ? Expect::nan : Expect::free;
      continue;
    }
    if (plant == 3) {
      for (std::int64_t other = 0; other < states; ++other) to.lse.set({other, r}, -kInf);
    }
    if (plant == 5 && p.has_l()) {
      if (p.lse.at({n, r}) == -kInf) continue;
      to.l.set({n, r}, kNan);
    } else if (plant == 5) {
      for (std::int64_t other = 0; other < states; ++other) to.lse.set({other, r}, kNan);
    } else {
      to.lse.set({n, r}, plant == 2 ? kInf : kNan);
    }
    result.set_row(r, Expect::nan);
    for (std::int64_t i = 0; p.form == MergeForm::concat && i < shape.width; ++i) {
      if (empty(i / dv, r)) result.o[static_cast<std::size_t>(r * shape.width + i)] = Expect::nothing;
    }
  }
  return result;
}

namespace {

/// Where NaN was planted, and in what.
struct Places {
  std::vector<std::uint8_t> q;     // by row of the output: a row of it is a row of q
  std::vector<std::uint8_t> k;     // by key in dense k
  std::vector<std::int64_t> v;     // by key in dense v: the column; −1: none
  std::vector<std::uint8_t> bias;  // by row
};

class Planter {
 public:
  Planter(const AttentionProblem& given, Planted& result, Random& random)
      : from_(given), to_(std::get<AttentionProblem>(result.problem)), random_(random) {
    const auto keys = static_cast<std::size_t>(from_.k.elements() / from_.head_dim());
    places_ = {std::vector<std::uint8_t>(result.lse.size(), 0), std::vector<std::uint8_t>(keys, 0),
               std::vector<std::int64_t>(keys, -1), std::vector<std::uint8_t>(result.lse.size(), 0)};
  }

  /// Into sequence s and the query heads of one kv head.
  void plant(int which, std::int64_t s, std::int64_t kv) {
    const std::int64_t group = from_.q_heads() / from_.k_heads();
    if (from_.q_length(s) == 0) return;
    if (which >= 4 && !from_.has_bias()) which -= 4;
    // The keys of a drawn row: what is planted is seen, if the row sees anything.
    const std::int64_t row = random_.integer(0, from_.q_length(s) - 1);
    const auto seen = from_.visible_keys(s, row);
    if (seen.first >= seen.last) return;
    const std::int64_t key = one_of({seen.first, seen.last}, random_);
    if (which == 1) plant_k(s, kv, key);
    if (which == 2) {
      const Range chunk = chunk_in({seen.first, seen.last}, from_.plan, random_);
      for (std::int64_t j = chunk.first; j < chunk.end; ++j) plant_k(s, kv, j);
    }
    if (which == 3) {
      const std::int64_t column = random_.integer(0, from_.value_dim() - 1);
      to_.v.set_bits(from_.v_offset(s, kv, key) + column, encode(to_.v.format, kNan));
      places_.v[index(s, kv, key)] = column;
    }
    for (std::int64_t h = kv * group; h < (kv + 1) * group; ++h) {
      if (which == 0) {
        const std::int64_t c = random_.integer(0, from_.head_dim() - 1);
        to_.q.set_bits(from_.q_offset(s, h, row) + c, encode(to_.q.format, kNan));
        places_.q[static_cast<std::size_t>(from_.output_row(s, h, row))] = 1;
      }
      if (which >= 4) plant_bias(s, h, row, which == 5);
    }
  }

  void expect(Planted& result, bool isolates, std::span<const std::uint8_t> in_domain) const {
    const std::vector<std::uint8_t> ordinary = ordinary_rows(from_);
    for_each_query(to_, [&](std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t row) {
      const auto r = static_cast<std::size_t>(row);
      const std::int64_t kv = to_.kv_head(h), width = to_.value_dim();
      const auto seen = to_.visible_keys(s, i);
      bool sees_any = false, nan = places_.bias[r] != 0, hides_one = false;
      std::vector<std::int64_t> columns;
      for (std::int64_t j = 0; j < to_.visible_length(s); ++j) {
        const std::size_t at = index(s, kv, j);
        if (j < seen.first || j >= seen.last || to_.hidden_by_bias(s, h, i, j)) {
          hides_one = hides_one || places_.k[at] != 0 || places_.v[at] >= 0;
          continue;
        }
        sees_any = true;
        nan = nan || places_.k[at] != 0;
        if (places_.v[at] >= 0) columns.push_back(places_.v[at]);
      }
      nan = nan || (sees_any && places_.q[r] != 0);
      if (nan) {
        result.set_row(row, Expect::nan);
      } else if (hides_one && !isolates) {
        result.set_row(row, Expect::free);
      } else {
        // Beside numbers that are not ordinary the key's score may be −inf, and so it may in a row that is out of domain:
        // its value is not looked at then.
        for (const std::int64_t c : columns) {
          result.o[r * static_cast<std::size_t>(width) + static_cast<std::size_t>(c)] =
              ordinary[r] != 0 && in_domain[r] != 0 ? Expect::nan : Expect::free;
        }
      }
    });
  }

 private:
  std::size_t index(std::int64_t s, std::int64_t kv, std::int64_t j) const {
    return static_cast<std::size_t>(from_.k_offset(s, kv, j) / from_.head_dim());
  }

  void plant_k(std::int64_t s, std::int64_t kv, std::int64_t key) {
    const std::int64_t c = random_.integer(0, from_.head_dim() - 1);
    to_.k.set_bits(from_.k_offset(s, kv, key) + c, encode(to_.k.format, kNan));
    places_.k[index(s, kv, key)] = 1;
  }

  /// Rows that lie an even number from `row`.
  void plant_bias(std::int64_t s, std::int64_t h, std::int64_t row, bool infinite) {
    for (std::int64_t i = row % 2; i < from_.q_length(s); i += 2) {
      const auto seen = from_.visible_keys(s, i);
      if (seen.first >= seen.last) continue;
      const std::int64_t key = one_of({seen.first, seen.last}, random_);
      for (std::int64_t j = seen.first; !infinite && j < seen.last; ++j) to_.bias.set({s, h, i, j}, -kInf);
      to_.bias.set({s, h, i, key}, infinite ? kInf : kNan);
      places_.bias[static_cast<std::size_t>(from_.output_row(s, h, i))] = 1;
    }
  }

  const AttentionProblem& from_;
  AttentionProblem& to_;
  Random& random_;
  Places places_;
};

}  // namespace

Planted planted(const AttentionProblem& p, std::int64_t turn, Random& random, bool isolates,
                std::span<const std::uint8_t> in_domain) {
  Planted result(p, output_shape(p));
  Planter planter(p, result, random);
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t kv = 0; kv < p.k_heads(); ++kv) {
      planter.plant(static_cast<int>((s * p.k_heads() + kv + turn) % kPlants), s, kv);
    }
  }
  planter.expect(result, isolates, in_domain);
  return result;
}

}  // namespace flashproof
