// A forward problem as what all three have in common: every output row is a weighted mean, o = Σ e^{s_j} v_j / Σ e^{s_j}
// and lse = ln Σ e^{s_j}, over keys (attention), states (merge) or columns (softmax, whose v_j is the j-th unit vector).
// Where a hypothesis changes which of them count, and how much, this is what it changes.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "reference/bound/declare/arithmetic.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// 64 bits of significand on x86: what is computed in it is compared with bounds of f32 arithmetic.
using Real = long double;
inline constexpr Real kNothing = -std::numeric_limits<Real>::infinity();

struct Term {
  std::int64_t position = 0;  // of the key, column or state
  Real score = kNothing;      // of hidden ones too
  Real raw = 0;               // attention: q·k, before any factor
  bool visible = false;
  std::int32_t visit = 0;     // which chunk it is in, counted as they are visited; merges: its place in the order
  std::int32_t part = 0;      // of the split
  std::int32_t in_chunk = 0;  // its place in its chunk
};

/// Where the values of a term stand.
struct Values {
  const Tensor* tensor = nullptr;  // null: softmax
  std::int64_t first = 0, step = 0;
  Real factor = 1;
};

struct RowTerms {
  ProblemKind kind = ProblemKind::attention;
  std::int64_t row = 0;
  std::int64_t s = 0, h = 0, i = 0;  // attention: sequence, head, query; else i is the row
  std::int64_t width = 0;            // of o
  std::int64_t block = 0;            // merges of the form concat: columns of one state; else 0
  std::int64_t length = 0;           // keys or columns that the sequence or row has
  bool causal = false;
  Real sink = kNothing;
  int visits = 0, parts = 1;         // how many chunks and parts there are
  std::vector<std::int64_t> begins;  // position where the chunk of a visit begins; of no merge
  Format stored = Format::f32;       // of P, as declared
  bool summed = false;               // the sum has the stored P
  std::int64_t lanes = 1;            // that share the sum
  std::vector<Term> terms;           // by position
  std::vector<Values> values;

  /// Component `column` of the value of terms[at].
  Real value(std::size_t at, std::int64_t column) const;
};

/// Of one output row, in the chunks and parts of a kernel with this declaration. The problem must outlive it.
RowTerms row_terms(const Problem& problem, const Arithmetic& arithmetic, std::int64_t row);

/// Sequence, head and query of an attention's output row.
struct QueryPlace {
  std::int64_t s, h, i;
};
QueryPlace query_place(const AttentionProblem& problem, std::int64_t row);

/// The part of a split that the chunk of this visit belongs to.
int part_of_visit(int visit, int visits, int parts);

/// ln Σ e^x, NaN if one is; kNothing of none.
Real log_sum(const std::vector<Real>& exponents);

}  // namespace flashproof
