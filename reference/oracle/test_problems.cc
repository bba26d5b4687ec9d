#include "reference/oracle/test_problems.h"

#include <cmath>
#include <limits>
#include <utility>

namespace flashproof::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

ChunkPlan shuffled_plan(Random& random, std::int64_t length) {
  ChunkPlan plan = ChunkPlan::uniform(length, random.integer(1, 7));
  for (int i = plan.chunks() - 1; i > 0; --i) std::swap(plan.order[i], plan.order[random.integer(0, i)]);
  return plan;
}

/// log-uniform magnitude over [2^lo, 2^hi), random sign; exact powers of two times a uniform in [1, 2).
Draw log_uniform(Random& random, int lo, int hi) {
  return [&random, lo, hi] {
    const double x = std::ldexp(1.0 + random.uniform(), static_cast<int>(random.integer(lo, hi - 1)));
    return random.chance(0.5) ? -x : x;
  };
}

Draw normal(Random& random, double sigma = 1.0, double mean = 0.0) {
  return [&random, sigma, mean] { return mean + sigma * random.normal(); };
}

}  // namespace

Tensor filled(Format format, std::vector<std::int64_t> shape, const Draw& draw, bool padded) {
  Tensor tensor;
  if (padded) {
    std::vector<std::int64_t> stride(shape.size());
    std::int64_t step = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      stride[axis] = step;
      step = step * shape[axis] + 3;
    }
    tensor = Tensor::strided(format, shape, stride);
  } else {
    tensor = Tensor::dense(format, shape);
  }
  for (std::int64_t n = 0; n < product(shape); ++n) {
    std::int64_t rest = n;
    std::int64_t offset = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      offset += rest % shape[axis] * tensor.stride[axis];
      rest /= shape[axis];
    }
    tensor.set_bits(offset, encode(format, draw()));
  }
  return tensor;
}

SoftmaxProblem softmax(Format format, std::int64_t rows, std::int64_t cols, const Draw& draw) {
  SoftmaxProblem problem;
  problem.x = filled(format, {rows, cols}, draw);
  problem.plan = ChunkPlan::uniform(cols, 16);
  return problem;
}

MergeProblem merge(Format format, std::int64_t states, std::int64_t rows, std::int64_t width, const Draw& o,
                   const Draw& lse, MergeForm form) {
  MergeProblem problem;
  problem.o = filled(format, {states, rows, width}, o);
  problem.lse = filled(Format::f32, {states, rows}, lse);
  for (std::int32_t s = 0; s < states; ++s) problem.order.push_back(s);
  problem.form = form;
  return problem;
}

AttentionProblem attention(Format format, AttentionSize size, const Draw& q, const Draw& k, const Draw& v,
                           bool padded) {
  AttentionProblem problem;
  problem.q = filled(format, {size.batch, size.q_heads, size.sq, size.d}, q, padded);
  problem.k = filled(format, {size.batch, size.k_heads, size.sk, size.d}, k, padded);
  problem.v = filled(format, {size.batch, size.k_heads, size.sk, size.dv}, v, padded);
  problem.scale = 0.35F;
  problem.plan = ChunkPlan::uniform(size.sk, 5);
  return problem;
}

Problem random_problem(std::uint64_t seed) {
  Random random(seed, 77);
  const Format formats[] = {Format::f32, Format::f16, Format::bf16};
  const Format format = formats[random.integer(0, 2)];
  const bool padded = random.chance(0.5);
  const std::int64_t which = random.integer(0, 3);
  if (which == 0) {
    const std::int64_t rows = random.integer(1, 4);
    const std::int64_t cols = random.integer(1, 40);
    SoftmaxProblem problem;
    problem.x =
        filled(format, {rows, cols}, [&] { return random.chance(0.1) ? -kInfinity : 4.0 * random.normal(); }, padded);
    for (std::int64_t r = 0; r < rows; ++r) {
      problem.row_length.push_back(static_cast<std::int32_t>(random.integer(0, cols)));
    }
    problem.plan = shuffled_plan(random, cols);
    return problem;
  }
  if (which == 1) {
    MergeProblem problem = merge(
        format, random.integer(1, 5), random.integer(1, 4), random.integer(1, 6), normal(random),
        [&] { return random.chance(0.2) ? -kInfinity : 5.0 * random.normal(); },
        random.chance(0.5) ? MergeForm::sum : MergeForm::concat);
    return problem;
  }
  AttentionSize size;
  size.batch = random.integer(1, 2);
  size.k_heads = random.integer(1, 2);
  size.q_heads = size.k_heads * random.integer(1, 3);
  size.sq = random.integer(1, 6);
  size.sk = random.integer(1, 20);
  size.d = random.integer(1, 12);
  size.dv = random.integer(1, 6);
  AttentionProblem problem = attention(format, size, normal(random), normal(random), normal(random), padded);
  problem.causal = random.chance(0.5);
  if (random.chance(0.5)) {
    for (std::int64_t b = 0; b < size.batch; ++b) {
      problem.key_length.push_back(static_cast<std::int32_t>(random.integer(0, size.sk)));
    }
  }
  if (random.chance(0.5)) {
    problem.bias = filled(
        Format::f32, {size.batch, size.q_heads, size.sq, size.sk},
        [&] { return random.chance(0.2) ? -kInfinity : random.normal(); }, padded);
  }
  problem.plan = shuffled_plan(random, size.sk);
  return problem;
}

