// The input tensors of a problem, those without a shape too. The o and lse of a gradient follow from the others: what is made
// simpler leaves them out, and simpler_problem() computes them.
#pragma once

#include <concepts>
#include <type_traits>
#include <vector>

#include "reference/problem/fields.h"

namespace flashproof {

/// `P` may be const.
template <class P>
auto tensors_of(P& problem) {
  std::vector<std::conditional_t<std::is_const_v<P>, const Tensor, Tensor>*> list;
  for_each_field(problem, [&]<class Reference>(const Field& field, Reference&& value) {
    const bool follows = ProblemOf<P, BackwardProblem> && (field.name == "o" || field.name == "lse");
    if constexpr (std::same_as<std::remove_cvref_t<Reference>, Tensor>) {
      if (!follows) list.push_back(&value);
    }
  });
  return list;
}

template <class P>
void leave_out_outputs(P&) {}
inline void leave_out_outputs(BackwardProblem& p) { p.o = p.lse = {}; }

}  // namespace flashproof
