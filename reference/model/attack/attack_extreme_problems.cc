// The problems of extreme(): an exponent of its own for whatever has a scale.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "reference/model/attack/attack_draws.h"
#include "reference/model/attack/attack_magnitudes.h"

namespace flashproof::attack {

namespace {

ChunkPlan any_plan(Random& random, std::int64_t n) {
  ChunkPlan made = ChunkPlan::uniform(n, random.integer(1, n));
  if (random.chance(0.3)) std::reverse(made.order.begin(), made.order.end());
  return made;
}

std::int64_t few(Random& random) { return random.chance(0.8) ? random.integer(1, 4) : random.integer(5, 24); }

/// What is added to a score: beside it, or of any size.
double term(Random& random) {
  return sign(random) *
         std::ldexp(significand(random), random.chance(0.5) ? target(random) : exponent(random, Format::f32));
}

void add_terms(Random& random, AttentionProblem& p) {
  const std::int64_t n = p.k.shape[2];
  if (random.chance(0.3)) {
    p.softcap =
        number(std::ldexp(significand(random), random.chance(0.5) ? target(random) : exponent(random, Format::f32)));
  }
  if (random.chance(0.2)) {
    p.bias = Tensor::dense(Format::f32, {1, 1, 1, n});
    const double shared = term(random);
    for (std::int64_t j = 0; j < n; ++j) put(p.bias, j, random.chance(0.5) ? shared : term(random));
  }
  if (random.chance(0.15)) {
    p.alibi = Tensor::dense(Format::f32, {1, 1});
    put(p.alibi, 0, term(random));
  }
  if (random.chance(0.2)) {
    p.sink = Tensor::dense(Format::f32, {1});
    put(p.sink, 0, term(random));
  }
}

Problem attention_of(Random& random) {
  constexpr Format kFormats[] = {Format::f32, Format::f16, Format::bf16, Format::e4m3fn, Format::e5m2};
  const auto format = [&] { return kFormats[random.integer(0, 4)]; };
  const Format of_q = format(), of_k = random.chance(0.6) ? of_q : format();
  const std::int64_t n = few(random), d = random.chance(0.6) ? 1 : random.integer(2, 4), dv = random.integer(1, 2);
  AttentionProblem p;
  p.q = Tensor::dense(of_q, {1, 1, 1, d});
  p.k = Tensor::dense(of_k, {1, 1, n, d});
  p.v = Tensor::dense(of_k, {1, 1, n, dv});
  const bool descaled = random.chance(0.3);
  const ScoreExponents e = score_exponents(random, of_q, of_k, descaled);
  p.scale = number((random.chance(0.95) ? 1 : -1) * std::ldexp(significand(random), e.scale));
  const auto factor = [&](int of) {
    Tensor made = Tensor::dense(Format::f32, {1, 1});
    put(made, 0, (random.chance(0.95) ? 1 : -1) * std::ldexp(significand(random), of));
    return made;
  };
  if (descaled) {
    if (e.q_descale != 0) p.q_descale = factor(e.q_descale);
    if (e.k_descale != 0) p.k_descale = factor(e.k_descale);
  }
  if (random.chance(0.15)) p.v_descale = factor(exponent(random, Format::f32));
  for (std::int64_t c = 0; c < d; ++c) {
    put(p.q, c,
        (c == 0 ? 1 : sign(random)) *
            std::ldexp(significand(random), c == 0 || random.chance(0.5) ? e.q : exponent(random, of_q)));
  }
  const bool one_sign = random.chance(0.7);  // else score and −score
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t c = 0; c < d; ++c) {
      const int away = random.chance(0.8) ? 0 : static_cast<int>(random.integer(-12, 0));
      const double size =
          std::ldexp(significand(random), c == 0 || random.chance(0.5) ? e.k + away : exponent(random, of_k));
      put(p.k, j * d + c, random.chance(0.05) ? 0 : (one_sign ? 1 : sign(random)) * size);
    }
  }
  Values value(random, of_k);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t c = 0; c < dv; ++c) put(p.v, j * dv + c, value(j));
  }
  if (random.chance(0.4)) add_terms(random, p);
  if (random.chance(0.1)) p.window_left = static_cast<std::int32_t>(random.integer(0, n));
  p.plan = any_plan(random, n);
  return p;
}

/// Numbers beside each other at any distance from 0: the sums are of differences.
std::vector<double> lse_like(Random& random, std::int64_t n) {
  const double offset =
      random.chance(0.5) ? 0 : sign(random) * std::ldexp(significand(random), exponent(random, Format::f32));
  const int size = target(random);
  std::vector<double> values;
  for (std::int64_t j = 0; j < n; ++j) {
    const double alone = sign(random) * std::ldexp(significand(random), random.chance(0.8) ? size : target(random));
    values.push_back(random.chance(0.2) ? offset : offset + alone);
  }
  return values;
}

Problem merge_of(Random& random) {
  constexpr Format kFormats[] = {Format::f32, Format::f16, Format::bf16};
  const std::int64_t n = few(random);
  MergeProblem p;
  p.o = Tensor::dense(kFormats[random.integer(0, 2)], {n, 1, 1});
  p.lse = Tensor::dense(Format::f32, {n, 1});
  p.form = random.chance(0.3) ? MergeForm::concat : MergeForm::sum;
  const bool sums = random.chance(0.25);
  if (sums) p.l = Tensor::dense(Format::f32, {n, 1});
  const std::vector<double> lse = lse_like(random, n);
  Values value(random, p.o.format);
  for (std::int64_t c = 0; c < n; ++c) {
    put(p.lse, c, lse[static_cast<std::size_t>(c)]);
    put(p.o, c, value(c));
    if (sums) put(p.l, c, std::ldexp(significand(random), exponent(random, Format::f32)));
  }
  p.order.resize(static_cast<std::size_t>(n));
  std::iota(p.order.begin(), p.order.end(), 0);
  return p;
}

Problem softmax_of(Random& random) {
  constexpr Format kFormats[] = {Format::f32, Format::f16, Format::bf16};
  const std::int64_t n = few(random);
  SoftmaxProblem p;
  p.x = Tensor::dense(kFormats[random.integer(0, 2)], {1, n});
  const std::vector<double> x = lse_like(random, n);
  for (std::int64_t j = 0; j < n; ++j) put(p.x, j, x[static_cast<std::size_t>(j)]);
  p.plan = any_plan(random, n);
  return p;
}

}  // namespace

Problem extreme_problem(Random& random, ProblemKind kind) {
  switch (kind) {
    case ProblemKind::attention:
      return attention_of(random);
    case ProblemKind::merge:
      return merge_of(random);
    case ProblemKind::softmax:
      return softmax_of(random);
    case ProblemKind::backward:
      break;
  }
  throw std::logic_error("a gradient where a forward problem is required");
}

}  // namespace flashproof::attack
