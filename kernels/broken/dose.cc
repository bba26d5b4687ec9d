#include "kernels/broken/dose.h"

#include <utility>

namespace flashproof {
namespace {

thread_local double current_dose = 0;

}  // namespace

double fault_dose() { return current_dose; }

ScopedDose::ScopedDose(double dose) : outer_(std::exchange(current_dose, dose)) {}

ScopedDose::~ScopedDose() { current_dose = outer_; }

}  // namespace flashproof
