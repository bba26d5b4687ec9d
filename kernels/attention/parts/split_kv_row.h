// One query of the split decoding kernels in one block: the scores of a chunk, their weights, the values. split_kv.cu has
// the contract, split_kv_part.h the loop over chunks and the barrier between weights() and values().
#pragma once

#include "kernels/attention/parts/scores.h"
#include "kernels/attention/parts/split_kv_layout.h"
#include "kernels/attention/parts/tile.h"
#include "kernels/attention/parts/vectors.h"
#include "kernels/maximum.h"
#include "kernels/simt/storage.h"

namespace flashproof::FP_EXECUTOR {

/// One query of one head, and this thread's place in the block.
template <class Variant, Format F, int kSets, bool kVector>
struct SplitRow {
  /// Keys whose loads a thread starts before it uses the first.
  static constexpr int kUnroll = !kVector || kSets > 2 ? 1 : 8 / kSets / (F == Format::f32 ? 2 : 1);
  using Row = Eight<F, kVector>[kSets];

  const AttentionArgs& a;
  Sequence place;
  Scoring<Variant> scoring;
  SplitShared shared;
  int query, first, last;
  int group, lane;
  float q[kSets][8];

  __device__ SplitRow(const AttentionArgs& args, int head, int of_query, float* memory)
      : a(args),
        place(args, static_cast<int>(blockIdx.z), head),
        scoring(args, place),
        shared(memory, kSets),
        query(of_query) {
    first = query < place.q_length ? place.first_key(a, query) : 0;
    last = query < place.q_length ? place.last_key(a, query) : 0;
    group = static_cast<int>(threadIdx.x) / kGroupLanes;
    lane = static_cast<int>(threadIdx.x) % kGroupLanes;
  }

  __device__ int column(int set) const { return set * kSetColumns + 8 * lane; }

  __device__ void load_query() {
    with_storage_format(a.format, [&]<Format FQ>() {
#pragma unroll
      for (int set = 0; set < kSets; ++set) {
        Eight<FQ, false> eight;
        eight.load(a.q, place.q_offset(a, query), a.q_stride[3], column(set), a.head_dim);
        eight.get(q[set]);
      }
    });
  }

  __device__ bool sees(int key) const { return first <= key && key < last; }
  /// The nearest key of the chunk that the row sees: a load that asks for it needs no condition. There is one.
  __device__ int seen_key(int key, int begin, int keys) const {
    return min(max(key, max(first, begin)), min(last, begin + keys) - 1);
  }

