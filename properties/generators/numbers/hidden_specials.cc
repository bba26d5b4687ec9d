// NaN and infinities where no row looks: k and v of keys that causality, a window, a length or a bias hides from every row,
// slots of unused pages, the room behind packed sequences, columns beyond a row's length, o of states without a weight.
// Some keys are hidden from some rows only: those must stay clean while the others see what is there. (special_values has
// what rows see.)
#include "properties/generators/features.h"

namespace flashproof::family::hidden_specials {
namespace {

constexpr double kSpecials[] = {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()};

double special_or_huge(Random& random, Format format) {
  const double special = pick(random, kSpecials);
  return random.chance(0.8) ? special : info(format).max_finite;
}

void poison(Tensor& tensor, std::int64_t offset, Random& random) {
  for (std::int64_t t = 0; t < tensor.shape[3]; ++t) {
    tensor.set_bits(offset + t * tensor.stride[3], encode(tensor.format, special_or_huge(random, tensor.format)));
  }
}

// Every element starts as NaN, and what belongs to no key still is: half of it becomes infinite.
void vary_unused(Tensor& tensor, Random& random) {
  for (std::int64_t a = 0; a < tensor.shape[0]; ++a) {
    for (std::int64_t h = 0; h < tensor.shape[1]; ++h) {
      for (std::int64_t j = 0; j < tensor.shape[2]; ++j) {
        if (std::isnan(tensor.at({a, h, j, 0})) && random.chance(0.5)) {
          poison(tensor, tensor.offset({a, h, j, 0}), random);
        }
      }
    }
  }
}

// Of one sequence and kv head, the rows of its query heads that see key j.
std::int64_t seen_by(const AttentionProblem& p, std::int64_t s, std::int64_t kv, std::int64_t j) {
  std::int64_t count = 0;
  for (std::int64_t h = 0; h < p.q_heads(); ++h) {
    for (std::int64_t i = 0; i < p.q_length(s) && p.kv_head(h) == kv; ++i) {
      count += p.position_visible(s, i, j) && !p.hidden_by_bias(s, h, i, j);
    }
  }
  return count;
}

/// Keys that no row sees, and of those that only some see a few, at least one where there is nothing else.
void poison_hidden(AttentionProblem& p, Random& random) {
  const double leak = random.chance(0.3) ? 0.1 : 0;
  bool none = true;
  for (const bool partly : {false, true}) {
    for (std::int64_t s = 0; s < p.sequences(); ++s) {
      for (std::int64_t h = 0; h < p.k_heads(); ++h) {
        const std::int64_t rows = p.q_length(s) * (p.q_heads() / p.k_heads());
        for (std::int64_t j = p.visible_length(s) - 1; j >= 0; --j) {
          const std::int64_t seen = seen_by(p, s, h, j);
          const bool wanted = partly ? seen > 0 && seen < rows && (none || random.chance(leak)) : seen == 0;
          if (!wanted) continue;
          poison(p.k, p.k_offset(s, h, j), random);
          poison(p.v, p.v_offset(s, h, j), random);
          none = false;
        }
      }
    }
  }
}

bool hides_by_position(const AttentionProblem& p) {
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t i = 0; i < p.q_length(s); ++i) {
      for (std::int64_t j = 0; j < p.k_length(s); ++j) {
        if (!p.position_visible(s, i, j)) return true;
      }
    }
  }
  return false;
}

void hide(Random& random, std::span<double> logits) {
  const std::int64_t hidden = random.integer(1, 3);
  for (std::int64_t n = 0; n < hidden && !logits.empty(); ++n) {
    logits[static_cast<std::size_t>(random.integer(0, std::ssize(logits) - 1))] = -kInfinity;
  }
}

void put_attention(Problem& problem, Random& random) {
  auto& p = std::get<AttentionProblem>(problem);
  if (random.chance(0.4)) put_window(p, random);
  const bool drawn = random.chance(0.5);
  const bool bias = !p.packed() && (drawn || !hides_by_position(p));
  put_queries(p, random, 1);
  put_keys(p, random, 1);
  put_values(problem, random);
  if (bias) {
    // The same keys for all rows, so that there are keys that none of them sees.
    std::vector<double> mask(static_cast<std::size_t>(p.k_length()));
    hide(random, mask);
    put_bias(p, random, [&](Random& r, const LogitSite&, std::span<double> logits) {
      for (std::size_t j = 0; j < logits.size(); ++j) logits[j] = mask[j] + r.normal();
    });
  }
  poison_hidden(p, random);
  vary_unused(p.k, random);
  vary_unused(p.v, random);
}

void put_softmax(Problem& problem, Random& random) {
  auto& p = std::get<SoftmaxProblem>(problem);
  const std::int64_t columns = p.x.shape[1];
  put_lengths(problem, [&](std::int64_t) { return random.integer(0, std::max<std::int64_t>(columns - 1, 0)); });
  put_logits(problem, random, [](Random& r, const LogitSite&, std::span<double> logits) {
    for (double& logit : logits) logit = 2 * r.normal();
    if (r.chance(0.5)) hide(r, logits);
  });
  for (std::int64_t r = 0; r < p.x.shape[0]; ++r) {
    for (std::int64_t j = row_length(p, r); j < columns; ++j) p.x.set({r, j}, special_or_huge(random, p.x.format));
  }
}

void put_merge(Problem& problem, Random& random) {
  put_logits(problem, random, [](Random& r, const LogitSite&, std::span<double> logits) {
    for (double& logit : logits) logit = 4 * r.normal();
    hide(r, logits);
  });
  put_values(problem, random);
  auto& p = std::get<MergeProblem>(problem);
  for (std::int64_t c = 0; c < p.o.shape[0]; ++c) {
    for (std::int64_t r = 0; r < p.o.shape[1]; ++r) {
      for (std::int64_t t = 0; t < p.o.shape[2] && p.lse.at({c, r}) == -kInfinity; ++t) {
        p.o.set({c, r, t}, special_or_huge(random, p.o.format));
      }
    }
  }
}

Case make(const CaseSpec& spec) {
  Random random = value_stream(spec);
  const bool paged = random.chance(0.3);
  const bool packed = random.chance(0.3);
  Problem problem = draw_shape(
      spec, {.causal_chance = 0.5, .ragged_chance = 0.4, .exact_scale = true, .packed = packed, .paged = paged});
  if (spec.problem == ProblemKind::softmax) put_softmax(problem, random);
  if (spec.problem == ProblemKind::merge) put_merge(problem, random);
  if (spec.problem == ProblemKind::attention) put_attention(problem, random);
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::hidden_infs, .at_least = 1, .share = 0.9}};

}  // namespace

Family hidden_specials() {
  return {"NaN and infinities in hidden keys, unused pages, beyond lengths, in empty states", kAll, make, kPromises};
}

}  // namespace flashproof::family::hidden_specials
