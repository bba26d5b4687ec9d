#include "kernels/refusal.h"

namespace flashproof {

std::string Refusal::operator()(const Problem& problem) const {
  if (const auto feature = feature_beyond(problem, takes_)) {
    return std::string(name(*feature)) + ": this kernel does not take it, legal: " + std::string(absence(*feature));
  }
  return !own_ ? std::string() : own_(problem);
}

}  // namespace flashproof
