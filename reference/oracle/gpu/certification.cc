#include "reference/oracle/gpu/certification.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "reference/oracle/environment_guard.h"
#include "reference/oracle/oracle.h"
#include "reference/problem/random.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr int kTimedRuns = 5;
constexpr std::int64_t kDoubleDoubleRows = 16;
constexpr std::int64_t kCpuDoubleDoubleRows = 8;

bool bounded(const Truth& truth, std::int64_t row) {
  for (std::int64_t c = 0; c < truth.width; ++c) {
    if (!std::isfinite(truth.o[row * truth.width + c].radius)) return false;
  }
  return std::isfinite(truth.lse[row].radius);
}

/// |a − b| over the sum of the radii; <= 1 if they overlap. The radii bound numbers, so a difference of classes is none.
double apart(const Ball& a, const Ball& b) {
  if (a.classes != b.classes) return INFINITY;
  if (a.classes != kFinite) return 0;
  const double difference = std::fabs((a.hi - b.hi) + (a.lo - b.lo));
  const double sum = a.radius + b.radius;
  return difference == 0 ? 0 : difference / sum;
}

double row_apart(const Truth& a, const Truth& b, std::int64_t row) {
  double worst = apart(a.lse[row], b.lse[row]);
  for (std::int64_t c = 0; c < a.width; ++c) {
    worst = std::max(worst, apart(a.o[row * a.width + c], b.o[row * a.width + c]));
  }
  return worst;
}

/// apart() rounds five times, each by a factor of at most 1 + 2^-53 (values that nearly overlap subtract exactly).
constexpr double kTouching = 1 + 0x1p-50;

/// Up to `count` rows with a radius, evenly spread, as places in the truth.
std::vector<std::int64_t> few_bounded(const Truth& truth, std::int64_t count) {
  std::vector<std::int64_t> all, few;
  for (std::int64_t n = 0; n < truth.rows; ++n) {
    if (bounded(truth, n)) all.push_back(n);
  }
  const auto size = static_cast<std::int64_t>(all.size());
  count = std::min(count, size);
  for (std::int64_t n = 0; n < count; ++n) few.push_back(all[n * size / count]);
  return few;
}

Truth part_of(const Truth& truth, std::span<const std::int64_t> places) {
  Truth part;
  part.rows = static_cast<std::int64_t>(places.size());
  part.width = truth.width;
  for (const std::int64_t place : places) {
    for (std::int64_t c = 0; c < truth.width; ++c) part.o.push_back(truth.o[place * truth.width + c]);
    part.lse.push_back(truth.lse[place]);
    part.tier.push_back(truth.tier[place]);
  }
  return part;
}

Truth double_double_rows(const Problem& problem, std::span<const std::int64_t> rows, std::int64_t width) {
  Truth truth = Truth::sized(static_cast<std::int64_t>(rows.size()), width);
  const auto tier = double_double_tier(problem);
  for (std::size_t n = 0; n < rows.size(); ++n) {
    truth.set_row(static_cast<std::int64_t>(n), tier->row(rows[n], Tier::dd, 0));
  }
  return truth;
}

/// Some rows of `truth`, which are `rows` of the problem, with the double-double tier.
Overlap double_double_overlap(const Problem& problem, const Truth& truth, std::span<const std::int64_t> rows,
                              std::int64_t count) {
  if (!has_double_double_tier(problem)) return {};
  const std::vector<std::int64_t> places = few_bounded(truth, count);
  std::vector<std::int64_t> few;
  few.reserve(places.size());
  for (const std::int64_t place : places) few.push_back(rows[place]);
  return overlap(part_of(truth, places), double_double_rows(problem, few, truth.width));
}

Truth fp64_rows(const Problem& problem, std::span<const std::int64_t> rows, const Threads& threads,
                std::vector<RowCause>& causes) {
  if (!has_fp64_tier()) throw InfrastructureError("this CPU has no AVX2 and FMA, which the fp64 tier needs");
  Truth truth;
  causes.assign(rows.size(), RowCause{});
  fp64_tier(problem, rows, threads, truth, causes);
  return truth;
}

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// 2^-12 ulp_f32(|o|) or 2^-36 Σ p|v|, whichever is larger.
bool within_c(const Ball& ball, double scale) {
  return narrow_enough(ball, Format::f32) || ball.radius <= 0x1p-36 * scale;
}

/// `scales` is the truth of the same rows with |v|: Σ p|v|.
GpuShare share_of(const Truth& truth, const Truth& scales, std::span<const RowCause> causes, Format format) {
  GpuShare share;
  share.rows = truth.rows;
  share.elements = truth.rows * truth.width;
  for (std::int64_t row = 0; row < truth.rows; ++row) {
    std::int64_t c = 0, strict = 0;
    for (std::int64_t n = row * truth.width; n < (row + 1) * truth.width; ++n) {
      c += within_c(truth.o[n], scales.o[n].hi - scales.o[n].radius);
      strict += narrow_enough(truth.o[n], format);
    }
    share.elements_c += c, share.elements_strict += strict;
    const auto count = [&](bool certified, std::int64_t& rows, GpuRest& rest) {
      if (certified)
        ++rows;
      else if (!bounded(truth, row))
        ++rest.not_bounded;
      else
        ++(causes[row].scores_dominate ? rest.scores : rest.sums);
    };
    count(c == truth.width && within_c(truth.lse[row], 1), share.rows_c, share.rest_c);
    count(strict == truth.width && narrow_enough(truth.lse[row], Format::f32), share.rows_strict, share.rest_strict);
  }
  return share;
}