  /// 128 chains, then a tree over the lane's eight and the group's lanes: every lane has the sum.
  __device__ float dot(const Row& row) const {
    float chain[8] = {};
#pragma unroll
    for (int set = 0; set < kSets; ++set) {
      float k[8];
      row[set].get(k);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        chain[i] = __fmaf_rn(q[set][i], k[i], chain[i]);
      }
    }
    const float low = __fadd_rn(__fadd_rn(chain[0], chain[1]), __fadd_rn(chain[2], chain[3]));
    const float high = __fadd_rn(__fadd_rn(chain[4], chain[5]), __fadd_rn(chain[6], chain[7]));
    float sum = __fadd_rn(low, high);
    for (int offset = 1; offset < kGroupLanes; offset *= 2) {
      sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffU, sum, offset));
    }
    return sum;
  }

  /// Some component of q or k is infinite, in any lane of the warp's half.
  __device__ bool infinite(const Row& row) const {
    int found = 0;
    for (int set = 0; set < kSets; ++set) {
      float k[8];
      row[set].get(k);
      for (int i = 0; i < 8; ++i) {
        found |= static_cast<int>(det::is_infinite(q[set][i]) || det::is_infinite(k[i]));
      }
    }
    const unsigned half = 0xffffU << (threadIdx.x % 32 / kGroupLanes * kGroupLanes);
    return __any_sync(half, found) != 0;
  }

  /// −inf where hidden. All lanes of a group ask for the same key.
  __device__ float score(int key, const Row& row) const {
    const float product = dot(row);
    const float bias = sees(key) ? bias_at(a, place, query, key) : kMinusInf;
    if (bias == kMinusInf) {
      return kMinusInf;  // hidden, whatever the dot product is
    }
    const float s = scoring.score(a, place, query, key, product, bias);
    const bool lost = s == kMinusInf || (a.softcap != 0.0F && det::is_infinite(product));
    if (lost && !infinite(row)) {
      return __int_as_float(det::kNan);  // as tile_score()
    }
    return s;
  }

  /// The scores of a chunk into shared memory, and their maximum.
  __device__ float scores(int begin, int keys) const {
    float largest = kMinusInf;
    for (int from = group; from - group < keys; from += kUnroll * kKeyGroups) {
      std::int64_t offset[kUnroll];
      Eight<F, kVector> k[kUnroll][kSets];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        offset[u] = place.k_offset(a, seen_key(begin + from + u * kKeyGroups, begin, keys));
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
        for (int set = 0; set < kSets; ++set) {
          k[u][set].load(a.k, offset[u], a.k_stride[3], column(set), a.head_dim);
        }
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const int j = from + u * kKeyGroups;
        const float s = score(j < keys ? begin + j : last, k[u]);
        largest = larger<Variant>(largest, s);
        if (lane == 0 && j < keys) {
          shared.p[j] = s;
        }
      }
    }
    largest = larger<Variant>(largest, __shfl_xor_sync(0xffffffffU, largest, kGroupLanes));
    if (threadIdx.x % 32 == 0) {
      shared.numbers[threadIdx.x / 32] = largest;
    }
    __syncthreads();
    largest = shared.numbers[0];
    for (int warp = 1; warp < kWarps; ++warp) {
      largest = larger<Variant>(largest, shared.numbers[warp]);
    }
    return largest;
  }

  /// This thread's scores become weights; their sum.
  __device__ float weights(int keys, float frame) const {
    float sum = 0.0F;
    for (int j = static_cast<int>(threadIdx.x); j < keys; j += kSplitKvThreads) {
      float& p = shared.p[j];
      if (p == kMinusInf) {
        p = kHidden;
        continue;
      }
      p = scoring.weight(p, frame);
      sum = __fadd_rn(sum, p);
    }
    return sum;
  }

  /// acc, held by group 0 (0 elsewhere), becomes acc + Σ p v over the chunk.
  __device__ void values(int begin, int keys, float (&acc)[kSets][8]) const {
    for (int from = group; from < keys; from += kUnroll * kKeyGroups) {
      std::int64_t offset[kUnroll];
      Eight<F, kVector> v[kUnroll][kSets];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        offset[u] = place.v_offset(a, seen_key(begin + from + u * kKeyGroups, begin, keys));
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
        for (int set = 0; set < kSets; ++set) {
          v[u][set].load(a.v, offset[u], a.v_stride[3], column(set), a.value_dim);
        }
      }
      float p[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const int j = from + u * kKeyGroups;
        p[u] = j < keys ? shared.p[j] : kHidden;
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
        for (int set = 0; set < kSets; ++set) {
          float value[8];
          v[u][set].get(value);
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            acc[set][i] = p[u] != kHidden ? __fmaf_rn(p[u], value[i], acc[set][i]) : acc[set][i];
          }
        }
      }
    }
    add_groups(acc);
  }

  /// A tree over the groups, neighbours first, into group 0.
  __device__ void add_groups(float (&acc)[kSets][8]) const {
    const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
    for (int set = 0; set < kSets; ++set) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float other = __shfl_xor_sync(0xffffffffU, acc[set][i], kGroupLanes);
        if (group % 2 == 0) {
          shared.sums[(warp * kSets + set) * kSetColumns + 8 * lane + i] = __fadd_rn(acc[set][i], other);
        }
        acc[set][i] = 0.0F;
      }
    }
    __syncthreads();
    if (group != 0) {
      return;
    }
#pragma unroll
    for (int set = 0; set < kSets; ++set) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float* sum = shared.sums + set * kSetColumns + 8 * lane + i;
        constexpr int kNext = kSets * kSetColumns;
        acc[set][i] = __fadd_rn(__fadd_rn(sum[0], sum[kNext]), __fadd_rn(sum[2 * kNext], sum[3 * kNext]));
      }
    }
  }

  /// The sum of one number per thread, a butterfly; every thread has it.
  __device__ float block_sum(float value) const {
    __syncthreads();
    shared.numbers[threadIdx.x] = value;
    __syncthreads();
    const float* x = shared.numbers + threadIdx.x % 32;
    float sum = __fadd_rn(__fadd_rn(x[0], x[64]), __fadd_rn(x[32], x[96]));
    for (int offset = 16; offset > 0; offset /= 2) {
      sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffU, sum, offset));
    }
    return sum;
  }
};

}  // namespace flashproof::FP_EXECUTOR
