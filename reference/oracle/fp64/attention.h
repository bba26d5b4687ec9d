// Attention in doubles with a rigorous radius for every element of o and lse. Derivation: README.md, "Attention".
#pragma once

#include <cstdint>
#include <span>

#include "reference/oracle/fp64/vector/certified_log.h"
#include "reference/oracle/tiers.h"

namespace flashproof {

/// One multiplier per term of the radius, named as in README.md. 1 in the product; the tests set one to 0 or 1/2 to see
/// that its absence is noticed.
struct AttentionTerms {
  double scores = 1;    // h_D u |α| ‖q‖ ‖k‖: rounding of the dot products
  double factor = 1;    // |β| ‖q‖ ‖k‖: what a double does not hold of the scale times its descale factors
  double argument = 1;  // what scaling, bias and the subtraction of m lost
  double softcap = 1;   // rounding of c·tanh(x / c)
  double exp = 1;       // kExpError of every weight
  double vanished = 1;  // weights that are taken for 0
  double sum = 1;       // h_L u L: rounding of L = Σ w
  double values = 1;    // h_N u Σ w |v|: rounding of N = Σ w v
  double chunks = 1;    // adding one chunk's sums to those before
  double rescale = 1;   // moving to a larger m
  double output = 1;    // rounding of N / L
  double descale = 1;   // rounding of v_descale·o
  LogTerms log;
  double shift = 1;             // rounding of lse = m + log L
  double certificate = 0x1p53;  // quanta up to which a dot product is exact
};

struct AttentionOptions {
  AttentionTerms terms;
  std::int64_t chunk = 0;  // keys per chunk, a multiple of 32; 0: 512, fewer for a large depth
  std::int64_t pack_bytes = std::int64_t{32} << 20;  // of K and V kept packed at a time, at least one chunk
  double growth = 8;                                 // how far (nats) a score may exceed m before m moves; 0 .. 16
};

/// As fp64_tier (tiers.h), for a Truth that has its size.
void fp64_attention(const AttentionProblem& problem, std::span<const std::int64_t> rows, const Threads& threads,
                    Truth& truth, std::span<RowCause> cause, const AttentionOptions& options);
inline void fp64_attention(const AttentionProblem& problem, std::span<const std::int64_t> rows, const Threads& threads,
                           Truth& truth, std::span<RowCause> cause) {
  fp64_attention(problem, rows, threads, truth, cause, {});
}

/// Bytes that fp64_attention allocates besides the truth, from above.
std::int64_t fp64_attention_memory(const AttentionProblem& problem, std::int64_t rows, int threads);

}  // namespace flashproof
