#include "reference/oracle/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "reference/oracle/double_double/double_double_tier.h"
#include "reference/oracle/fp64/attention.h"
#include "reference/oracle/oracle.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr double kBall = 3 * sizeof(double) + 1;  // hi, lo, radius, class: lo and class appear when a row climbs
constexpr double kRow = sizeof(Tier) + 2 * sizeof(std::int64_t) + sizeof(RowCause) + 16;  // lists of rows, and of ends

constexpr double kMostLevels = 8;    // above the first tier: dd_scores, dd, exact at 128 .. 4096 bits
constexpr double kWorker = 4 << 20;  // of a thread, whatever it does: stacks and pages of allocators and libraries

struct Extent {
  std::string_view argument;
  std::int64_t value;
};

std::string largest(std::initializer_list<Extent> extents) {
  const Extent most = *std::max_element(extents.begin(), extents.end(),
                                        [](const Extent& a, const Extent& b) { return a.value < b.value; });
  return fmt::format("{} = {}", most.argument, most.value);
}

/// Which extents make the balls many, and which the tiers' scratch large.
struct Drivers {
  std::string balls, tiers, size;

  explicit Drivers(const SoftmaxProblem& p)
      : balls(largest({{"x axis 0", p.x.shape[0]}, {"x axis 1", p.x.shape[1]}})),
        tiers(largest({{"x axis 1", p.x.shape[1]}})),
        size(fmt::format("{} columns", p.x.shape[1])) {}
  explicit Drivers(const MergeProblem& p)
      : balls(largest({{"o axis 1", p.o.shape[1]}, {"o axis 2", p.o.shape[2]}})),
        tiers(largest({{"o axis 0", p.o.shape[0]}, {"o axis 2", p.o.shape[2]}})),
        size(fmt::format("{} states x {}", p.o.shape[0], p.o.shape[2])) {}
  explicit Drivers(const AttentionProblem& p)
      : balls(largest({{"q axis 0", p.q.shape[0]},
                       {"q axis 1", p.q.shape[1]},
                       {"q axis 2", p.q.shape[2]},
                       {"v axis 3", p.v.shape[3]}})),
        tiers(largest({{p.paged()    ? "page_table: keys"
                        : p.packed() ? "k_start: keys"
                                     : "k axis 2",
                        p.k_length()},
                       {"q axis 3", p.head_dim()},
                       {"v axis 3", p.value_dim()}})),
        size(fmt::format("{} keys x ({} + {})", p.k_length(), p.head_dim(), p.value_dim())) {}
};

/// Softmax and merge in fp64 keep a few doubles per column or state, and per element of a state, in every thread.
double fp64_bytes(const SoftmaxProblem& p, std::int64_t, int threads) {
  return 64.0 * threads * static_cast<double>(p.x.shape[1]);
}
double fp64_bytes(const MergeProblem& p, std::int64_t, int threads) {
  return 64.0 * threads * static_cast<double>(p.o.shape[0]) * static_cast<double>(p.o.shape[2] + 1);
}
double fp64_bytes(const AttentionProblem& p, std::int64_t rows, int threads) {
  return static_cast<double>(fp64_attention_memory(p, rows, threads));
}

std::string bytes_text(double bytes) {
  if (bytes < 0x1p20) return fmt::format("{:.1f} KiB", bytes * 0x1p-10);
  return bytes < 0x1p30 ? fmt::format("{:.1f} MiB", bytes * 0x1p-20) : fmt::format("{:.1f} GiB", bytes * 0x1p-30);
}

}  // namespace

Memory memory_of(const Problem& problem, int threads) {
  const OutputShape shape = output_shape(problem);
  const auto rows = static_cast<double>(shape.rows), width = static_cast<double>(shape.width);
  const Drivers drivers = visit_forward([](const auto& p) { return Drivers(p); }, problem);
  // No more threads start than there are rows. First the fp64 tier, then the slower ones: both kept by each worker.
  const auto workers = static_cast<int>(std::clamp<std::int64_t>(threads, 1, std::max<std::int64_t>(1, shape.rows)));
  const auto fp64_of = [&](std::int64_t n) {
    return visit_forward([&](const auto& p) { return fp64_bytes(p, n, workers); }, problem);
  };
  const double fp64 = fp64_of(shape.rows), fp64_rows = fp64 - fp64_of(0);
  double slow = static_cast<double>(exact_tier_bytes(problem));
  if (has_double_double_tier(problem)) slow += static_cast<double>(double_double_tier_bytes(problem));
  const auto kept_row = static_cast<double>(kept_row_bytes(shape.width));
  const double kept = std::min(static_cast<double>(kMostKept), kMostLevels * rows * kept_row) + kept_row;
  Memory memory;
  memory.balls = rows * ((width + 1) * kBall + kRow);
  memory.tiers = std::max(fp64, workers * slow + kept) + workers * kWorker;
  memory.balls_of = fmt::format("o and lse, {} rows x {}", shape.rows, shape.width);
  memory.tiers_of = fmt::format("{} in {} thread{}", drivers.size, workers, workers == 1 ? "" : "s");
  memory.balls_argument = drivers.balls;
  memory.tiers_argument = drivers.tiers;
  if (fp64_rows > memory.tiers / 2) {
    memory.tiers_of = fmt::format("what fp64 keeps of {} rows", shape.rows);
    memory.tiers_argument = drivers.balls;
  }
  return memory;
}

Memory memory_of(std::span<const Problem> problems, int threads) {
  Memory all;
  double most_balls = -1;
  for (const Problem& problem : problems) {
    // The threads share this problem, or each has one like it.
    const Memory shared = memory_of(problem, threads), own = memory_of(problem, 1);
    const double tiers = std::max(shared.tiers, threads * own.tiers);
    if (tiers >= all.tiers) {
      all.tiers = tiers;
      all.tiers_of = fmt::format("{} and others at a time", shared.tiers_of);
      all.tiers_argument = shared.tiers_argument;
    }
    if (shared.balls >= most_balls) {
      most_balls = shared.balls;
      all.balls_of = fmt::format("{} and those of the other problems", shared.balls_of);
      all.balls_argument = shared.balls_argument;
    }
    all.balls += shared.balls;
  }
  return all;
}

void require_memory(const Memory& memory, std::int64_t limit) {
  if (memory.total() <= static_cast<double>(limit)) return;
  throw UsageError(fmt::format("{}: the truth would need {} of memory ({} for {}; {} for {}), the limit is {}",
                               memory.balls >= memory.tiers ? memory.balls_argument : memory.tiers_argument,
                               bytes_text(memory.total()), bytes_text(memory.balls), memory.balls_of,
                               bytes_text(memory.tiers), memory.tiers_of, bytes_text(static_cast<double>(limit))));
}

std::int64_t memory_needed(const Problem& problem, const OracleOptions& options) {
  constexpr double kMost = 0x1p62;  // no machine
  return static_cast<std::int64_t>(std::min(memory_of(problem, options.threads).total(), kMost));
}

}  // namespace flashproof
