// The same numbers at other places in memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/problem/backward.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// The same elements, bit for bit, in storage whose axes lie as `order` says, outermost first, and which has room for
/// room[a] more elements along axis a. What is room is 0xff.
Tensor relaid(const Tensor& tensor, std::span<const int> order, std::span<const std::int64_t> room);
/// Row-major and without gaps.
Tensor packed_together(const Tensor& tensor);

/// Calls visit(tensor) for every tensor that the problem has.
template <class Visit>
void for_each_tensor(SoftmaxProblem& p, Visit visit) {
  visit(p.x);
}
template <class Visit>
void for_each_tensor(MergeProblem& p, Visit visit) {
  visit(p.o);
  visit(p.lse);
  if (p.has_l()) visit(p.l);
}
template <class Visit>
void for_each_tensor(AttentionProblem& p, Visit visit) {
  for (Tensor* t : {&p.q, &p.k, &p.v, &p.bias, &p.alibi, &p.sink, &p.q_descale, &p.k_descale, &p.v_descale}) {
    if (!t->shape.empty()) visit(*t);
  }
}
template <class Visit>
void for_each_tensor(BackwardProblem& p, Visit visit) {
  for_each_tensor(p.forward, visit);
  for (Tensor* t : {&p.d_out, &p.o, &p.lse}) visit(*t);
}

}  // namespace flashproof
