// What a row of attention computes before any exponential: decoded keys and values, the exact scores s_j and the error
// bound D_j of each (README.md, sections 1 and 2).
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/bound/bound.h"
#include "reference/bound/row/decode_row.h"
#include "reference/bound/row/row_model.h"
#include "reference/bound/score_units.h"

namespace flashproof::bound {

struct KeySize {
  double sum = 0, largest = 0;  // Σ|x|, max|x|, NaN apart
  double tiny = 0;              // Σ|x| over components below `normal`
};
KeySize size_of(const double* x, std::int64_t n, double normal);

/// K and V of one sequence and one kv head as dense doubles, with what the error bounds ask of each key. Reused.
struct AttentionHead {
  std::int64_t keys = 0;          // visible_length of the sequence
  std::vector<double> k, v;       // (keys, d), (keys, dv)
  std::vector<double> k_sum;      // per key: Σ|k|
  std::vector<double> k_max;      // max|k|
  std::vector<double> k_tiny;     // Σ|k| over the components below min_normal(format), which a unit or ftz treats apart
  std::vector<double> v_largest;  // per column over all keys; +inf where one is not finite
  bool v_tiny = false;            // some |v| below min_normal(format)

  void load(const AttentionProblem& p, std::int64_t s, std::int64_t kv);
};

/// Log units of β: one step of a matrix unit errs by at most β (|c| + Σ|a b|), for factors of these fraction bits.
double unit_step(const BlockFma& unit, int product_bits, int accumulator_bits);
/// Absolute error of a step beside that: addends cut beside a subnormal accumulator (or where the
/// exponent is clamped at −133), a subnormal result.
double unit_underflow(const BlockFma& unit);
/// Fraction bits of a number of this format, 10 if it is cut to tf32.
int fraction_bits(Format format, bool tf32);

/// The unit of the computed scores, and ĉ.
struct ScoreScale {
  Rate<Uncapped, Dot> tau = {};    // scale·q_descale·k_descale
  double tau_error = 0;            // ρ: τ^ = τ(1 + δ), |δ| <= ρ; 0 without descale factors
  double tau_largest = 0;          // largest magnitude formed on the way to τ^; 0 without descale factors
  double tau_per_cap = 0;          // raw under a softcap: the computed τ/c at most; else 0
  Rate<Nats, Raw> unit = {};       // natural score = unit · x^
  double unit_error = 0;           // of the computed unit: ρ where it is τ^, else 0
  double c_error = 0;              // u_c: ĉ = unit · log2 e · (1 + δ), |δ| <= u_c
  Rate<Octaves, Raw> c_hat = {0};  // ĉ

  /// What a flushed difference of two computed scores may be: less than 2^-126 of their unit. From 512 on, where the
  /// unit is far beyond the f32 range, more does not matter.
  Nats flushed_difference(const Arithmetic& arithmetic) const {
    if (arithmetic.underflow != Underflow::flush) return {};
    const Nats lost = unit(Raw{0x1p-126}) * (1 + unit_error);
    return lost < Nats{512} ? lost : Nats{512};
  }
};
ScoreScale score_scale(const AttentionProblem& p, const Arithmetic& arithmetic, std::int64_t s, std::int64_t kv);

/// One query row as the dot products see it.
struct QueryRow {
  double sum = 0, largest = 0;  // Σ|q|, max|q|
  double tiny = 0;              // Σ|q| over components below min_normal(format)
};

/// Scores of a row, in the order of the keys; only what score() has filled is current.
struct Scores {
  std::vector<double> value;    // s_j; −inf: as if hidden; not finite otherwise: the row is symbolic
  std::vector<double> error;    // D_j
  std::vector<double> own;      // the part of it that is this key's alone, and rounded to nearest
  std::vector<double> largest;  // largest magnitude the kernel forms on the way, in its own units
  std::vector<double> dot;      // error of the dot product

  void resize(std::size_t n) {
    for (auto* array : {&value, &error, &own, &largest, &dot}) array->resize(n);
  }
};

/// What is added to the scores of a row after they are capped.
struct ScoreTerms {
  const double* bias = nullptr;  // one per key, or none
  std::int64_t sequence = 0, head = 0, query = 0;
};

/// Everything about a score that does not depend on the key.
class ScoreModel {
 public:
  /// Of one sequence and kv head.
  ScoreModel(const AttentionProblem& p, const Arithmetic& arithmetic, const ScoreScale& scale);

  const ScoreScale& scale() const { return scale_; }
  /// Largest magnitude among a row's scaled queries and the largest finite number of their format; 0: not scaled.
  Precondition query_range(const QueryRow& q) const;
  /// Keys [first, first + count) into to[0, count): dot[j], size[j] and terms.bias[j] are those of key first + j. Every
  /// step is a loop over arrays without branches, but for softcap's.
  void score(const double* dot, const double* size, const QueryRow& q, const AttentionHead& head, std::int64_t first,
             std::int64_t count, const ScoreTerms& terms, Scores& to) const;
  /// The sink's, into to[0].
  void sink(double value, Scores& to) const;
  /// Largest magnitude of a partial sum of products that sum up to `size` in absolute value, as the kernel forms it.
  double partial_sum(double size) const {
    return (scaled_query_ ? tau_ * (1 + query_relative_) : 1) * size * (1 + depth_);
  }

 private:
  /// Relative, of a quotient by the computed unit beside its roundings, and what those make of it.
  double quotient_error() const { return unit_inverse_error_ * (1 + 0x1p-20); }
  void score_dots(const double* dot, const double* size, const QueryRow& q, const AttentionHead& head,
                  std::int64_t first, std::int64_t count, Scores& to) const;
  void add_softcap(const double* dot, std::int64_t count, Scores& to) const;
  void add_bias(const double* bias, std::int64_t count, Scores& to) const;
  void add_distances(const ScoreTerms& terms, std::int64_t first, std::int64_t count, Scores& to) const;
  template <class Term, class TermError>
  void add(std::int64_t count, Scores& to, double formed, Term&& term, TermError&& term_error) const;

  const AttentionProblem& p_;
  const Arithmetic& a_;
  ScoreScale scale_;
  bool raw_, flush_, scaled_query_;
  double tau_;                             // |τ|
  double tau_error_, unit_inverse_error_;  // ρ; of a quotient by the computed unit
  double eta_, sum_eta_;                   // absolute: of a product, of a sum
  double query_relative_ = 0, query_absolute_ = 0;
  double tf32_ = 0;        // relative, of a product of cut inputs
  double depth_ = 0;       // relative, of the sum
  double operations_ = 0;  // absolute, of the sum, without the factors' own exponents
  double cut_ = 0;         // unit: absolute error per 2^e of a step, all steps
  double q_normal_ = 0, k_normal_ = 0;
};

}  // namespace flashproof::bound
