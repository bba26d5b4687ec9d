// The fields of a backward declaration by their names, as ../arithmetic_fields.h has those of a forward one.
#pragma once

#include <span>
#include <type_traits>

#include "reference/bound/backward/arithmetic.h"
#include "reference/bound/declare/arithmetic_fields.h"

namespace flashproof::bound {

template <>
inline std::span<const Name<GradientScale>> names_of() {
  static constexpr Name<GradientScale> kNames[] = {{"output", GradientScale::output},
                                                   {"weights", GradientScale::weights}};
  return kNames;
}

template <class A, class Visit>
  requires std::is_same_v<std::remove_const_t<A>, Accumulation>
void fields(A& sum, Visit&& visit) {
  visit("products", sum.products);
  visit("block", sum.block, Range{0, kMostBlock});
  visit("heads_apart", sum.heads_apart);
  visit("partial", sum.partial);
  visit("heads_any", sum.heads_any);
}

/// All but `delta`: of a pass that sums D from P of its own there is no bound for o and lse that are inputs.
template <class A, class Visit>
  requires std::is_same_v<std::remove_const_t<A>, BackwardArithmetic>
void fields(A& a, Visit&& visit) {
  visit("exponent", a.exponent);
  visit("unit", a.unit);
  visit("exp_error", a.exp_error, Interval{0, 0.5});
  visit("dot", a.dot);
  visit("products", a.products);
  visit("row_sum", a.row_sum);
  visit("p", a.p);
  visit("ds", a.ds);
  visit("dq", a.dq);
  visit("dk", a.dk);
  visit("dv", a.dv);
  visit("scale", a.scale);
  visit("factors_scaled", a.factors_scaled);
  visit("stored_weights", a.stored_weights);
  visit("dp", a.dp);
  visit("apart", a.apart);
  visit("underflow", a.underflow);
}

}  // namespace flashproof::bound
