// The input tensors of a problem, those without a shape too. The o and lse of a gradient follow from the others: what is made
// simpler leaves them out, and simpler_problem() computes them.
#pragma once

#include <vector>

#include "reference/problem/problems.h"

namespace flashproof {

// `P` may be const.
template <class P>
auto tensors_in(P& p, const SoftmaxProblem&) {
  return std::vector{&p.x};
}
template <class P>
auto tensors_in(P& p, const MergeProblem&) {
  return std::vector{&p.o, &p.lse, &p.l};
}
template <class P>
auto tensors_in(P& p, const AttentionProblem&) {
  return std::vector{&p.q, &p.k, &p.v, &p.bias, &p.alibi, &p.sink, &p.q_descale, &p.k_descale, &p.v_descale};
}
template <class P>
auto tensors_in(P& p, const BackwardProblem&) {
  auto list = tensors_in(p.forward, p.forward);
  list.push_back(&p.d_out);
  return list;
}
template <class P>
auto tensors_of(P& p) {
  return tensors_in(p, p);
}

template <class P>
void leave_out_outputs(P&) {}
inline void leave_out_outputs(BackwardProblem& p) { p.o = p.lse = {}; }

}  // namespace flashproof
