#include "reference/oracle/fp64/merge.h"

#include "reference/oracle/environment_guard.h"
#include "reference/oracle/fp64/state_sums.h"
#include "reference/oracle/fp64/symbolic_rows.h"
#include "reference/oracle/fp64/vector/highway_targets.h"
#include "reference/oracle/symbolic.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reference/oracle/fp64/merge.cc"
#include "hwy/foreach_target.h"
// foreach_target.h comes first.
#include "reference/oracle/fp64/vector/decode-inl.h"
#include "reference/oracle/fp64/vector/row_weights-inl.h"

#ifndef FLASHPROOF_ORACLE_FP64_MERGE_ONCE
#define FLASHPROOF_ORACLE_FP64_MERGE_ONCE
namespace flashproof::rows64 {

/// An element of the truth that is no number, because a value is none.
struct SpecialElement {
  std::int64_t at;
  std::uint8_t classes;
};

struct MergeJob {
  const MergeProblem& problem;
  std::span<const std::int64_t> rows;
  const MergeTerms& terms;
  Truth& truth;
  std::span<RowCause> cause;
  std::vector<char>& symbolic;  // rows left to symbolic_row()
};

/// One row on its way; reused from row to row.
struct MergeRow {
  std::int64_t p = 0, row = 0;           // in the truth, in the problem
  std::vector<double> score, w, rho, c;  // of all states; c_s multiplies |v_s| in the radius of a sum
  std::vector<double> l;                 // of un-normalised states
  std::vector<std::int64_t> visible;     // states with a finite score, the largest one first, the others in order
  RowSums sums;

  StateWeights states() { return {l, w, rho, visible}; }
  /// 1/(L − R_L). R_L is below 2^-42 L.
  double inverse() const { return 1 / (sums.total - sums.total_radius); }
};

inline constexpr std::int64_t kTile = 32;  // columns at a time
inline constexpr double kSumFloor =
    0x1p-1040;  // 2^31 underflows of 2^-1075 in N, and as many in its radius, over L >= 1

}  // namespace flashproof::rows64
#endif