const std::vector<Kind>& hard_kinds() {
  constexpr Format f32 = Format::f32;
  static const std::vector<Kind> kinds = {
      {"softmax normal", [](Random& r) { return softmax(f32, 3, 40, normal(r)); }},
      {"softmax magnitudes 1e38", [](Random& r) { return softmax(f32, 3, 20, normal(r, 5e37)); }},
      {"softmax subnormal inputs", [](Random& r) { return softmax(f32, 3, 20, log_uniform(r, -149, -126)); }},
      {"softmax full range", [](Random& r) { return softmax(f32, 3, 30, log_uniform(r, -149, 127)); }},
      {"softmax rows at -1e6", [](Random& r) { return softmax(f32, 3, 20, normal(r, 40.0, -1e6)); }},
      {"softmax spread 1e6 (underflow)", [](Random& r) { return softmax(f32, 3, 20, normal(r, 1e6)); }},
      {"softmax ties at 1e30",
       [](Random& r) { return softmax(f32, 3, 20, [&r] { return r.chance(0.5) ? 1e30 : -r.uniform() * 1e30; }); }},
      {"softmax lse near 0",
       [](Random& r) { return softmax(f32, 3, 20, [&r] { return -std::log(20.0) + 1e-7 * r.normal(); }); }},
      {"softmax one survivor",
       [](Random& r) {
         SoftmaxProblem p = softmax(f32, 2, 20, [] { return -kInfinity; });
         p.x.set({0, r.integer(0, 19)}, r.normal());
         p.x.set({1, 19}, -1e38);
         return p;
       }},
      {"merge normal", [](Random& r) { return merge(f32, 4, 3, 4, normal(r), normal(r), MergeForm::sum); }},
      {"merge lse 1e38", [](Random& r) { return merge(f32, 4, 3, 4, normal(r), normal(r, 3e37), MergeForm::sum); }},
      {"merge tiny weights beside 1e30",
       [](Random& r) { return merge(f32, 4, 3, 4, normal(r, 1e30), normal(r, 60.0), MergeForm::concat); }},
      {"attention normal", [](Random& r) { return attention(f32, {}, normal(r), normal(r), normal(r)); }},
      {"attention bf16 at 2^60",
       [](Random& r) { return attention(Format::bf16, {}, normal(r, 0x1p60), normal(r, 0x1p60), normal(r)); }},
      {"attention magnitudes 1e38 (dots at 1e76)",
       [](Random& r) { return attention(f32, {}, normal(r, 5e37), normal(r, 5e37), normal(r, 5e37)); }},
      {"attention subnormal",
       [](Random& r) {
         const Draw tiny = log_uniform(r, -149, -126);
         return attention(f32, {}, tiny, tiny, tiny);
       }},
      {"attention full range",
       [](Random& r) {
         const Draw any = log_uniform(r, -149, 127);
         return attention(f32, {}, any, any, any);
       }},
      {"attention cancelling dots",
       [](Random& r) {  // q·k = a·b − a·b + small, with a·b at 2^40
         AttentionProblem p = attention(f32, {}, normal(r), normal(r), normal(r));
         for (std::int64_t j = 0; j < p.k_length(); ++j) {
           const double large = std::ldexp(r.normal(), 20);
           p.k.set({0, 0, j, 0}, large);
           p.k.set({0, 0, j, 1}, -large);
         }
         for (std::int64_t i = 0; i < p.q_length(); ++i) {
           const double large = std::ldexp(r.normal(), 20);
           p.q.set({0, 0, i, 0}, large);
           p.q.set({0, 0, i, 1}, large);
         }
         return p;
       }},
      {"attention V cancels to exact zeros",
       [](Random& r) {  // keys in pairs: equal k, opposite v; the pairs have different scores
         AttentionProblem p = attention(f32, {}, normal(r), normal(r), normal(r));
         for (std::int64_t j = 0; j + 1 < p.k_length(); j += 2) {
           for (std::int64_t c = 0; c < p.head_dim(); ++c) p.k.set({0, 0, j + 1, c}, p.k.at({0, 0, j, c}));
           for (std::int64_t c = 0; c < p.value_dim(); ++c) p.v.set({0, 0, j + 1, c}, -p.v.at({0, 0, j, c}));
         }
         return p;
       }},
      {"attention bias -1e6 and -inf",
       [](Random& r) {
         AttentionProblem p = attention(f32, {}, normal(r), normal(r), normal(r));
         p.bias = filled(f32, {1, 1, 4, 12}, [&r] { return r.chance(0.5) ? -kInfinity : -1e6 * r.uniform(); });
         return p;
       }},
      {"attention tiny weights beside 1e30",
       [](Random& r) {
         AttentionProblem p = attention(f32, {}, normal(r), normal(r), log_uniform(r, -20, 100));
         p.bias = filled(f32, {1, 1, 4, 12}, [&r] { return -100.0 * r.uniform(); });
         return p;
       }},
  };
  return kinds;
}

}  // namespace flashproof::test
