// The gradient of attention as a problem: which exact function its dq, dk and dv are. Special values: README.md of
// reference/oracle/backward.
//
//   P_ij = e^(s_ij − lse_i),  D_i = Σ_c do_ic o_ic,  dP_ij = do_i·v_j,  dS_ij = P_ij (dP_ij − D_i)
//   dq_i = τ Σ_j dS_ij k_j,   dk_j = τ Σ_i dS_ij q_i,   dv_j = Σ_i P_ij do_i
//
// Sums over j run over the keys that query i sees, sums over i over the queries of all heads that read this kv head.
#pragma once

#include <cstdint>
#include <string_view>

#include "reference/problem/forward.h"

namespace flashproof {

/// stage: lse and o are inputs like the others, whatever numbers they are: what the backward kernel alone computes.
/// gradient: lse and o are those of the exact forward function; what the tensors hold is what a forward kernel made of
/// them, the kernel under test reads that, and its error is part of what is allowed.
enum class BackwardMode : std::uint8_t { stage, gradient };
std::string_view name(BackwardMode mode);

struct BackwardProblem {
  AttentionProblem forward;  // of its features: window and ALiBi; its plan orders nothing here
  Tensor d_out;              // (B, Hq, Sq, dv), the format of q
  Tensor o;                  // (B, Hq, Sq, dv), f32, f16 or bf16
  Tensor lse;                // (B, Hq, Sq), f32, natural logarithm
  BackwardMode mode = BackwardMode::stage;

  bool operator==(const BackwardProblem&) const = default;
  /// Rows of dq, and of dk and dv: row-major over (B, Hq, Sq) and (B, Hk, Sk). Widths d, d and dv.
  std::int64_t query_rows() const { return forward.batch() * forward.q_heads() * forward.q_length(); }
  std::int64_t key_rows() const { return forward.batch() * forward.k_heads() * forward.k_length(); }
  /// Query heads that read one kv head.
  std::int64_t group() const { return forward.q_heads() / forward.k_heads(); }
};

/// Throws UsageError naming the first argument that does not fit and its legal range; softcap, sink, packed and paged
/// attention, descale factors and mixed formats are refused by the feature's name.
void validate(const BackwardProblem& problem);

}  // namespace flashproof