HWY_BEFORE_NAMESPACE();
namespace flashproof::rows64::HWY_NAMESPACE {

using flashproof::HWY_NAMESPACE::decode_run;

/// The scores of un-normalised states: m, −inf where a state is empty.
HWY_INLINE void score_states(const MergeJob& job, MergeRow& row) {
  const Tensor& l = job.problem.l;
  row.l.resize(row.score.size());
  decode_run<Format::f32>(l, row.row * l.stride[1], l.stride[0], l.shape[0], row.l.data());
  for (std::size_t s = 0; s < row.score.size(); ++s) row.score[s] = state_score(row.score[s], row.l[s]);
}

/// lse of all states: weights, radii and which states count. False if the row is special.
HWY_INLINE bool weigh_states(const MergeJob& job, MergeRow& row) {
  const Tensor& lse = job.problem.lse;
  const std::int64_t n = lse.shape[0];
  row.score.resize(n);
  row.w.resize(n);
  row.rho.resize(n);
  row.sums = {};
  decode_run<Format::f32>(lse, row.row * lse.stride[1], lse.stride[0], n, row.score.data());
  if (job.problem.has_l()) score_states(job, row);
  scan_scores(row.score.data(), n, row.sums);
  job.symbolic[row.p] = row.sums.has_numbers() ? 0 : 1;
  if (job.symbolic[row.p] != 0) return false;
  weigh(row.score.data(), n, job.terms.weights, row.w.data(), row.rho.data(), row.sums);
  row.visible.clear();
  row.visible.push_back(std::find(row.score.begin(), row.score.end(), row.sums.m) - row.score.begin());
  for (std::int64_t s = 0; s < n; ++s) {
    const bool counts = row.score[s] > -std::numeric_limits<double>::infinity();
    if (counts && s != row.visible[0]) row.visible.push_back(s);
  }
  if (job.problem.has_l()) count_states(row.states(), job.terms, row.sums);
  return true;
}

/// `count` columns of state s from column `first`, the rest of the tile 0.
template <Format kFormat>
HWY_INLINE void load_tile(const MergeJob& job, const MergeRow& row, std::int64_t s, std::int64_t first,
                          std::int64_t count, double* tile) {
  const Tensor& o = job.problem.o;
  const std::int64_t offset = s * o.stride[0] + row.row * o.stride[1] + first * o.stride[2];
  decode_run<kFormat>(o, offset, o.stride[2], count, tile);
  std::fill(tile + count, tile + kTile, 0.0);
}

/// Writes a tile of results; where a radius is no number, a value was none, and `classes` says what may come out.
template <class Classes>
HWY_INLINE void store_tile(const MergeJob& job, std::int64_t at, std::int64_t count, const double* value,
                           const double* radius, const Classes& classes, std::vector<SpecialElement>& special) {
  std::copy(value, value + count, job.truth.o.hi() + at);
  std::copy(radius, radius + count, job.truth.o.radius() + at);
  for (std::int64_t c = 0; c < count; ++c) {
    if (!std::isfinite(radius[c])) special.push_back({at + c, classes(c)});
  }
}

/// value_c = Σ_s w_s v_sc and radius_c = Σ_s c_s |v_sc| of a tile, in groups of states.
template <Format kFormat>
HWY_INLINE void sum_tile(const MergeJob& job, const MergeRow& row, std::int64_t first, std::int64_t count,
                         double* value, double* radius) {
  const Lane d;
  constexpr std::int64_t kVectors = kTile / kLanes;
  const auto visible = static_cast<std::int64_t>(row.visible.size());
  HWY_ALIGN double tile[kTile];
  hn::Vec<Lane> sum[kVectors], bound[kVectors];
  std::fill(value, value + kTile, 0.0);
  std::fill(radius, radius + kTile, 0.0);
  std::int64_t i = 0;
  while (i < visible) {
    for (std::int64_t g = 0; g < kVectors; ++g) sum[g] = bound[g] = hn::Zero(d);
    const std::int64_t end = std::min(visible, i == 0 ? kMergeGroup + 1 : i + kMergeGroup);
    for (; i < end; ++i) {
      const std::int64_t s = row.visible[i];
      load_tile<kFormat>(job, row, s, first, count, tile);
      const auto w = hn::Set(d, row.w[s]);
      const auto c = hn::Set(d, row.c[s]);
      for (std::int64_t g = 0; g < kVectors; ++g) {
        const auto v = hn::Load(d, tile + g * kLanes);
        sum[g] = hn::MulAdd(w, v, sum[g]);
        bound[g] = hn::MulAdd(c, hn::Abs(v), bound[g]);
      }
    }
    for (std::int64_t g = 0; g < kVectors; ++g) {
      hn::Store(hn::Add(hn::Load(d, value + g * kLanes), sum[g]), d, value + g * kLanes);
      hn::Store(hn::Add(hn::Load(d, radius + g * kLanes), bound[g]), d, radius + g * kLanes);
    }
  }
}

/// o_c = Σ_s w_s v_sc / L.
template <Format kFormat>
HWY_INLINE void merge_sum(const MergeJob& job, MergeRow& row, std::vector<SpecialElement>& special) {
  const Lane d;
  constexpr std::int64_t kVectors = kTile / kLanes;
  const std::int64_t width = job.problem.o.shape[2];
  const auto visible = static_cast<std::int64_t>(row.visible.size());
  const auto roundings = static_cast<double>(value_roundings(visible, row.sums.weighted));
  const double gamma = roundings * kUnit / (1 - roundings * kUnit);
  row.c.resize(row.rho.size());
  for (const std::int64_t s : row.visible) row.c[s] = row.rho[s] + job.terms.value_sum * gamma * row.w[s];
  // The chains that add the c_s |v_sc| lose at most as many roundings as there are visible states in the longest.
  const double path = static_cast<double>(std::min(visible, kMergeGroup + 2 + visible / kMergeGroup));
  const auto inflated = hn::Set(d, row.inverse() * kSlack * (1 + 2 * path * kUnit));
  const auto total = hn::Set(d, row.sums.total);
  const auto total_radius = hn::Set(d, row.sums.total_radius);
  const auto quotient_term = hn::Set(d, job.terms.quotient);
  const auto floor = hn::Set(d, visible > 1 ? kSumFloor * std::max(1.0, row.inverse()) : 0.0);
  for (std::int64_t first = 0; first < width; first += kTile) {
    const std::int64_t count = std::min(kTile, width - first);
    HWY_ALIGN double value[kTile];
    HWY_ALIGN double radius[kTile];
    sum_tile<kFormat>(job, row, first, count, value, radius);
    for (std::int64_t g = 0; g < kVectors; ++g) {
      const auto numerator = hn::Load(d, value + g * kLanes);
      const auto quotient = hn::Div(numerator, total);
      const auto rest = hn::Mul(hn::Abs(hn::NegMulAdd(quotient, total, numerator)), quotient_term);
      const auto from_total = hn::MulAdd(hn::Abs(quotient), total_radius, rest);
      const auto all = hn::Add(hn::Load(d, radius + g * kLanes), from_total);
      hn::Store(quotient, d, value + g * kLanes);
      hn::Store(add_floor(hn::Mul(all, inflated), floor), d, radius + g * kLanes);
    }
    const auto classes = [&](std::int64_t c) {
      ValueFlags flags;
      for (const std::int64_t s : row.visible) flags.add(job.problem.o.at({s, row.row, first + c}));
      return flags.classes();
    };
    store_tile(job, row.p * width + first, count, value, radius, classes, special);
  }
}

/// o_sc = p_s v_sc.
template <Format kFormat>
HWY_INLINE void merge_concat(const MergeJob& job, MergeRow& row, std::vector<SpecialElement>& special) {
  const Lane d;
  const std::int64_t width = job.problem.o.shape[2];
  const std::int64_t n = job.problem.o.shape[0];
  if (job.problem.has_l()) {
    share_states(row.states(), row.sums, job.terms);
  } else {
    normalize(row.w.data(), row.rho.data(), n, row.sums, job.terms.weights);
  }
  const auto quotient_term = hn::Set(d, job.terms.quotient);
  const auto slack = hn::Set(d, kSlack);
  const auto floor = hn::Set(d, row.visible.size() > 1 ? kTiny : 0.0);
  double* const o = job.truth.o.hi() + row.p * n * width;
  double* const o_radius = job.truth.o.radius() + row.p * n * width;
  for (std::int64_t s = 0; s < n; ++s) {
    if (row.score[s] > -std::numeric_limits<double>::infinity()) continue;
    std::fill(o + s * width, o + (s + 1) * width, 0.0);
    std::fill(o_radius + s * width, o_radius + (s + 1) * width, 0.0);
  }
  for (const std::int64_t s : row.visible) {
    const auto share = hn::Set(d, row.w[s]);
    const auto share_radius = hn::Set(d, row.rho[s]);
    for (std::int64_t first = 0; first < width; first += kTile) {
      const std::int64_t count = std::min(kTile, width - first);
      HWY_ALIGN double tile[kTile];
      HWY_ALIGN double radius[kTile];
      load_tile<kFormat>(job, row, s, first, count, tile);
      for (std::int64_t g = 0; g < kTile; g += kLanes) {
        const auto v = hn::Load(d, tile + g);
        const auto product = hn::Mul(share, v);
        const auto rest = hn::Mul(hn::Abs(hn::NegMulAdd(share, v, product)), quotient_term);
        const auto all = hn::MulAdd(share_radius, hn::Abs(v), rest);
        hn::Store(product, d, tile + g);
        hn::Store(add_floor(hn::Mul(all, slack), floor), d, radius + g);
      }
      const auto classes = [&](std::int64_t c) {
        ValueFlags flags;
        flags.add(job.problem.o.at({s, row.row, first + c}));
        return flags.classes();
      };
      store_tile(job, (row.p * n + s) * width + first, count, tile, radius, classes, special);
    }
  }
}

template <Format kFormat>
HWY_INLINE void merge_rows_of(const MergeJob& job, std::int64_t begin, std::int64_t end,
                              std::vector<SpecialElement>& special) {
  MergeRow row;
  for (std::int64_t p = begin; p < end; ++p) {
    row.p = p;
    row.row = job.rows[p];
    if (!weigh_states(job, row)) continue;
    const Lse lse = row.sums.lse(job.terms.weights);
    job.truth.lse.hi()[p] = lse.value;
    job.truth.lse.radius()[p] = lse.radius;
    job.truth.tier[p] = Tier::fp64;
    job.cause[p] = row.sums.cause();
    if (job.problem.form == MergeForm::sum) {
      merge_sum<kFormat>(job, row, special);
    } else {
      merge_concat<kFormat>(job, row, special);
    }
  }
}

void merge_rows(const MergeJob& job, std::int64_t begin, std::int64_t end, std::vector<SpecialElement>& special) {
  switch (job.problem.o.format) {
    case Format::f32:
      return merge_rows_of<Format::f32>(job, begin, end, special);
    case Format::f16:
      return merge_rows_of<Format::f16>(job, begin, end, special);
    default:
      return merge_rows_of<Format::bf16>(job, begin, end, special);
  }
}

}  // namespace flashproof::rows64::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flashproof {
namespace rows64 {

HWY_EXPORT(merge_rows);

}  // namespace rows64

