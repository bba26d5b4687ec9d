// K and V of a head as dense doubles, with what the bounds ask of each key.
#include <algorithm>
#include <cmath>

#include "reference/bound/attention/attention_scores.h"
#include "reference/problem/special_values.h"

namespace flashproof::bound {

// Lane by lane: a plain sum or maximum is no vector code.
KeySize size_of(const double* x, std::int64_t n, double normal) {
  constexpr std::int64_t kLanes = 8;
  double sum[kLanes] = {}, largest[kLanes] = {}, tiny[kLanes] = {};
  const auto take = [&](std::int64_t c, std::int64_t lane) {
    const double size = std::fabs(x[c]);
    sum[lane] += size;
    largest[lane] = size > largest[lane] ? size : largest[lane];
    tiny[lane] += size < normal ? size : 0;
  };
  std::int64_t c = 0;
  for (; c + kLanes <= n; c += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) take(c + lane, lane);
  }
  for (; c < n; ++c) take(c, 0);
  KeySize all;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    all.sum += sum[lane];
    all.largest = std::max(all.largest, largest[lane]);
    all.tiny += tiny[lane];
  }
  return all;
}

void AttentionHead::load(const AttentionProblem& p, std::int64_t s, std::int64_t kv) {
  keys = p.visible_length(s);
  const std::int64_t d = p.head_dim(), dv = p.value_dim();
  const double normal = min_normal(p.k.format);
  k.resize(keys * d);
  v.resize(keys * dv);
  k_sum.assign(keys, 0);
  k_max.assign(keys, 0);
  k_tiny.assign(keys, 0);
  v_largest.assign(dv, 0);
  v_tiny = false;
  for (std::int64_t j = 0; j < keys; ++j) {
    double* const key = k.data() + j * d;
    double* const values = v.data() + j * dv;
    decode_row(p.k, p.k_offset(s, kv, j), p.k.stride[3], d, key);
    decode_row(p.v, p.v_offset(s, kv, j), p.v.stride[3], dv, values);
    const KeySize size = size_of(key, d, normal);
    k_sum[j] = size.sum;
    k_max[j] = size.largest;
    k_tiny[j] = size.tiny;
    for (std::int64_t c = 0; c < dv; ++c) {
      const double x = std::fabs(values[c]);
      v_largest[c] = x < kInfinity ? std::max(v_largest[c], x) : kInfinity;
      v_tiny = v_tiny || (x > 0 && x < normal);
    }
  }
}

}  // namespace flashproof::bound
