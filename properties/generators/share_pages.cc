// Pages of a key cache that several sequences use, or one sequence several times.
#include <algorithm>

#include "properties/generators/shape.h"

namespace flashproof {

void share_pages(AttentionProblem& problem, Random& random) {
  const std::int64_t per_sequence = problem.pages_per_sequence(), size = problem.k.shape[2];
  const auto pages_of = [&](std::int64_t s) { return (problem.k_length(s) + size - 1) / size; };
  const auto entry = [&](std::int64_t s, std::int64_t page) -> std::int32_t& {
    return problem.page_table[static_cast<std::size_t>(s * per_sequence + page)];
  };
  for (std::int64_t s = 0; s < problem.sequences(); ++s) {
    std::int64_t common = 0;
    if (s > 0 && random.chance(0.5)) {
      const std::int64_t from = random.integer(0, s - 1), both = std::min(pages_of(from), pages_of(s));
      common = random.chance(0.5) ? both : random.integer(std::min<std::int64_t>(both, 1), both);
      for (std::int64_t page = 0; page < common; ++page) entry(s, page) = entry(from, page);
    }
    for (std::int64_t page = common; page < pages_of(s); ++page) {
      const std::int64_t other = random.integer(0, s), before = other < s ? pages_of(other) : page;
      if (before == 0 || random.chance(0.5)) continue;
      const std::int64_t there = random.integer(0, before - 1);
      // At another place than there, unless it has one page.
      entry(s, page) = entry(other, there == page ? (there + 1) % before : there);
    }
  }
}

}  // namespace flashproof
