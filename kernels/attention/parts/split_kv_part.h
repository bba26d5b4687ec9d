// The first of the two split decoding kernels: (o, lse) of one part of the plan for one query. split_kv.cu has the
// contract.
//
//   part       chunks [p·n/4, (p+1)·n/4) in visiting order; part 0 begins with the sink, the others with nothing
//   leaves     acc / l, times v_descale, and lse; 0 and −inf where nothing counts
#pragma once

#include "kernels/attention/parts/split_kv_row.h"

namespace flashproof::FP_EXECUTOR {

template <class Variant, Format F, int kSets, bool kVector>
__global__ void split_part(AttentionArgs a, PartialStates states) {
  FP_DYNAMIC_SHARED(float, memory);
  const int heads = a.q_heads / a.k_heads;
  const int part = static_cast<int>(blockIdx.y) % kParts;
  const int head = static_cast<int>(blockIdx.y) / kParts * heads + static_cast<int>(blockIdx.x) % heads;
  SplitRow<Variant, F, kSets, kVector> row(a, head, static_cast<int>(blockIdx.x) / heads, memory);
  if (row.query >= row.place.q_length) {
    return;
  }
  row.load_query();

  float m = part == 0 ? row.scoring.sink_frame(a, row.place) : kMinusInf;
  float l_lane = threadIdx.x == 0 ? sink_sum(m) : 0.0F;
  float acc[kSets][8];
  for (int set = 0; set < kSets; ++set) {
    for (int i = 0; i < 8; ++i) {
      acc[set][i] = row.group == 0 ? sink_output(m) : 0.0F;
    }
  }
  const auto chunks = static_cast<std::int64_t>(a.chunks);
  for (int n = static_cast<int>(part * chunks / kParts); n < static_cast<int>((part + 1) * chunks / kParts); ++n) {
    const int begin = a.boundary[a.order[n]];
    const int keys = min(a.boundary[a.order[n] + 1], row.last) - begin;
    if (keys <= 0 || begin + keys <= row.first) {
      continue;  // the row sees nothing of it
    }
    const float m_new = max_nan(m, row.scores(begin, keys));
    const bool empty = m_new == kMinusInf;  // still no key that counts
    const float alpha = empty ? 1.0F : row.scoring.ratio(m, m_new);
    m = m_new;
    l_lane = __fadd_rn(__fmul_rn(l_lane, alpha), row.weights(keys, m));
#pragma unroll
    for (int set = 0; set < kSets; ++set) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        acc[set][i] = __fmul_rn(acc[set][i], alpha);
      }
    }
    __syncthreads();  // p is written
    row.values(begin, keys, acc);
  }

  const float l = row.block_sum(l_lane);
  const bool empty = m == kMinusInf;
  const std::int64_t at = row.place.output_row(a, row.query) * kParts + part;
  const float* descale = a.v_descale ? a.v_descale + row.place.b * a.k_heads + row.place.kv_head : nullptr;
  with_storage_format(states.format, [&]<Format FP>() {
    for (int set = 0; set < kSets && row.group == 0; ++set) {
      for (int i = 0; i < 8; ++i) {
        if (row.column(set) + i < a.value_dim) {
          const float o = empty ? 0.0F : __fdiv_rn(acc[set][i], l);
          store<FP>(states.o, at * a.value_dim + row.column(set) + i, descale ? __fmul_rn(*descale, o) : o);
        }
      }
    }
  });
  if (threadIdx.x == 0) {
    store<Format::f32>(states.lse, at, empty ? kMinusInf : row.scoring.lse(m, l));
  }
}

}  // namespace flashproof::FP_EXECUTOR
