#include "reference/model/attack/attack_problems.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "reference/oracle/test/test_problems.h"

namespace flashproof::attack {

namespace {

/// A number of the inputs' format in the tensor's.
void set(Tensor& tensor, std::int64_t at, Format inputs, double value) {
  const double limit = info(inputs).max_finite;
  tensor.set_bits(at, encode(tensor.format, round_to(inputs, std::clamp(value, -limit, limit))));
}
Format storage(Format inputs) { return inputs == Format::e4m3fn ? Format::f16 : inputs; }

ChunkPlan plan(Random& random, std::int64_t length) {
  if (length == 0) return {};
  if (random.chance(0.3)) return test::shuffled_plan(random, length);
  const std::int64_t sizes[] = {1, 2, 4, 8, 16, 32, 64, 128};
  return ChunkPlan::uniform(length, sizes[random.integer(0, 7)]);
}

/// Scores of n keys and the kind of their story.
std::vector<double> scores(Random& random, std::int64_t n) {
  const double spread = std::exp2(random.uniform(-12, 5));
  const double offset = random.chance(0.3) ? std::exp2(random.uniform(0, 17)) * (random.chance(0.5) ? 1 : -1) : 0;
  const double step = static_cast<double>(random.integer(1, 40));
  const std::int64_t story = random.integer(0, 6);
  const double edge = random.chance(0.5) ? random.uniform(80, 110) : random.uniform(5, 30);
  std::vector<double> s;
  for (std::int64_t j = 0; j < n; ++j) {
    const double t = static_cast<double>(j) / static_cast<double>(n);
    double x = 0;
    switch (story) {
      case 0:
        x = spread * random.normal();
        break;
      case 1:  // a slow ramp
        x = spread * t;
        break;
      case 2:  // a staircase
        x = std::floor(t * 8) * step * 0.25;
        break;
      case 3:  // two hot keys that nearly tie
        x = j == 0 || j == n / 2 ? random.uniform(0, 1e-3) : -spread - 5;
        break;
      case 4:  // at the edge of underflow below one maximum, which comes first or last
        x = j == (step > 20 ? 0 : n - 1) ? 0 : -edge + random.uniform(-3, 3);
        break;
      case 5:
        x = -spread * t;
        break;
      default:
        x = random.chance(0.1) ? 0 : -spread * random.uniform();
    }
    s.push_back(x + offset);
  }
  return s;
}

/// A way to draw values: one-signed, opposite, one-hot, spread, huge, subnormal.
std::function<double(std::int64_t)> values(Random& random, Format format) {
  const std::int64_t story = random.integer(0, 6);
  const double huge = std::exp2(random.uniform(0, std::log2(info(format).max_finite) - 12));
  return [&random, story, huge, format](std::int64_t j) {
    switch (story) {
      case 0:
        return random.normal();
      case 1:
        return random.uniform(1, 2);  // one sign
      case 2:
        return j % 2 == 0 ? 1.0 : -1.0;
      case 3:
        return j == 0 ? 1.0 : 0.0;
      case 4:
        return random.normal() * std::exp2(random.uniform(-20, 8));
      case 5:
        return j == 0 ? random.uniform() : huge * random.uniform(0.5, 1);  // huge beside an underflowing weight
      default:
        return min_subnormal(format) * static_cast<double>(random.integer(-9, 9));
    }
  };
}

SoftmaxProblem softmax_of(Random& random, Format inputs, bool hostile) {
  const std::int64_t rows = 2;
  const std::int64_t columns = random.integer(1, random.chance(0.8) ? 40 : 300);
  SoftmaxProblem p;
  p.x = Tensor::dense(storage(inputs), {rows, columns});
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::vector<double> s = hostile ? scores(random, columns) : std::vector<double>{};
    for (std::int64_t j = 0; j < columns; ++j) {
      set(p.x, r * columns + j, inputs, hostile ? s[static_cast<std::size_t>(j)] : 2 * random.normal());
    }
  }
  p.plan = plan(random, columns);
  return p;
}

std::vector<Join> random_tree(Random& random, std::int32_t states) {
  std::vector<std::int32_t> open(static_cast<std::size_t>(states));
  std::iota(open.begin(), open.end(), 0);
  const auto take = [&] {
    const auto at = random.integer(0, static_cast<std::int64_t>(open.size()) - 1);
    const std::int32_t node = open[static_cast<std::size_t>(at)];
    open.erase(open.begin() + at);
    return node;
  };
  std::vector<Join> joins;
  for (std::int32_t k = 0; k + 1 < states; ++k) {
    const std::int32_t left = take();
    joins.push_back({left, take()});
    open.push_back(states + k);
  }
  return joins;
}

MergeProblem merge_of(Random& random, Format inputs, bool hostile) {
  const std::int64_t n = random.integer(1, random.chance(0.8) ? 12 : 60);
  const std::int64_t rows = 2;
  const std::int64_t dv = random.integer(1, 3);
  MergeProblem p;
  p.o = Tensor::dense(storage(inputs), {n, rows, dv});
  p.lse = Tensor::dense(Format::f32, {n, rows});
  p.form = random.chance(0.3) ? MergeForm::concat : MergeForm::sum;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::vector<double> s = hostile ? scores(random, n) : std::vector<double>{};
    const auto value = values(random, inputs);
    for (std::int64_t c = 0; c < n; ++c) {
      p.lse.set({c, r}, hostile ? s[static_cast<std::size_t>(c)] : 2 * random.normal());
      for (std::int64_t i = 0; i < dv; ++i) {
        set(p.o, (c * rows + r) * dv + i, inputs, hostile ? value(c) : 1 + 0.5 * random.normal());
      }
    }
  }
  p.order.resize(static_cast<std::size_t>(n));
  std::iota(p.order.begin(), p.order.end(), 0);
  for (std::size_t c = p.order.size(); c-- > 1;) {
    std::swap(p.order[c], p.order[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(c)))]);
  }
  return p;
}

