// The strength of a seeded fault that has one: a threshold, a number of ulp, a count. Read by the mutated kernel, set for
// one run. CPU executor only, as the faults are.
#pragma once

namespace flashproof {

/// Of the fault that runs; what it is counted in, its diff says (field `dose`).
double fault_dose();

class ScopedDose {
 public:
  explicit ScopedDose(double dose);
  ~ScopedDose();
  ScopedDose(const ScopedDose&) = delete;
  ScopedDose& operator=(const ScopedDose&) = delete;

 private:
  double outer_;
};

}  // namespace flashproof
