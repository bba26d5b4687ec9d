#include "reference/model/state.h"

#include <numbers>

namespace flashproof::model {

float Endings::natural_frame(float frame) const { return unit_ == 1.0F ? frame : machine_.mul(frame, unit_); }

float Endings::lse(float frame, float l) {
  if (arithmetic_.lse_form == LseForm::base2) {
    const auto factor = static_cast<float>(unit_ * std::numbers::log2e);
    const float sum = machine_.add(machine_.mul(frame, factor), machine_.log2(l, 0));
    return machine_.mul(sum, static_cast<float>(std::numbers::ln2));
  }
  return machine_.add(natural_frame(frame), machine_.log(l, 0));
}

float Endings::factor(float frame, float l, float lse) {
  switch (arithmetic_.ending) {
    case Ending::divide:
      return 1.0F;
    case Ending::multiply_reciprocal:
      return machine_.reciprocal(l, 1);
    case Ending::division_free:
      break;
  }
  return natural_.weight(natural_frame(frame), lse, 1);
}

float Endings::quotient(float n, float l, float factor) const {
  return arithmetic_.ending == Ending::divide ? machine_.div(n, l) : machine_.mul(n, factor);
}

Normalised Endings::end(const State& state) {
  Normalised result{.o = state.o, .pull = state.pull};
  if (state.empty()) {
    result.o.assign(state.o.size(), 0.0F);
    return result;
  }
  result.lse = lse(state.frame, state.l);
  const float prepared = factor(state.frame, state.l, result.lse);
  for (float& o : result.o) o = quotient(o, state.l, prepared);
  return result;
}

}  // namespace flashproof::model
