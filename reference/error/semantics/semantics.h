// Where right kernels differ in what they return, by what they declare: rows without a key, the base of lse, the alignment of
// causal masks, rows that see NaN or +inf. What each means, what is legal and what it is called in JSON, TOML and Python: the table
// semantics_fields() (semantics_json.h); what the truth becomes: declared_truth.h.
#pragma once

#include <cstdint>

namespace flashproof {

/// o of a row that sees no key. mean: of the values of all keys that are stored for its sequence, as of equal weights.
enum class EmptyOutput : std::uint8_t { zero, nan, mean, any };
/// lse where no number is right. any: not judged.
enum class LseValue : std::uint8_t { nan, plus_infinity, minus_infinity, any };
enum class LseBase : std::uint8_t { e, two };
/// Of causal and window: query i lies beside key i + Sk − Sq, or beside key i.
enum class Diagonal : std::uint8_t { bottom_right, top_left };
/// o where NaN is right, or not judged there.
enum class NanOutput : std::uint8_t { nan, any };
/// A state of a merge with lse = +inf makes the row NaN; or is no state, as one with −inf.
enum class InfiniteState : std::uint8_t { nan, empty };

struct Semantics {
  EmptyOutput empty_o = EmptyOutput::zero;
  LseValue empty_lse = LseValue::minus_infinity;
  LseBase lse_base = LseBase::e;
  Diagonal diagonal = Diagonal::bottom_right;
  NanOutput nan_o = NanOutput::nan;
  LseValue nan_lse = LseValue::nan;  // a visible score is NaN
  LseValue inf_lse = LseValue::nan;  // a visible score is +inf, none is NaN
  InfiniteState inf_state = InfiniteState::nan;

  bool operator==(const Semantics&) const = default;
};

}  // namespace flashproof
