// Every chunk's own sum of exp(x) fits f32, the row's does not: each chunk has an lse in (88.72 - ln n, 88.72), 88.72 =
// ln FLT_MAX, n chunks. Forms that add exp(x), or exp(lse) of their chunks or states, return finite zeros: no term
// overflows, their sum does (F51). overflow_edge has rows whose chunks overflow by themselves.
#include "properties/generators/build.h"

namespace flashproof::family::sum_overflow {
namespace {

constexpr double kLogMax = 88.7228;

// One key of a chunk is on the grid of halves, exact in bf16, above 88.77 - ln n. The others lie ln k + 2 below it or
// more, k their number, and bf16 raises them by 1/4 at most: the chunk's lse exceeds its top by less than ln(1 + e^-1.75) =
// 0.16, and 88.5 + 0.16 < 88.72.
void row(Random& random, const LogitSite& site, std::span<double> logits) {
  const int chunks = site.plan.chunks();
  if (chunks == 0) return;
  const double lowest = kLogMax - natural_log(chunks) + 0.05;
  const auto steps = std::max<std::int64_t>(static_cast<std::int64_t>(2 * (88.5 - lowest)), 0);
  for (int visit = 0; visit < chunks; ++visit) {
    const KeyRange keys = visited_chunk(site.plan, visit);
    const double top = 88.5 - 0.5 * static_cast<double>(random.integer(0, steps));
    const std::int64_t place = random.integer(keys.begin, keys.end - 1);
    const double least = natural_log(static_cast<double>(keys.end - keys.begin)) + 2;
    for (std::int64_t j = keys.begin; j < keys.end; ++j) {
      const double below = least + random.uniform(0, 10);
      logits[static_cast<std::size_t>(j)] = j == place ? top : top - below;
    }
  }
}

Case make(const CaseSpec& spec) {
  return with_rows(spec, {.min_length = 2, .min_chunks = 2, .exact_scale = true}, row, {.noise = 0.0005});
}

constexpr Promise kPromises[] = {{.field = &Difficulty::log_sum, .at_least = 88.7228},
                                 {.field = &Difficulty::largest_logit, .at_most = 88.7228}};

}  // namespace

Family sum_overflow() {
  return {"the sums of exp(x) of the chunks, or exp(lse) of the states, fit f32; all of them do not", kAll, make,
          kPromises};
}

}  // namespace flashproof::family::sum_overflow