/// In place: `tensor` is dense, and as large as memory allows.
void make_absolute(Tensor& tensor) {
  const std::uint64_t magnitude = sign_bit(tensor.format) - 1;
  for (std::int64_t n = 0; n < tensor.elements(); ++n) tensor.set_bits(n, tensor.bits(n) & magnitude);
}

}  // namespace

std::string Certification::fault() const {
  if (share.rest_c.not_bounded == share.rows) return "no row has a radius";
  if (dd.compared == 0) return "no row was compared with the double-double tier";
  if (planted && fp64.compared == 0) return "no row was compared with the fp64 tier of the CPU";
  if (dd.overlapping < dd.compared) return "balls do not overlap those of the double-double tier";
  if (fp64.overlapping < fp64.compared) return "balls do not overlap those of the fp64 tier of the CPU";
  if (planted && (planted_scores == 0 || planted_values == 0)) return "a planted error was not noticed";
  return {};
}

Overlap overlap(const Truth& a, const Truth& b) {
  Overlap result;
  for (std::int64_t row = 0; row < a.rows; ++row) {
    if (!bounded(a, row) || !bounded(b, row)) continue;
    ++result.compared;
    const double distance = row_apart(a, b, row);
    if (distance <= kTouching) ++result.overlapping;
    result.closest = std::max(result.closest, distance);
  }
  return result;
}

std::vector<std::int64_t> sample_rows(std::int64_t n, std::int64_t count, std::uint64_t seed) {
  std::set<std::int64_t> rows;  // Floyd's: `count` draws, every subset as likely
  Random random(seed, 0x73616d70);
  for (std::int64_t last = std::max<std::int64_t>(n - count, 0); last < n; ++last) {
    if (!rows.insert(random.integer(0, last)).second) rows.insert(last);
  }
  return {rows.begin(), rows.end()};
}

Certification certify_on_gpu(const Problem& problem, std::int64_t sample, std::uint64_t seed, const Threads& threads) {
  require_ieee_environment();
  validate(problem);
  GpuTier tier(std::get<AttentionProblem>(problem));
  Certification result;
  result.rows = output_shape(problem).rows;
  result.upload_milliseconds = tier.upload_milliseconds();
  tier.run();  // warm-up
  std::vector<GpuTimes> runs(kTimedRuns);
  for (GpuTimes& times : runs) times = tier.run();
  std::ranges::sort(runs, {}, &GpuTimes::total);
  result.times = runs[kTimedRuns / 2];
  result.milliseconds = result.times.total();
  result.teraflops = tier.flops() / result.milliseconds / 1e9;
  result.share = tier.share();

  const std::vector<std::int64_t> rows = sample_rows(result.rows, sample, seed);
  result.sampled = static_cast<std::int64_t>(rows.size());
  if (rows.empty()) return result;
  std::vector<RowCause> causes;
  const Truth device = tier.truth(rows);
  const Truth host = fp64_rows(problem, rows, threads, causes);
  result.fp64 = overlap(device, host);
  result.dd = double_double_overlap(problem, device, rows, kDoubleDoubleRows);
  result.planted = true;
  const auto noticed = [&](const GpuPlant& plant) {
    tier.run(plant);
    const Overlap with = overlap(tier.truth(rows), host);
    return with.compared - with.overlapping;
  };
  result.planted_scores = noticed({.scores = true});
  result.planted_values = noticed({.values = true});
  return result;
}

Certification certify_on_cpu(Problem problem, std::int64_t rows_per_head, std::uint64_t seed, const Threads& threads) {
  require_ieee_environment();
  validate(problem);
  auto& attention = std::get<AttentionProblem>(problem);
  Certification result;
  result.rows = output_shape(problem).rows;
  const std::int64_t length = attention.q_length(), heads = attention.batch() * attention.q_heads();
  std::vector<std::int64_t> rows;
  for (std::int64_t h = 0; h < heads; ++h) {
    for (const std::int64_t i : sample_rows(length, rows_per_head, seed + static_cast<std::uint64_t>(h))) {
      rows.push_back(h * length + i);
    }
  }
  std::vector<RowCause> causes, unused;
  const auto start = std::chrono::steady_clock::now();
  const Truth truth = fp64_rows(problem, rows, threads, causes);
  result.milliseconds = since(start);
  double pairs = 0;
  for (const std::int64_t row : rows) {
    const auto keys = attention.visible_keys(row / length / attention.q_heads(), row % length);
    pairs += static_cast<double>(std::max<std::int64_t>(keys.last - keys.first, 0));
  }
  const auto flops = 2 * pairs * static_cast<double>(attention.head_dim() + attention.value_dim());
  result.teraflops = flops / result.milliseconds / 1e9;
  result.dd = double_double_overlap(problem, truth, rows, kCpuDoubleDoubleRows);
  make_absolute(attention.v);
  const Truth scales = fp64_rows(problem, rows, threads, unused);
  result.share = share_of(truth, scales, causes, attention.q.format);
  return result;
}

}  // namespace flashproof
