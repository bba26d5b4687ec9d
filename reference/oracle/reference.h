// The three problems as the textbook writes them, in any number type: an independent cross-check and documentation. It
// shares nothing with the interval tier except the problem definitions, and it makes no promise about its own error.
//
// Inputs: finite numbers, and −inf where a key is to be hidden (x, lse, bias). Special values beyond that are the
// business of the symbolic table, not of this file.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/problem/problems.h"

namespace flashproof {

template <class Real>
struct ReferenceResult {
  std::vector<Real> o;    // rows x width
  std::vector<Real> lse;  // rows
};

/// Two passes: the maximum, then the sum of e^(s − maximum). Hidden keys are simply not in the list.
template <class Real>
struct ReferenceSoftmax {
  std::vector<Real> p;
  Real lse;

  explicit ReferenceSoftmax(const std::vector<Real>& scores) {
    using std::exp;
    using std::log;
    if (scores.empty()) {
      lse = Real(-std::numeric_limits<double>::infinity());
      return;
    }
    Real maximum = scores[0];
    for (const Real& s : scores) {
      if (s > maximum) maximum = s;
    }
    Real total(0);
    for (const Real& s : scores) {
      p.push_back(exp(Real(s - maximum)));
      total += p.back();
    }
    for (Real& weight : p) weight /= total;
    lse = maximum + log(total);
  }
};

template <class Real>
ReferenceResult<Real> reference(const SoftmaxProblem& problem) {
  const std::int64_t rows = problem.x.shape[0];
  const std::int64_t cols = problem.x.shape[1];
  ReferenceResult<Real> result;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<Real> scores;
    std::vector<std::int64_t> visible;
    for (std::int64_t j = 0; j < (problem.row_length.empty() ? cols : problem.row_length[r]); ++j) {
      const double x = problem.x.at({r, j});
      if (std::isinf(x)) continue;
      scores.push_back(Real(x));
      visible.push_back(j);
    }
    const ReferenceSoftmax<Real> softmax(scores);
    std::vector<Real> row(cols, Real(0));
    for (std::size_t n = 0; n < visible.size(); ++n) row[visible[n]] = softmax.p[n];
    result.o.insert(result.o.end(), row.begin(), row.end());
    result.lse.push_back(softmax.lse);
  }
  return result;
}

template <class Real>
ReferenceResult<Real> reference(const MergeProblem& problem) {
  const std::int64_t width = problem.o.shape[2];
  const bool concat = problem.form == MergeForm::concat;
  ReferenceResult<Real> result;
  for (std::int64_t r = 0; r < problem.o.shape[1]; ++r) {
    std::vector<Real> scores;
    std::vector<std::int64_t> visible;
    for (std::int64_t s = 0; s < problem.o.shape[0]; ++s) {
      const double lse = problem.lse.at({s, r});
      if (std::isinf(lse)) continue;
      scores.push_back(Real(lse));
      visible.push_back(s);
    }
    const ReferenceSoftmax<Real> softmax(scores);
    std::vector<Real> row(concat ? problem.o.shape[0] * width : width, Real(0));
    for (std::size_t n = 0; n < visible.size(); ++n) {
      for (std::int64_t c = 0; c < width; ++c) {
        const Real term = softmax.p[n] * Real(problem.o.at({visible[n], r, c}));
        row[concat ? visible[n] * width + c : c] += term;
      }
    }
    result.o.insert(result.o.end(), row.begin(), row.end());
    result.lse.push_back(softmax.lse);
  }
  return result;
}

template <class Real>
ReferenceResult<Real> reference(const AttentionProblem& problem) {
  ReferenceResult<Real> result;
  for (std::int64_t b = 0; b < problem.batch(); ++b) {
    for (std::int64_t h = 0; h < problem.q_heads(); ++h) {
      const std::int64_t kv = problem.kv_head(h);
      for (std::int64_t i = 0; i < problem.q_length(); ++i) {
        std::vector<Real> scores;
        std::vector<std::int64_t> visible;
        for (std::int64_t j = 0; j < problem.k_length(); ++j) {
          if (!problem.position_visible(b, i, j)) continue;
          const double bias = problem.has_bias() ? problem.bias.at({b, h, i, j}) : 0.0;
          if (std::isinf(bias)) continue;
          Real dot(0);
          for (std::int64_t c = 0; c < problem.head_dim(); ++c) {
            dot += Real(problem.q.at({b, h, i, c})) * Real(problem.k.at({b, kv, j, c}));
          }
          scores.push_back(Real(static_cast<double>(problem.scale)) * dot + Real(bias));
          visible.push_back(j);
        }
        const ReferenceSoftmax<Real> softmax(scores);
        for (std::int64_t c = 0; c < problem.value_dim(); ++c) {
          Real sum(0);
          for (std::size_t n = 0; n < visible.size(); ++n) {
            sum += softmax.p[n] * Real(problem.v.at({b, kv, visible[n], c}));
          }
          result.o.push_back(sum);
        }
        result.lse.push_back(softmax.lse);
      }
    }
  }
  return result;
}

}  // namespace flashproof
