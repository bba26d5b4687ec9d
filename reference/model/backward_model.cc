#include "reference/model/backward_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <utility>

#include "reference/model/machine.h"
#include "reference/model/products.h"
#include "reference/problem/score_terms.h"
#include "reference/problem/special_values.h"

namespace flashproof {

using model::Factors;
using model::Machine;

namespace {

std::vector<float> vector_at(const Tensor& tensor, std::int64_t b, std::int64_t h, std::int64_t i) {
  std::vector<float> result;
  result.reserve(static_cast<std::size_t>(tensor.shape[3]));
  for (std::int64_t c = 0; c < tensor.shape[3]; ++c) result.push_back(static_cast<float>(tensor.at({b, h, i, c})));
  return result;
}

Arithmetic scalar_part(const BackwardArithmetic& a) {
  Arithmetic scalar{.reduction = Reduction::row_resident};
  scalar.exp_error = a.exp_error;
  scalar.underflow = a.underflow;
  return scalar;
}

/// P and dS of one head: what the sums over keys and queries read. Hidden pairs hold 0, as a tile does.
struct Head {
  std::vector<float> p, ds;  // sq x sk
};

class Run {
 public:
  Run(const BackwardProblem& problem, const BackwardArithmetic& arithmetic, const BackwardRoundings& roundings)
      : problem_(problem),
        f_(problem.forward),
        a_(arithmetic),
        roundings_(roundings),
        scalar_(scalar_part(arithmetic)),
        machine_(scalar_, {.lean = roundings.lean, .seed = roundings.seed}, 0),
        order_(roundings.seed, 1),
        sq_(f_.q_length()),
        sk_(f_.k_length()),
        log2e_(static_cast<float>(std::numbers::log2e)),
        factor_(a_.unit == ScoreUnit::raw ? machine_.mul(f_.scale, log2e_) : log2e_),
        root_(static_cast<float>(std::sqrt(std::fabs(static_cast<double>(f_.scale))))) {}

  UnroundedGradients run() {
    UnroundedGradients result;
    result.dq.resize(static_cast<std::size_t>(problem_.query_rows() * f_.head_dim()));
    result.dk.resize(static_cast<std::size_t>(problem_.key_rows() * f_.head_dim()));
    result.dv.resize(static_cast<std::size_t>(problem_.key_rows() * f_.value_dim()));
    const std::int64_t group = problem_.group();
    for (std::int64_t b = 0; b < f_.batch(); ++b) {
      for (std::int64_t kv = 0; kv < f_.k_heads(); ++kv) {
        std::vector<Head> heads;
        for (std::int64_t h = kv * group; h < (kv + 1) * group; ++h) {
          heads.push_back(head(b, h));
          queries(b, h, heads.back(), result.dq);
        }
        keys(b, kv, heads, result);
      }
    }
    return result;
  }

 private:
  bool visible(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return f_.position_visible(b, i, j) && !f_.hidden_by_bias(b, h, i, j);
  }

  /// q or k as it is multiplied: times fl(√|τ|) first, or as it is stored.
  float factor(double stored) {
    const auto x = static_cast<float>(stored);
    return a_.factors_scaled ? machine_.mul(x, root_) : x;
  }
  Format factor_format() const { return a_.factors_scaled ? Format::f32 : f_.q.format; }

  float score(const std::vector<float>& q, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    const std::vector<float> k = vector_at(f_.k, b, f_.kv_head(h), j);
    std::vector<float> scaled_q, scaled_k;
    for (const float x : q) scaled_q.push_back(factor(x));
    for (const float x : k) scaled_k.push_back(f_.scale < 0 && a_.factors_scaled ? -factor(x) : factor(x));
    float x = sum_products(machine_, a_.dot, {scaled_q, factor_format()}, {scaled_k, factor_format()}, 0);
    if (a_.unit == ScoreUnit::raw) return x;
    if (!a_.factors_scaled) x = machine_.mul(x, f_.scale);
    for_each_added_term(f_, b, h, i, j, [&](double value, std::int64_t times) {
      const auto term = static_cast<float>(value);
      x = machine_.add(x, times == 1 ? term : machine_.mul(term, static_cast<float>(times)));
    });
    return x;
  }

