// The problems of the containment tests.
#include <cmath>
#include <set>

#include "reference/oracle/test/containment.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/problem/special_values.h"

namespace flashproof::containment {
namespace {

/// `tensor` with `width` elements along its last axis.
Tensor widened(const Tensor& tensor, std::int64_t width, Random& random) {
  std::vector<std::int64_t> shape = tensor.shape;
  const std::int64_t old_width = shape.back();
  std::int64_t vectors = 1;
  for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) vectors *= shape[axis];
  shape.back() = width;
  Tensor result = Tensor::dense(tensor.format, shape);
  std::vector<double> factor(static_cast<std::size_t>(width), 1.0);
  for (std::int64_t c = old_width; c < width; ++c) factor[static_cast<std::size_t>(c)] = random.uniform(0.5, 1.0);
  for (std::int64_t n = 0; n < vectors; ++n) {
    std::int64_t rest = n, from = 0;
    for (std::size_t axis = shape.size() - 1; axis-- > 0;) {
      from += rest % shape[axis] * tensor.stride[axis];
      rest /= shape[axis];
    }
    for (std::int64_t c = 0; c < width; ++c) {
      const double x = decode(tensor.format, tensor.bits(from + c % old_width * tensor.stride.back()));
      result.set_bits(n * width + c, encode(tensor.format, x * factor[static_cast<std::size_t>(c)]));
    }
  }
  return result;
}

std::int64_t odd_keys(Random& random) {
  constexpr std::int64_t kKeys[] = {1, 2, 7, 33, 129, 255};
  return std::max<std::int64_t>(1, kKeys[random.integer(0, 5)] + random.integer(-1, 1));
}

}  // namespace

Problem widened(const Problem& problem, std::int64_t width, Random& random) {
  Problem result = problem;
  if (auto* attention = std::get_if<AttentionProblem>(&result)) {
    attention->v = widened(attention->v, std::max(width, attention->value_dim()), random);
  }
  if (auto* merge = std::get_if<MergeProblem>(&result)) {
    merge->o = widened(merge->o, std::max(width, merge->o.shape[2]), random);
  }
  return result;
}

Problem odd_shape(Random& random, std::int64_t width) {
  constexpr Format kFormats[] = {Format::f32, Format::f16, Format::bf16};
  const Format format = kFormats[random.integer(0, 2)];
  const double spread = std::ldexp(1.0, static_cast<int>(random.integer(-4, 3)));
  const std::int64_t keys = odd_keys(random);
  const std::int64_t which = random.integer(0, 9);
  if (which == 0) return test::softmax(format, random.integer(1, 3), keys, test::normal(random, 8 * spread));
  if (which == 1) {
    const bool sum = random.chance(0.8) || keys > 10;
    MergeProblem p = test::merge(format, keys, random.integer(1, 3), sum ? width : 8, test::normal(random),
                                 test::normal(random, 4 * spread), sum ? MergeForm::sum : MergeForm::concat);
    if (random.chance(0.5)) {
      p.l = test::filled(Format::f32, p.lse.shape, [&] { return std::ldexp(1.0 + random.uniform(), 4); });
    }
    return p;
  }
  test::AttentionSize size;
  size.k_heads = random.integer(1, 2);
  size.q_heads = size.k_heads * random.integer(1, 2);
  size.sq = random.integer(1, 5);
  size.sk = keys;
  size.d = random.integer(8, 80);
  size.dv = random.integer(width - 8, width + 8);
  AttentionProblem p = test::attention(format, size, test::normal(random, spread), test::normal(random),
                                       test::normal(random), random.chance(0.3));
  p.causal = random.chance(0.3);
  if (random.chance(0.2)) p.window_left = static_cast<std::int32_t>(random.integer(0, keys));
  if (random.chance(0.2)) {
    p.softcap = static_cast<float>(std::ldexp(1.0 + random.uniform(), static_cast<int>(random.integer(-2, 6))));
  }
  if (random.chance(0.2)) p.alibi = test::filled(Format::f32, {1, size.q_heads}, test::normal(random));
  if (random.chance(0.2)) p.sink = test::filled(Format::f32, {size.q_heads}, test::normal(random, 3.0));
  if (random.chance(0.2)) return test::in_pages(p, random.integer(1, 40), random);
  if (random.chance(0.2)) {
    p.bias = test::filled(Format::f32, {1, size.q_heads, size.sq, keys},
                          [&] { return random.chance(0.1) ? -kInfinity : 3.0 * random.normal(); });
  }
  return p;
}

bool benign(const std::string& kind) {
  static const std::set<std::string> kBenign = {"softmax normal",
                                                "softmax f16",
                                                "softmax lse near 0",
                                                "softmax rows at -1e6",
                                                "merge normal",
                                                "merge states",
                                                "merge states in blocks",
                                                "merge states, l subnormal",
                                                "merge states, l near 3.4e38",
                                                "merge states, some empty",
                                                "attention normal",
                                                "attention normal f16",
                                                "attention normal bf16",
                                                "attention odd sizes",
                                                "attention long row",
                                                "attention negative scale",
                                                "attention scale 0 (all keys tie)",
                                                "attention outlier channels f32",
                                                "attention outlier channels bf16",
                                                "attention causal",
                                                "attention 90 % hidden",
                                                "attention finite masks of -3.4e38",
                                                "attention subnormal V",
                                                "attention subnormal",
                                                "attention lse near 0",
                                                "attention lse near 88.7",
                                                "attention lse near 709",
                                                "attention softcap 30",
                                                "attention softcap 50 of small scores",
                                                "attention ALiBi",
                                                "attention sinks dominate",
                                                "attention sinks among the scores",
                                                "attention packed",
                                                "attention paged",
                                                "attention windows",
                                                "attention descaled",
                                                "attention descaled fp8",
                                                "attention descaled by powers of two",
                                                "attention descaled, tiny factors",
                                                "attention descaled, huge factors",
                                                "attention fp8 of 5 and 2 bits",
                                                "attention fp8 query",
                                                "attention packed and paged, window, ALiBi, sink"};
  return kBenign.contains(kind);
}

double unbounded_share(const std::string& kind, Way way) {
  // Scores near 1e70 or 1e30 that differ by less than a double resolves; c·u for a softcap c of 3e38; a score near 3e38
  // in two words beside one of order 1.
  static const std::set<std::string> kFp64 = {"attention exact ties at 1e70", "attention near ties at 1e30",
                                              "attention dots cancel at 2^70", "attention softcap 3e38",
                                              "attention bias and dots far apart"};
  static const std::set<std::string> kDd = {"attention exact ties at 1e70", "attention lse near 3.4e38",
                                            "attention lse near -3.4e38"};
  if (way == Way::fp64) return kFp64.contains(kind) ? 1.0 : (kind.ends_with("full range") ? 0.5 : 0.0);
  if (way == Way::dd || way == Way::dd_scores) {  // a row may have nothing but masks of −3.4e38
    return kDd.contains(kind) ? 1.0 : (kind == "attention finite masks of -3.4e38" ? 0.5 : 0.0);
  }
  return 0.0;
}

}  // namespace flashproof::containment
