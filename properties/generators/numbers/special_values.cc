// NaN and infinities where reference/problem/README.md says what follows: in visible scores, in v of visible keys, and in elements
// that no row may read (beyond a length, hidden by a bias). One kind per row or batch, beside rows that must stay
// clean.
#include "reference/problem/special_values.h"
#include "properties/generators/build.h"

namespace flashproof::family::special_values {
namespace {

enum class Score : std::uint8_t { clean, nan, plus_inf, minus_inf, nan_among_minus_inf };
constexpr Score kScores[] = {Score::nan, Score::plus_inf, Score::minus_inf, Score::nan_among_minus_inf};

// Row 0 always has a special score; others one in two.
void special_row(Random& random, const LogitSite& site, std::span<double> logits) {
  const Score drawn = pick(random, kScores);
  const bool clean = random.chance(0.5) && site.row > 0;
  const Score kind = clean ? Score::clean : drawn;
  for (double& logit : logits) {
    const double value = 2 * random.normal();
    logit = kind == Score::nan_among_minus_inf ? -kInfinity : value;
  }
  if (logits.empty()) return;
  const std::int64_t count = random.integer(1, std::min<std::int64_t>(3, std::ssize(logits)));
  for (std::int64_t n = 0; n < count && kind != Score::clean; ++n) {
    const auto j = static_cast<std::size_t>(random.integer(0, std::ssize(logits) - 1));
    logits[j] = kind == Score::plus_inf ? kInfinity : kind == Score::minus_inf ? -kInfinity : kNan;
  }
}

void clean_row(Random& random, const LogitSite&, std::span<double> logits) {
  for (double& logit : logits) logit = 2 * random.normal();
}

constexpr double kSpecials[] = {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()};

// One key's row of a (b, h, key, component) tensor.
void poison_key(Tensor& tensor, std::int64_t b, std::int64_t h, std::int64_t j, double value) {
  for (std::int64_t t = 0; t < tensor.shape[3]; ++t) tensor.set({b, h, j, t}, value);
}

// Score specials that come from q and k: a NaN or an infinity in one component of q (one row) or k (every row).
void put_in_dots(AttentionProblem& problem, Random& random) {
  const double special = pick(random, kSpecials);
  const bool in_query = random.chance(0.3);
  Tensor& tensor = in_query ? problem.q : problem.k;
  const std::int64_t b = random.integer(0, problem.batch() - 1);
  const std::int64_t h = random.integer(0, tensor.shape[1] - 1);
  const std::int64_t t = random.integer(0, problem.head_dim() - 1);
  const std::int64_t extent = in_query ? problem.q_length() : problem.visible_length(b);
  if (extent > 0) tensor.set({b, h, random.integer(0, extent - 1), t}, special);
}

// v of a visible key, a few columns.
void put_in_values(AttentionProblem& problem, Random& random) {
  for (std::int64_t b = 0; b < problem.batch(); ++b) {
    const std::int64_t visible = problem.visible_length(b);
    if (visible == 0) continue;
    const std::int64_t key = random.integer(0, visible - 1);
    for (std::int64_t t = 0; t < problem.value_dim(); ++t) {
      const double special = pick(random, kSpecials);
      const bool here = random.chance(0.3) || t == 0;
      if (here) problem.v.set({b, 0, key, t}, special);
    }
  }
}

// A key that the bias hides from every row: its k and v are NaN or infinite, and must not show.
void put_in_hidden(AttentionProblem& problem, Random& random) {
  put_bias(problem, random, clean_row);
  for (std::int64_t b = 0; b < problem.batch(); ++b) {
    const std::int64_t visible = problem.visible_length(b);
    if (visible == 0) continue;
    const std::int64_t key = random.integer(0, visible - 1);
    for (std::int64_t h = 0; h < problem.q_heads(); ++h) {
      for (std::int64_t i = 0; i < problem.q_length(); ++i) problem.bias.set({b, h, i, key}, -kInfinity);
    }
    for (std::int64_t h = 0; h < problem.k_heads(); ++h) {
      const double in_k = pick(random, kSpecials);
      const double in_v = pick(random, kSpecials);
      poison_key(problem.k, b, h, key, in_k);
      poison_key(problem.v, b, h, key, in_v);
    }
  }
}

// Elements beyond the lengths are NaN already; infinities are as forbidden.
void put_beyond(AttentionProblem& problem, Random& random) {
  for (std::int64_t b = 0; b < problem.batch(); ++b) {
    for (std::int64_t h = 0; h < problem.k_heads(); ++h) {
      for (std::int64_t j = problem.visible_length(b); j < problem.k_length(); ++j) {
        const double in_k = pick(random, kSpecials);
        const double in_v = pick(random, kSpecials);
        poison_key(problem.k, b, h, j, in_k);
        poison_key(problem.v, b, h, j, in_v);
      }
    }
  }
}

void shorten(Problem& problem, Random& random) {
  const std::int64_t longest = length_of(problem);
  put_lengths(problem, [&](std::int64_t) { return random.integer(std::min<std::int64_t>(1, longest), longest); });
}

void fill_attention(Problem& problem, Random& random) {
  enum Kind { scores_bias, scores_dot, values, hidden, beyond };
  const auto kind = static_cast<Kind>(random.integer(0, 4));
  if (kind == beyond) shorten(problem, random);
  auto& attention = std::get<AttentionProblem>(problem);
  put_queries(attention, random, 1);
  put_keys(attention, random, 1);
  put_values(problem, random);
  if (kind == scores_bias) put_bias(attention, random, special_row);
  if (kind == scores_dot) put_in_dots(attention, random);
  if (kind == values) put_in_values(attention, random);
  if (kind == hidden) put_in_hidden(attention, random);
  if (kind == beyond) put_beyond(attention, random);
}

void fill_merge(Problem& problem, Random& random) {
  const bool special_lse = random.chance(0.6);
  put_logits(problem, random, special_lse ? special_row : clean_row);
  put_values(problem, random, [&](Random& r, std::int64_t, std::int64_t column) {
    const double special = pick(r, kSpecials);
    const double value = r.normal();
    const bool here = (!special_lse && column == 0) || r.chance(0.05);
    return here ? special : value;
  });
}

void fill_softmax(Problem& problem, Random& random) {
  const bool beyond = random.chance(0.3);
  if (beyond) shorten(problem, random);
  put_logits(problem, random, special_row);
  auto& softmax = std::get<SoftmaxProblem>(problem);
  for (std::int64_t r = 0; r < softmax.x.shape[0] && beyond; ++r) {
    for (std::int64_t j = row_length(softmax, r); j < softmax.x.shape[1]; ++j)
      softmax.x.set({r, j}, pick(random, kSpecials));
  }
}

// exact_scale keeps the scale away from 0, where 0 * inf is NaN for another reason than the one tested.
Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.min_length = 1, .causal_chance = 0.3, .exact_scale = true});
  Random random = value_stream(spec);
  if (spec.problem == ProblemKind::softmax) fill_softmax(problem, random);
  if (spec.problem == ProblemKind::merge) fill_merge(problem, random);
  if (spec.problem == ProblemKind::attention) fill_attention(problem, random);
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {
    {.field = &Difficulty::visible_nans, .at_least = 0.2, .share = 0.5, .only = ProblemKind::softmax},
    {.field = &Difficulty::visible_nans, .at_least = 0.2, .share = 0.8, .only = ProblemKind::merge},
    {.field = &Difficulty::visible_nans, .at_least = 0.05, .share = 0.4, .only = ProblemKind::attention},
    {.field = &Difficulty::visible_infs, .at_least = 0.2, .share = 0.2}};

}  // namespace

Family special_values() {
  return {"NaN and infinities in visible scores, in v, beyond lengths, behind a bias", kAll, make, kPromises};
}

}  // namespace flashproof::family::special_values