  float weight(float x, float lse, double direction) {
    if (x == -static_cast<float>(kInfinity)) return 0;
    switch (a_.exponent) {
      case Exponent::fused:
        return machine_.exp2(machine_.fma(x, factor_, -machine_.mul(lse, log2e_)), direction);
      case Exponent::unfused:
        return machine_.exp2(machine_.sub(machine_.mul(x, factor_), machine_.mul(lse, log2e_)), direction);
      case Exponent::scaled_exp2:
        return machine_.exp2(machine_.mul(machine_.sub(x, lse), log2e_), direction);
      case Exponent::accurate:
      case Exponent::subtract_then_scale:
        break;
    }
    return machine_.exp(machine_.sub(x, lse), direction);
  }

  /// f32 into a storage format; a machine that flushes also flushes what it stores in the range of f32's subnormals.
  float stored(Format format, float x) const {
    const auto result = static_cast<float>(round_to(format, x));
    const bool flushed = a_.underflow == Underflow::flush && format != Format::f16 && std::fabs(result) < 0x1p-126F;
    return flushed ? 0 : result;
  }

  /// The sign of what a larger P_ij does to the output aimed at.
  double pull(float t, double k, double q, double d_out) const {
    const double slope = static_cast<double>(t) * f_.scale;
    switch (roundings_.target) {
      case BackwardTarget::dq:
        return slope * k;
      case BackwardTarget::dk:
        return slope * q;
      case BackwardTarget::dv:
        break;
    }
    return d_out;
  }

  Head head(std::int64_t b, std::int64_t h) {
    Head result{std::vector<float>(static_cast<std::size_t>(sq_ * sk_), 0.0F), {}};
    result.ds = result.p;
    const std::int64_t kv = f_.kv_head(h);
    const std::int64_t c_d = roundings_.column % f_.head_dim(), c_v = roundings_.column % f_.value_dim();
    for (std::int64_t i = 0; i < sq_; ++i) {
      const std::vector<float> q = vector_at(f_.q, b, h, i);
      const std::vector<float> d_out = vector_at(problem_.d_out, b, h, i), o = vector_at(problem_.o, b, h, i);
      const auto lse = static_cast<float>(problem_.lse.at({b, h, i}));
      float delta = sum_products(machine_, a_.row_sum, {d_out, problem_.d_out.format}, {o, problem_.o.format}, 0);
      std::vector<Pair> pairs;
      for (std::int64_t j = 0; j < sk_; ++j) {
        if (!visible(b, h, i, j)) continue;
        const std::vector<float> v = vector_at(f_.v, b, kv, j);
        const float x = score(q, b, h, i, j);
        if (x == -static_cast<float>(kInfinity)) continue;
        const float dp =
            stored(a_.dp, sum_products(machine_, a_.products, {d_out, problem_.d_out.format}, {v, f_.v.format}, 0));
        const float p = weight(x, lse, pull(machine_.sub(dp, delta), f_.k.at({b, kv, j, c_d}), q[c_d], d_out[c_v]));
        pairs.push_back({j, a_.stored_weights ? stored(a_.p, p) : p, dp});
        result.p[i * sk_ + j] = stored(a_.p, p);
      }
      if (a_.delta == DeltaSum::weights) delta = sum_over_keys(pairs);
      for (const Pair& pair : pairs) {
        float ds = a_.apart ? machine_.sub(machine_.mul(pair.p, pair.dp), machine_.mul(pair.p, delta))
                            : machine_.mul(pair.p, machine_.sub(pair.dp, delta));
        if (a_.scale == GradientScale::weights) ds = machine_.mul(ds, f_.scale);
        result.ds[i * sk_ + pair.key] = stored(a_.ds, ds);
      }
    }
    return result;
  }