AttentionProblem attention_of(Random& random, Format inputs, bool hostile) {
  const Format stored = storage(inputs);
  const std::int64_t n = random.integer(1, random.chance(0.8) ? 48 : 260);
  const std::int64_t d = random.integer(1, random.chance(0.7) ? 8 : 40);
  const std::int64_t dv = random.integer(1, 3);
  AttentionProblem p;
  p.q = Tensor::dense(stored, {1, 1, 1, d});
  p.k = Tensor::dense(stored, {1, 1, n, d});
  p.v = Tensor::dense(stored, {1, 1, n, dv});
  p.scale = random.chance(0.5) ? 1.0F : static_cast<float>(std::exp2(random.uniform(-4, 1)));
  const std::vector<double> s = hostile ? scores(random, n) : std::vector<double>{};
  const double noise = hostile && random.chance(0.6) ? std::exp2(random.uniform(-8, 4)) : 0.3;
  const bool tiny = hostile && random.chance(0.1);  // subnormal keys beside large queries
  const double q0 = tiny ? info(inputs).max_finite / 16 : 1;
  for (std::int64_t c = 0; c < d; ++c) set(p.q, c, inputs, c == 0 ? q0 : noise * random.normal());
  const auto value = values(random, inputs);
  for (std::int64_t j = 0; j < n; ++j) {
    const double score = hostile ? s[static_cast<std::size_t>(j)] : 2 * random.normal();
    for (std::int64_t c = 0; c < d; ++c) {
      const double rest =
          tiny ? min_subnormal(inputs) * static_cast<double>(random.integer(-9, 9)) : noise * random.normal();
      set(p.k, j * d + c, inputs, c == 0 && !tiny ? score / p.scale : rest);
    }
    for (std::int64_t c = 0; c < dv; ++c) {
      set(p.v, j * dv + c, inputs, hostile ? value(j) : 1 + 0.5 * random.normal());
    }
  }
  p.plan = plan(random, n);
  return p;
}

/// Factors whose product is a rounding or two away from 1, or now and then anything; of v anything.
void add_descale(Random& random, AttentionProblem& p) {
  const std::vector<std::int64_t> shape = {p.sequences(), p.k_heads()};
  const int size =
      random.chance(0.2) ? static_cast<int>(random.integer(-120, 120)) : static_cast<int>(random.integer(-6, 6));
  const auto around = [&](int exponent) {
    return test::filled(Format::f32, shape, [&] { return std::ldexp(random.uniform(1, 2), exponent); });
  };
  if (random.chance(0.8)) p.q_descale = around(size);
  if (random.chance(0.8)) p.k_descale = around(-size - 1);
  const int of_v = random.chance(0.2) ? static_cast<int>(random.integer(-126, 100)) : 0;
  if (random.chance(0.7)) p.v_descale = around(of_v);
  if (random.chance(0.1)) test::add_descale(random, p);
}

