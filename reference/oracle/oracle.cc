#include "reference/oracle/oracle.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "reference/oracle/environment_guard.h"
#include "reference/oracle/memory.h"
#include "reference/oracle/test/climber.h"
#include "reference/oracle/threads.h"

namespace flashproof {
namespace {

/// Every row as the first tier sees it.
struct FirstTier {
  Path path;
  Truth truth;
  std::vector<RowCause> cause;

  FirstTier(const Problem& problem, const Threads& threads) : path(Path::of(problem)) {
    const OutputShape shape = output_shape(problem);
    cause.resize(static_cast<std::size_t>(shape.rows));
    std::vector<std::int64_t> rows(static_cast<std::size_t>(shape.rows));
    std::iota(rows.begin(), rows.end(), std::int64_t{0});
    if (path.fp64) {
      fp64_tier(problem, rows, threads, truth, cause);
    } else {
      compute_exact(problem, shape, threads);
    }
  }

  void compute_exact(const Problem& problem, OutputShape shape, const Threads& threads) {
    truth = Truth::sized(shape.rows, shape.width);
    truth.make_columns();
    std::vector<int> bits(static_cast<std::size_t>(shape.rows));
    Climbers climbers(problem);
    threads.for_each(shape.rows, [&](std::int64_t row) {
      auto climber = climbers.take();
      const RowBalls balls = climber->row(row, {Tier::exact, kFirstBits});
      truth.set_row(row, balls);
      bits[static_cast<std::size_t>(row)] = balls.bits;
      climbers.bring_back(std::move(climber));
    });
    for (const int b : bits) truth.max_bits = std::max(truth.max_bits, b);
  }
};

/// Elements of the row that are wider than asked for.
std::int64_t wide_elements(const Truth& truth, std::int64_t row, Format format) {
  std::int64_t wide = narrow_enough(truth.lse[static_cast<std::size_t>(row)], format) ? 0 : 1;
  for (std::int64_t i = row * truth.width; i < (row + 1) * truth.width; ++i) {
    if (!narrow_enough(truth.o[static_cast<std::size_t>(i)], format)) ++wide;
  }
  return wide;
}

std::int64_t wide_elements(const RowBalls& row, Format format) {
  return (narrow_enough(row.lse, format) ? 0 : 1) +
         std::ranges::count_if(row.o, [&](const Ball& ball) { return !narrow_enough(ball, format); });
}

Truth narrow(const Problem& problem, Format format, const Threads& threads) {
  FirstTier first(problem, threads);
  Truth& truth = first.truth;
  std::vector<std::int64_t> wide;
  for (std::int64_t row = 0; row < truth.rows; ++row) {
    if (wide_elements(truth, row, format) > 0) wide.push_back(row);
  }
  if (wide.empty()) return std::move(truth);

  truth.make_columns();
  struct End {
    int bits = 0;
    std::int64_t inconclusive = 0;
  };
  std::vector<End> ends(wide.size());
  Climbers climbers(problem);
  threads.for_each(static_cast<std::int64_t>(wide.size()), [&](std::int64_t i) {
    const std::int64_t row = wide[static_cast<std::size_t>(i)];
    End& end = ends[static_cast<std::size_t>(i)];
    auto climber = climbers.take();
    end.inconclusive = wide_elements(truth, row, format);
    std::optional<RowBalls> balls;
    for (int level = 1; end.inconclusive > 0; ++level) {
      const auto step = first.path.step(first.cause[static_cast<std::size_t>(row)], level);
      if (!step) break;
      balls = climber->row(row, *step);
      end.inconclusive = wide_elements(*balls, format);
    }
    if (balls) {
      truth.set_row(row, *balls);
      end.bits = balls->bits;
    }
    climbers.bring_back(std::move(climber));
  });
  for (const End& end : ends) {
    truth.max_bits = std::max(truth.max_bits, end.bits);
    truth.inconclusive += end.inconclusive;
  }
  return std::move(truth);
}

}  // namespace

struct Oracle::State {
  FirstTier first;
  Climber climber;
  std::map<std::pair<std::int64_t, int>, RowBalls> rows;  // by row and level
  std::int64_t kept = 0;                                  // bytes in `rows`
  std::int64_t climbed = 0;

  State(const Problem& problem, const OracleOptions& options)
      : first(problem, Threads(options.threads)), climber(problem) {}
};

Oracle::Oracle(const Problem& problem, OracleOptions options) {
  require_ieee_environment();
  validate(problem);  // refuses every format but f32, f16 and bf16, which is what the tiers are proved for
  require_memory(memory_of(problem, options.threads), options.memory_limit);
  state_ = std::make_unique<State>(problem, options);
}

Oracle::~Oracle() = default;

const Truth& Oracle::truth() const { return state_->first.truth; }

std::int64_t Oracle::climbed() const { return state_->climbed; }

const RowBalls* Oracle::row(std::int64_t row, int level) {
  State& s = *state_;
  const auto at = static_cast<std::size_t>(row);
  if (s.first.truth.tier[at] == Tier::symbolic) return nullptr;
  const auto step = s.first.path.step(s.first.cause[at], level);
  if (!step) return nullptr;
  const std::pair key(row, level);
  if (const auto found = s.rows.find(key); found != s.rows.end()) return &found->second;
  require_ieee_environment();  // others ran on this thread in between
  if (s.kept > kMostKept) {
    s.rows.clear();
    s.kept = 0;
  }
  ++s.climbed;
  const auto made = s.rows.emplace(key, s.climber.row(row, *step)).first;
  s.kept += kept_row_bytes(s.first.truth.width);
  return &made->second;
}

Truth narrow_truth(const Problem& problem, Format format, OracleOptions options) {
  require_ieee_environment();
  validate(problem);
  require_memory(memory_of(problem, options.threads), options.memory_limit);
  return narrow(problem, format, Threads(options.threads));
}

Truth compute_truth(const Problem& problem, OracleOptions options) {
  return narrow_truth(problem, Format::f32, options);
}

std::vector<Truth> compute_truths(std::span<const Problem> problems, Format format, OracleOptions options) {
  require_ieee_environment();
  const Threads threads(options.threads);
  // Whole problems as long as there is one for every thread; what is left gets all threads, one after the other.
  const auto count = static_cast<std::int64_t>(problems.size());
  const std::int64_t shared_out = count - count % threads.count();
  for (const Problem& problem : problems) validate(problem);
  require_memory(memory_of(problems, threads.count()), options.memory_limit);
  std::vector<Truth> truths(problems.size());
  const auto compute = [&](std::int64_t i, const Threads& row_threads) {
    truths[static_cast<std::size_t>(i)] = narrow(problems[static_cast<std::size_t>(i)], format, row_threads);
  };
  threads.for_each(shared_out, [&](std::int64_t i) { compute(i, Threads(1)); });
  for (std::int64_t i = shared_out; i < count; ++i) compute(i, threads);
  return truths;
}

}  // namespace flashproof