  struct Pair {
    std::int64_t key;
    float p, dp;  // as dS reads them
  };
  float sum_over_keys(const std::vector<Pair>& pairs) {
    std::vector<float> products(static_cast<std::size_t>(sk_), 0.0F);
    for (const Pair& pair : pairs) products[pair.key] = machine_.mul(pair.p, pair.dp);
    const std::vector<float> ones(products.size(), 1.0F);
    return sum_products(machine_, a_.row_sum, {products, Format::f32}, {ones, Format::f32}, 0);
  }

  /// f32 additions of sums that may come in any order: from first to last, or any two that are left.
  float joined(std::vector<float> parts) {
    if (parts.empty()) return 0;
    float total = parts[0];
    if (!roundings_.shuffled) {
      for (std::size_t n = 1; n < parts.size(); ++n) total = machine_.add(total, parts[n]);
      return total;
    }
    while (parts.size() > 1) {
      for (const std::size_t end : {parts.size() - 1, parts.size() - 2}) {
        std::swap(parts[static_cast<std::size_t>(order_.integer(0, static_cast<std::int64_t>(end)))], parts[end]);
      }
      const float last = parts.back();
      parts.pop_back();
      parts.back() = machine_.add(parts.back(), last);
    }
    return parts[0];
  }

  /// Blocks, then their sums.
  float accumulate(const Accumulation& sum, const Factors& a, const Factors& b) {
    const auto n = static_cast<std::int64_t>(a.values.size());
    const std::int64_t block = sum.block > 0 ? sum.block : std::max<std::int64_t>(n, 1);
    std::vector<float> parts;
    for (std::int64_t begin = 0; begin < n; begin += block) {
      const std::int64_t end = std::min(n, begin + block);
      const std::vector<float> x(a.values.begin() + begin, a.values.begin() + end);
      const std::vector<float> y(b.values.begin() + begin, b.values.begin() + end);
      parts.push_back(sum_products(machine_, sum.products, {x, a.format}, {y, b.format}, 0));
    }
    return joined(std::move(parts));
  }

  /// What a sum is multiplied by: the sign that τ gives a score is not in the factors here.
  float scale() const { return a_.factors_scaled ? std::copysign(root_, f_.scale) : f_.scale; }

  /// fl(τ·sum) for narrow storage; for f32 that product is the last rounding itself.
  double ended(float sum) const {
    if (a_.scale == GradientScale::weights) return sum;
    if (f_.q.format != Format::f32) return machine_.mul(sum, scale());
    const double product = static_cast<double>(sum) * scale();
    return a_.underflow == Underflow::flush && std::fabs(product) < 0x1p-126 ? 0 : product;
  }

  void queries(std::int64_t b, std::int64_t h, const Head& head, std::vector<double>& dq) {
    const std::int64_t d = f_.head_dim();
    for (std::int64_t c = 0; c < d; ++c) {
      std::vector<float> k;
      k.reserve(static_cast<std::size_t>(sk_));
      for (std::int64_t j = 0; j < sk_; ++j) k.push_back(factor(f_.k.at({b, f_.kv_head(h), j, c})));
      for (std::int64_t i = 0; i < sq_; ++i) {
        std::vector<float> ds(head.ds.begin() + i * sk_, head.ds.begin() + (i + 1) * sk_), factor = k;
        for (std::int64_t j = 0; j < sk_; ++j) {
          if (!visible(b, h, i, j)) factor[j] = 0;
        }
        const float sum = accumulate(a_.dq, {ds, a_.ds}, {factor, factor_format()});
        dq[((b * f_.q_heads() + h) * sq_ + i) * d + c] = ended(sum);
      }
    }
  }