/// One feature or a few on top of the one-row problem; window and causality hide keys of it.
void add_features(Random& random, AttentionProblem& p) {
  const std::int64_t n = p.k.shape[2];
  if (random.chance(0.1)) {
    const float caps[] = {0.5F, 5.0F, 30.0F, 1000.0F};
    p.softcap = caps[random.integer(0, 3)];
  }
  if (random.chance(0.15)) {
    p.bias = Tensor::dense(Format::f32, {1, 1, 1, n});
    const double size = std::exp2(random.uniform(-6, 10));
    for (std::int64_t j = 0; j < n; ++j) {
      p.bias.set({0, 0, 0, j}, random.chance(0.1) ? -HUGE_VAL : size * random.normal());
    }
  }
  if (random.chance(0.1)) {
    p.alibi = Tensor::dense(Format::f32, {1, 1});
    p.alibi.set({0, 0}, std::exp2(random.uniform(-8, 1)));
  }
  if (random.chance(0.15)) {
    p.sink = Tensor::dense(Format::f32, {1});
    p.sink.set({0}, random.chance(0.5) ? 4 * random.normal() : 100 * random.normal());
  }
  if (random.chance(0.2)) add_descale(random, p);
  if (random.chance(0.1)) test::narrow(p, random.chance(0.5) ? Format::e4m3fn : Format::e5m2);
  if (random.chance(0.1)) p.window_left = static_cast<std::int32_t>(random.integer(0, n));
  if (random.chance(0.05)) p.causal = true;
}

/// Several rows, heads and sequences, packed or paged, with any mixture of features.
AttentionProblem many_rows(Random& random, Format inputs) {
  const auto some = [&] { return random.chance(0.3); };
  test::Mix mix;
  for (bool* feature : {&mix.causal, &mix.lengths, &mix.bias, &mix.window, &mix.softcap, &mix.alibi, &mix.sink,
                        &mix.packed, &mix.paged}) {
    *feature = some();
  }
  AttentionProblem p = test::random_attention(random, storage(inputs), mix, some());
  if (random.chance(0.3)) add_descale(random, p);
  if (random.chance(0.3)) test::narrow(p, random.chance(0.5) ? Format::e4m3fn : Format::e5m2);
  return p;
}

Problem draw(Random& random, ProblemKind kind, Format inputs, bool hostile) {
  switch (kind) {
    case ProblemKind::softmax:
      return softmax_of(random, inputs, hostile);
    case ProblemKind::merge:
      return merge_of(random, inputs, hostile);
    case ProblemKind::attention:
      break;
    case ProblemKind::backward:
      throw std::logic_error("a gradient where a forward problem is required");
  }
  if (!hostile) return attention_of(random, inputs, false);
  if (random.chance(0.15)) return many_rows(random, inputs);
  AttentionProblem p = attention_of(random, inputs, true);
  if (random.chance(0.5)) add_features(random, p);
  return p;
}

}  // namespace

Problem mild(Random& random, ProblemKind kind, Format inputs) { return draw(random, kind, inputs, false); }

Problem hostile(Random& random, ProblemKind kind, Format inputs) {
  Problem problem = draw(random, kind, inputs, true);
  if (auto* merge = std::get_if<MergeProblem>(&problem); merge != nullptr && random.chance(0.3)) {
    if (random.chance(0.5)) {
      merge->joins = random_tree(random, static_cast<std::int32_t>(merge->o.shape[0]));
    } else {
      merge->l = Tensor::dense(Format::f32, merge->lse.shape);
      for (std::int64_t i = 0; i < merge->l.elements(); ++i) {
        merge->l.set_bits(i, encode(Format::f32, std::exp2(random.uniform(0, 10))));
      }
    }
  }
  return problem;
}

}  // namespace flashproof::attack
