#include "reference/model/combine.h"

#include <algorithm>

namespace flashproof::model {

namespace {

/// A state of a fold, and whether a join made it: then its lse has been stored in between.
struct Node {
  Normalised state;
  bool joined = false;

  bool empty() const { return state.empty(); }
};

class Pairwise {
 public:
  Pairwise(Machine& machine, const Arithmetic& arithmetic, const Combination& combination)
      : machine_(machine),
        reciprocal_(arithmetic.ending == Ending::multiply_reciprocal),
        combination_(combination),
        natural_(machine, arithmetic.exponent, 1.0F) {}

  Node join(Node a, Node b) {
    for (Node* node : {&a, &b}) {
      if (node->joined) node->state.lse = static_cast<float>(round_to(combination_.lse_format, node->state.lse));
    }
    Node result{.state = {.pull = a.state.pull + b.state.pull}, .joined = true};
    switch (combination_.weights) {
      case MergeWeights::stable:
        stable(a.state, b.state, result.state);
        break;
      case MergeWeights::one_sided:
        one_sided(a.state, b.state, result.state);
        break;
      default:
        running(a.state, b.state, result.state);
    }
    return result;
  }

 private:
  void stable(const Normalised& a, const Normalised& b, Normalised& result) {
    const bool a_larger = a.lse > b.lse;
    const Normalised& larger = a_larger ? a : b;
    const Normalised& smaller = a_larger ? b : a;
    const float e = natural_.weight(smaller.lse, larger.lse, smaller.pull);
    const float sum = machine_.add(1.0F, e);
    const float r = reciprocal_ ? machine_.reciprocal(sum, larger.pull) : 0.0F;
    const float w_larger = reciprocal_ ? r : machine_.div(1.0F, sum);
    const float w_smaller = reciprocal_ ? machine_.mul(e, r) : machine_.div(e, sum);
    result.lse = machine_.add(larger.lse, machine_.log(sum, 0));
    weighted(a, b, a_larger ? w_larger : w_smaller, a_larger ? w_smaller : w_larger, result);
  }

  void one_sided(const Normalised& a, const Normalised& b, Normalised& result) {
    const float a_divisor = machine_.add(1.0F, natural_.weight(b.lse, a.lse, -a.pull));
    const float b_divisor = machine_.add(1.0F, natural_.weight(a.lse, b.lse, -b.pull));
    result.lse = machine_.add(a.lse, machine_.log(a_divisor, 0));
    for (std::size_t c = 0; c < a.o.size(); ++c) {
      result.o.push_back(machine_.add(machine_.div(a.o[c], a_divisor), machine_.div(b.o[c], b_divisor)));
    }
  }

  void running(const Normalised& a, const Normalised& b, Normalised& result) {
    const float sum = machine_.add(1.0F, natural_.weight(b.lse, a.lse, b.pull));
    result.lse = machine_.add(a.lse, machine_.log(sum, 0));
    const float w_a = natural_.weight(a.lse, result.lse, a.pull);
    weighted(a, b, w_a, natural_.weight(b.lse, result.lse, b.pull), result);
  }

  void weighted(const Normalised& a, const Normalised& b, float w_a, float w_b, Normalised& result) const {
    for (std::size_t c = 0; c < a.o.size(); ++c) {
      result.o.push_back(machine_.add(machine_.mul(w_a, a.o[c]), machine_.mul(w_b, b.o[c])));
    }
  }

