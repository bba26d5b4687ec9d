// The gradient of attention as the textbook writes it, in any number type and without any tier's code: for tests.
// Finite inputs; a bias of −inf hides. It reads the problem's fields, not its accessors.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/problem/backward.h"

namespace flashproof::test {

template <class Real>
struct TextbookGradients {
  std::vector<Real> dq, dk, dv;
  std::vector<Real> dq_size, dk_size, dv_size;  // Σ |terms|: what the reference's own rounding is relative to
};

template <class Real>
TextbookGradients<Real> textbook_gradients(const BackwardProblem& problem) {
  using std::abs;
  using std::exp;
  using std::log;
  const AttentionProblem& p = problem.forward;
  const std::int64_t batch = p.q.shape[0], heads = p.q.shape[1], sq = p.q.shape[2], d = p.q.shape[3];
  const std::int64_t kv_heads = p.k.shape[1], sk = p.k.shape[2], width = p.v.shape[3];
  TextbookGradients<Real> g;
  for (auto* x : {&g.dq, &g.dq_size}) x->assign(batch * heads * sq * d, Real(0));
  for (auto* x : {&g.dk, &g.dk_size}) x->assign(batch * kv_heads * sk * d, Real(0));
  for (auto* x : {&g.dv, &g.dv_size}) x->assign(batch * kv_heads * sk * width, Real(0));
  const Real scale(static_cast<double>(p.scale));
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t kv = h / (heads / kv_heads);
      for (std::int64_t i = 0; i < sq; ++i) {
        std::vector<std::int64_t> key;
        std::vector<Real> weight, dp;
        for (std::int64_t j = 0; j < (p.key_length.empty() ? sk : p.key_length[b]); ++j) {
          const std::int64_t distance = i + sk - sq - j;
          if (p.causal && distance < 0) continue;
          if (p.window_left >= 0 && distance > p.window_left) continue;
          if (p.window_right >= 0 && -distance > p.window_right) continue;
          const double bias = p.bias.shape.empty() ? 0 : p.bias.at({b, h, i, j});
          if (std::isinf(bias)) continue;
          Real score(0);
          for (std::int64_t c = 0; c < d; ++c) score += Real(p.q.at({b, h, i, c})) * Real(p.k.at({b, kv, j, c}));
          score = score * scale + Real(bias);
          if (!p.alibi.shape.empty()) {
            score -= Real(p.alibi.at({b, h})) * Real(static_cast<double>(distance < 0 ? -distance : distance));
          }
          Real product(0);
          for (std::int64_t c = 0; c < width; ++c) {
            product += Real(problem.d_out.at({b, h, i, c})) * Real(p.v.at({b, kv, j, c}));
          }
          key.push_back(j);
          weight.push_back(score);
          dp.push_back(product);
        }
        if (key.empty()) continue;
        Real lse(0), delta(0), delta_size(0);
        if (problem.mode == BackwardMode::stage) {
          lse = Real(problem.lse.at({b, h, i}));
        } else {
          Real top = weight[0];
          for (const Real& s : weight) {
            if (s > top) top = s;
          }
          Real sum(0);
          for (const Real& s : weight) sum += exp(Real(s - top));
          lse = top + log(sum);
        }
        for (Real& s : weight) s = exp(Real(s - lse));
        if (problem.mode == BackwardMode::stage) {
          for (std::int64_t c = 0; c < width; ++c) {
            const Real term = Real(problem.d_out.at({b, h, i, c})) * Real(problem.o.at({b, h, i, c}));
            delta += term;
            delta_size += abs(term);
          }
        } else {
          for (std::size_t n = 0; n < key.size(); ++n) {
            delta += weight[n] * dp[n];
            delta_size += abs(Real(weight[n] * dp[n]));
          }
        }
        for (std::size_t n = 0; n < key.size(); ++n) {
          const std::int64_t at = (b * kv_heads + kv) * sk + key[n], row = (b * heads + h) * sq + i;
          const Real ds = weight[n] * Real(dp[n] - delta);
          const Real ds_size = weight[n] * Real(abs(dp[n]) + delta_size);
          for (std::int64_t c = 0; c < d; ++c) {
            const Real q(p.q.at({b, h, i, c})), k(p.k.at({b, kv, key[n], c}));
            g.dq[row * d + c] += scale * ds * k;
            g.dk[at * d + c] += scale * ds * q;
            g.dq_size[row * d + c] += abs(Real(scale * ds_size * k));
            g.dk_size[at * d + c] += abs(Real(scale * ds_size * q));
          }
          for (std::int64_t c = 0; c < width; ++c) {
            const Real term = weight[n] * Real(problem.d_out.at({b, h, i, c}));
            g.dv[at * width + c] += term;
            g.dv_size[at * width + c] += abs(term);
          }
        }
      }
    }
  }
  return g;
}

}  // namespace flashproof::test
