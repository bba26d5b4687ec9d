#include "reference/oracle/test/test_problems.h"

#include <cmath>
#include <utility>

#include "reference/problem/special_values.h"

namespace flashproof::test {
namespace {

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

}  // namespace

ChunkPlan shuffled_plan(Random& random, std::int64_t length) {
  ChunkPlan plan = ChunkPlan::uniform(length, random.integer(1, 7));
  for (int i = plan.chunks() - 1; i > 0; --i) std::swap(plan.order[i], plan.order[random.integer(0, i)]);
  return plan;
}

Draw log_uniform(Random& random, int lo, int hi) {
  return [&random, lo, hi] {
    const double x = std::ldexp(1.0 + random.uniform(), static_cast<int>(random.integer(lo, hi - 1)));
    return random.chance(0.5) ? -x : x;
  };
}

Draw normal(Random& random, double sigma, double mean) {
  return [&random, sigma, mean] { return mean + sigma * random.normal(); };
}

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

namespace {

/// The tensors, unpaged: a batch, or sequences of their own lengths behind one another.
AttentionProblem random_layout(Random& random, Format format, bool packed, bool padded) {
  AttentionSize size;
  size.k_heads = random.integer(1, 2);
  size.q_heads = size.k_heads * random.integer(1, 3);
  size.d = random.integer(1, 12);
  size.dv = random.integer(1, 6);
  size.batch = packed ? 1 : random.integer(1, 2);
  size.sq = random.integer(1, 6);
  size.sk = random.integer(1, 20);
  std::vector<std::int32_t> q_start, k_start;
  if (packed) {
    q_start = k_start = {0};
    for (std::int64_t s = random.integer(1, 4); s > 0; --s) {  // one in five has no queries, one in nine no keys
      q_start.push_back(q_start.back() + static_cast<std::int32_t>(random.integer(0, 4)));
      k_start.push_back(k_start.back() + static_cast<std::int32_t>(random.integer(0, 8)));
    }
    size.sq = q_start.back();
    size.sk = k_start.back() + random.integer(0, 3);
  }
  const Draw draw = normal(random);
  AttentionProblem problem = attention(format, size, draw, draw, draw, padded);
  problem.q_start = std::move(q_start);
  problem.k_start = std::move(k_start);
  return problem;
}

/// The first page of another sequence for all: a prefix they share.
void share_first_page(AttentionProblem& p) {
  const std::int64_t n = p.pages_per_sequence();
  std::int64_t longest = 0;
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    if (p.visible_length(s) > p.visible_length(longest)) longest = s;
  }
  for (std::int64_t s = 0; s < p.sequences(); ++s) p.page_table[s * n] = p.page_table[longest * n];
}

std::int32_t small(Random& random, int most) { return static_cast<std::int32_t>(random.integer(0, most)); }

}  // namespace

AttentionProblem random_attention(Random& random, Format format, const Mix& mix, bool padded) {
  AttentionProblem p = random_layout(random, format, mix.packed, padded);
  if (mix.paged) p = in_pages(p, random.integer(1, 5), random);
  p.causal = mix.causal;
  if (mix.lengths) {
    std::vector<std::int32_t> lengths(p.sequences(), 0);
    for (std::int64_t s = 0; s < p.sequences(); ++s) {
      if (!random.chance(0.2)) lengths[s] = small(random, static_cast<int>(p.visible_length(s)));
    }
    p.key_length = std::move(lengths);
  }
  if (mix.paged && random.chance(0.3)) share_first_page(p);
  if (mix.bias && !mix.packed) {
    p.bias = filled(
        Format::f32, {p.batch(), p.q_heads(), p.q_length(), p.k_length()},
        [&] { return random.chance(0.2) ? -kInfinity : random.normal(); }, padded);
  }
  if (mix.window) {
    const std::int64_t sides = random.integer(1, 3);
    if ((sides & 1) != 0) p.window_left = small(random, 6);
    if ((sides & 2) != 0) p.window_right = small(random, 4);
  }
  if (mix.softcap) p.softcap = static_cast<float>(std::ldexp(1.0 + random.uniform(), small(random, 7) - 2));
  if (mix.alibi) {
    p.alibi = filled(
        Format::f32, {p.sequences(), p.q_heads()},
        [&] { return random.chance(0.2) ? 0.0 : std::ldexp(random.chance(0.2) ? -1.0 : 1.0, -small(random, 8)); },
        padded);
  }
  if (mix.sink) {
    p.sink = filled(
        Format::f32, {p.q_heads()}, [&] { return random.chance(0.25) ? -kInfinity : 2.0 * random.normal(); }, padded);
  }
  poison_unused(p);
  p.plan = shuffled_plan(random, p.k_length());
  return p;
}

