// sum p v near 0 or exactly 0: pairs of keys with the same logit and opposite v, the pairs spread over the chunks. The
// answer is tiny beside sum p |v|, which is what the error is measured by; any key that is dropped, doubled or weighted
// wrongly stands out.
#include <vector>

#include "properties/generators/build.h"

namespace flashproof::family::cancelling_v {
namespace {

// partner[j], a random perfect matching; with an odd number of keys one is its own partner.
std::vector<std::size_t> matching(Random& random, std::size_t n) {
  std::vector<std::size_t> order(n), partner(n);
  for (std::size_t j = 0; j < n; ++j) order[j] = j;
  for (std::size_t j = n; j > 1; --j) {
    std::swap(order[j - 1], order[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(j) - 1))]);
  }
  for (std::size_t j = 0; j < n; ++j) partner[order[j]] = order[(j ^ 1) < n ? (j ^ 1) : j];
  return partner;
}

void copy_keys(AttentionProblem& problem, std::span<const std::size_t> partner) {
  for (std::int64_t b = 0; b < problem.batch(); ++b) {
    for (std::int64_t h = 0; h < problem.k_heads(); ++h) {
      for (std::int64_t j = 0; j < problem.k_length(); ++j) {
        const auto first = static_cast<std::int64_t>(partner[static_cast<std::size_t>(j)]);
        if (first >= j) continue;
        for (std::int64_t t = 0; t < problem.head_dim(); ++t)
          problem.k.set({b, h, j, t}, problem.k.at({b, h, first, t}));
      }
    }
  }
}

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.exact_scale = true});
  Random random = value_stream(spec);
  const std::vector<std::size_t> partner = matching(random, static_cast<std::size_t>(length_of(problem)));
  const double deviation = random.uniform(0.1, 6);
  const bool exact = random.chance(0.5);
  const double size = magnitude(random, -3, 10);

  const auto row = [&](Random& r, const LogitSite&, std::span<double> logits) {
    for (double& logit : logits) logit = deviation * r.normal();
    for (std::size_t j = 0; j < logits.size(); ++j) logits[j] = logits[std::min(j, partner[j])];
  };
  put_logits(problem, random, row, {.noise = 0.25});
  if (auto* attention = std::get_if<AttentionProblem>(&problem)) copy_keys(*attention, partner);

  // v of a pair: from the two keys' numbers and the column alone, so that each partner finds the other's value.
  const std::uint64_t seed = random.next_u64();
  put_values(problem, random, [&](Random& r, std::int64_t key, std::int64_t column) {
    const auto j = static_cast<std::size_t>(key);
    const std::size_t first = std::min(j, partner[j]);
    if (partner[j] == j) return 0.0;
    const double value =
        size *
        Random(seed, (static_cast<std::uint64_t>(first) << 20) + static_cast<std::uint64_t>(column)).uniform(0.5, 1);
    // 2^-7: at least one spacing of bf16.
    const double off = 1 + pow2(-7) * static_cast<double>(r.integer(-2, 2));
    if (j == first) return value;
    return exact ? -value : -value * off;
  });
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::cancellation, .at_least = 64, .share = 0.8}};

}  // namespace

Family cancelling_v() {
  return {"sum p v is exactly or nearly 0: pairs of equal logits with opposite v", kWithValues, make, kPromises};
}

}  // namespace flashproof::family::cancelling_v