void fp64_merge(const MergeProblem& problem, std::span<const std::int64_t> rows, const Threads& threads, Truth& truth,
                std::span<RowCause> cause, const MergeTerms& terms) {
  using namespace rows64;
  constexpr std::int64_t kTask = 16384;  // elements read: tens of microseconds
  const auto count = static_cast<std::int64_t>(rows.size());
  const std::int64_t row_elements = problem.o.shape[0] * problem.o.shape[2];
  const std::int64_t rows_per_task = std::max<std::int64_t>(1, kTask / row_elements);
  const std::int64_t tasks = (count + rows_per_task - 1) / rows_per_task;
  std::vector<char> symbolic(rows.size());
  std::vector<std::vector<SpecialElement>> special(tasks);
  const MergeJob job{problem, rows, terms, truth, cause, symbolic};
  threads.for_each(tasks, [&](std::int64_t task) {
    const std::int64_t first = task * rows_per_task;
    HWY_DYNAMIC_DISPATCH(merge_rows)(job, first, std::min(count, first + rows_per_task), special[task]);
  });
  for (const std::vector<SpecialElement>& of_task : special) {
    for (const SpecialElement& element : of_task) truth.o.set(element.at, special_ball(element.classes));
  }
  set_symbolic_rows(problem, rows, symbolic, truth);
}

}  // namespace flashproof
#endif  // HWY_ONCE