void add_descale(Random& random, AttentionProblem& p) {
  const Draw draw = [&] { return random.chance(0.1) ? 0.0 : random.normal(); };
  for (Tensor* const factors : {&p.q_descale, &p.k_descale, &p.v_descale}) {
    if (random.chance(0.6)) *factors = filled(Format::f32, {p.sequences(), p.k_heads()}, draw, random.chance(0.5));
  }
}

void narrow(AttentionProblem& p, Format format) {
  for (Tensor* const tensor : {&p.k, &p.v}) {
    Tensor stored = Tensor::strided(format, tensor->shape, tensor->stride);
    const auto elements = static_cast<std::int64_t>(tensor->storage.size()) / bytes_of(tensor->format);
    stored.storage.resize(static_cast<std::size_t>(elements * bytes_of(format)), std::byte{0xff});
    for (std::int64_t i = 0; i < elements; ++i) {
      stored.set_bits(i, encode(format, decode(tensor->format, tensor->bits(i))));
    }
    *tensor = std::move(stored);
  }
}

namespace {

Problem random_softmax(Random& random, Format format, bool padded) {
  const std::int64_t rows = random.integer(1, 4), cols = random.integer(1, 40);
  SoftmaxProblem problem;
  problem.x =
      filled(format, {rows, cols}, [&] { return random.chance(0.1) ? -kInfinity : 4.0 * random.normal(); }, padded);
  for (std::int64_t r = 0; r < rows; ++r) {
    problem.row_length.push_back(small(random, static_cast<int>(cols)));
    for (std::int64_t j = problem.row_length[r]; j < cols; ++j) problem.x.set({r, j}, kNan);
  }
  problem.plan = shuffled_plan(random, cols);
  return problem;
}

Problem random_merge(Random& random, Format format) {
  const std::int64_t states = random.integer(1, 5), rows = random.integer(1, 4), width = random.integer(1, 6);
  MergeProblem problem = merge(
      format, states, rows, width, normal(random),
      [&] { return random.chance(0.2) ? -kInfinity : 5.0 * random.normal(); },
      random.chance(0.5) ? MergeForm::sum : MergeForm::concat);
  for (std::int64_t s = 0; s < states; ++s) {
    for (std::int64_t r = 0; r < rows; ++r) {
      if (problem.lse.at({s, r}) == -kInfinity) problem.o.set({s, r, 0}, kNan);  // an empty state holds anything
    }
    std::swap(problem.order[s], problem.order[random.integer(0, s)]);
  }
  if (random.chance(0.3)) problem.joins = random_joins(random, states);
  if (random.chance(0.5)) return problem;
  problem.l = filled(
      Format::f32, {states, rows}, [&] { return random.chance(0.1) ? 0.0 : std::ldexp(1.0 + random.uniform(), 5); },
      random.chance(0.5));
  for (std::int64_t s = 0; s < states; ++s) {
    for (std::int64_t r = 0; r < rows; ++r) {
      if (problem.lse.at({s, r}) == -kInfinity) problem.l.set({s, r}, random.chance(0.5) ? kNan : -1.0);
      if (problem.l.at({s, r}) == 0.0) problem.o.set({s, r, 0}, kNan);
    }
  }
  return problem;
}

Mix random_mix(Random& random) {
  Mix mix;
  bool* const features[] = {&mix.window, &mix.softcap, &mix.alibi, &mix.sink, &mix.packed, &mix.paged};
  const std::int64_t how = random.integer(0, 2);  // the plain form, one feature, or any of them
  if (how == 1) *features[random.integer(0, 5)] = true;
  if (how == 2) {
    for (bool* feature : features) *feature = random.chance(0.5);
  }
  if (how == 1 && random.chance(0.5)) return mix;  // alone
  for (bool* more : {&mix.causal, &mix.lengths, &mix.bias}) *more = random.chance(0.5);
  return mix;
}

}  // namespace

Problem random_problem(std::uint64_t seed) {
  Random random(seed, 77);
  const Format formats[] = {Format::f32, Format::f16, Format::bf16};
  const Format format = formats[random.integer(0, 2)];
  const bool padded = random.chance(0.5);
  const std::int64_t which = random.integer(0, 6);
  if (which == 0) return random_softmax(random, format, padded);
  if (which == 1) return random_merge(random, format);
  AttentionProblem p = random_attention(random, format, random_mix(random), padded);
  Random more(seed, 78);
  if (more.chance(0.25)) add_descale(more, p);
  if (more.chance(0.25)) narrow(p, more.chance(0.5) ? Format::e4m3fn : Format::e5m2);
  return p;
}

}  // namespace flashproof::test