  /// Σ over the queries of the group's heads of x_ij times column c of `rows` (q or dO).
  double over_queries(const Accumulation& sum, std::span<const std::vector<float>> x, Format x_format,
                      const Tensor& rows, Format rows_format, std::int64_t b, std::int64_t kv, std::int64_t j,
                      std::int64_t c, bool scaled) {
    std::vector<float> all_x, all_y;
    std::vector<float> parts;
    for (std::size_t g = 0; g < x.size(); ++g) {
      const std::int64_t h = kv * problem_.group() + static_cast<std::int64_t>(g);
      std::vector<float> head_x, head_y;
      bool any = false;
      for (std::int64_t i = 0; i < sq_; ++i) {
        const bool seen = visible(b, h, i, j);
        any = any || seen;
        head_x.push_back(x[g][i * sk_ + j]);
        const double y = rows.at({b, h, i, c});
        head_y.push_back(!seen ? 0.0F : scaled ? factor(y) : static_cast<float>(y));
      }
      if (!sum.heads_apart) {
        all_x.insert(all_x.end(), head_x.begin(), head_x.end());
        all_y.insert(all_y.end(), head_y.begin(), head_y.end());
        continue;
      }
      if (!any) continue;
      float part = accumulate(sum, {head_x, x_format}, {head_y, rows_format});
      if (scaled && a_.scale == GradientScale::output) part = machine_.mul(part, scale());
      parts.push_back(stored(sum.partial, part));
    }
    if (sum.heads_apart) return joined(std::move(parts));
    const float whole = accumulate(sum, {all_x, x_format}, {all_y, rows_format});
    return scaled ? ended(whole) : whole;
  }

  void keys(std::int64_t b, std::int64_t kv, const std::vector<Head>& heads, UnroundedGradients& result) {
    std::vector<std::vector<float>> p, ds;
    for (const Head& head : heads) {
      p.push_back(head.p);
      ds.push_back(head.ds);
    }
    for (std::int64_t j = 0; j < sk_; ++j) {
      const std::int64_t row = (b * f_.k_heads() + kv) * sk_ + j;
      for (std::int64_t c = 0; c < f_.head_dim(); ++c) {
        result.dk[row * f_.head_dim() + c] = over_queries(a_.dk, ds, a_.ds, f_.q, factor_format(), b, kv, j, c, true);
      }
      for (std::int64_t c = 0; c < f_.value_dim(); ++c) {
        result.dv[row * f_.value_dim() + c] =
            over_queries(a_.dv, p, a_.p, problem_.d_out, f_.q.format, b, kv, j, c, false);
      }
    }
  }

  const BackwardProblem& problem_;
  const AttentionProblem& f_;
  const BackwardArithmetic& a_;
  const BackwardRoundings& roundings_;
  const Arithmetic scalar_;
  Machine machine_;
  Random order_;
  std::int64_t sq_, sk_;
  float log2e_, factor_, root_;
};

Tensor stored_tensor(Format format, const std::vector<std::int64_t>& shape, const std::vector<double>& values) {
  Tensor tensor = Tensor::dense(format, shape);
  for (std::size_t n = 0; n < values.size(); ++n) {
    tensor.set_bits(static_cast<std::int64_t>(n), encode(format, values[n]));
  }
  return tensor;
}

}  // namespace

UnroundedGradients run_backward_model(const BackwardProblem& problem, const BackwardArithmetic& arithmetic,
                                      const BackwardRoundings& roundings) {
  return Run(problem, arithmetic, roundings).run();
}

Output store_gradients(const BackwardProblem& problem, const UnroundedGradients& gradients) {
  const Format format = problem.forward.q.format;
  return {.dq = stored_tensor(format, problem.forward.q.shape, gradients.dq),
          .dk = stored_tensor(format, problem.forward.k.shape, gradients.dk),
          .dv = stored_tensor(format, problem.forward.v.shape, gradients.dv)};
}

}  // namespace flashproof