  Machine& machine_;
  bool reciprocal_;
  const Combination& combination_;
  Exponentials natural_;
};

Normalised combine_flat(Machine& machine, const Arithmetic& arithmetic, const Combination& combination,
                        const std::vector<Normalised>& states) {
  Endings endings(machine, arithmetic, 1.0F);
  Normalised result{.o = std::vector<float>(states[0].o.size(), 0.0F)};
  float largest = kMinusInf;
  for (const Normalised& state : states) largest = Machine::max(largest, state.lse);
  if (largest == kMinusInf) return result;
  const bool unshifted = combination.weights == MergeWeights::unshifted;
  std::vector<float> weights;
  float sum = 0.0F;
  for (const Normalised& state : states) {
    if (state.empty()) {
      weights.push_back(0.0F);
      continue;
    }
    weights.push_back(unshifted ? endings.natural().unshifted(state.lse, state.pull)
                                : endings.natural().weight(state.lse, largest, state.pull));
    sum = machine.add(sum, weights.back());
  }
  result.lse = unshifted ? machine.log(sum, 0) : machine.add(largest, machine.log(sum, 0));
  const bool division_free = combination.weights == MergeWeights::division_free;
  const float prepared = division_free ? 1.0F : endings.factor(unshifted ? 0 : largest, sum, result.lse);
  for (std::size_t c = 0; c < states.size(); ++c) {
    if (states[c].empty()) continue;  // whatever its o holds
    if (division_free) weights[c] = endings.natural().weight(states[c].lse, result.lse, states[c].pull);
    for (std::size_t i = 0; i < result.o.size(); ++i)
      result.o[i] = machine.fma(weights[c], states[c].o[i], result.o[i]);
  }
  if (!division_free) {
    for (float& o : result.o) o = endings.quotient(o, sum, prepared);
  }
  return result;
}

/// e^{a − b} of two frames.
float factor(Exponentials& exponentials, bool rescales, float a, float b, double pull) {
  return rescales ? exponentials.ratio(a, b, pull) : exponentials.weight(a, b, pull);
}

State sum_flat(Machine& machine, Exponentials& exponentials, bool rescales, const std::vector<State>& states) {
  State result{.o = std::vector<float>(states[0].o.size(), 0.0F)};
  for (const State& state : states) result.frame = Machine::max(result.frame, state.frame);
  for (const State& state : states) {
    if (state.empty()) continue;
    const float alpha = factor(exponentials, rescales, state.frame, result.frame, state.pull);
    result.l = machine.fma(alpha, state.l, result.l);
    for (std::size_t i = 0; i < result.o.size(); ++i) result.o[i] = machine.fma(alpha, state.o[i], result.o[i]);
  }
  return result;
}

State sum_pair(Machine& machine, Exponentials& exponentials, bool rescales, const State& a, const State& b) {
  State result{.frame = Machine::max(a.frame, b.frame), .pull = a.pull + b.pull};
  const float alpha = factor(exponentials, rescales, a.frame, result.frame, a.pull);
  const float beta = factor(exponentials, rescales, b.frame, result.frame, b.pull);
  result.l = machine.add(machine.mul(alpha, a.l), machine.mul(beta, b.l));
  for (std::size_t i = 0; i < a.o.size(); ++i) {
    result.o.push_back(machine.add(machine.mul(alpha, a.o[i]), machine.mul(beta, b.o[i])));
  }
  return result;
}

}  // namespace

Normalised combine(Machine& machine, const Arithmetic& arithmetic, const Combination& combination,
                   std::vector<Normalised> states) {
  if (combination.reduction == Reduction::flat) return combine_flat(machine, arithmetic, combination, states);
  Pairwise pairwise(machine, arithmetic, combination);
  std::vector<Node> nodes;
  nodes.reserve(states.size());
  for (Normalised& state : states) nodes.push_back({.state = std::move(state)});
  Normalised result = join_all(combination, std::move(nodes), [&](Node a, Node b) {
                        return pairwise.join(std::move(a), std::move(b));
                      }).state;
  if (result.empty()) std::ranges::fill(result.o, 0.0F);
  return result;
}

Normalised combine_sums(Machine& machine, const Arithmetic& arithmetic, const Combination& combination, float unit,
                        std::vector<State> states) {
  Exponentials exponentials(machine, arithmetic.exponent, unit);
  Endings endings(machine, arithmetic, unit);
  if (combination.reduction == Reduction::flat)
    return endings.end(sum_flat(machine, exponentials, combination.rescales, states));
  return endings.end(join_all(combination, std::move(states), [&](const State& a, const State& b) {
    return sum_pair(machine, exponentials, combination.rescales, a, b);
  }));
}

}  // namespace flashproof::model
