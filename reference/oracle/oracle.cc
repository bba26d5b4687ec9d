#include "reference/oracle/oracle.h"

#include "reference/oracle/environment_guard.h"
#include "reference/oracle/oracle_parts.h"

namespace flashproof {

Truth compute_truth(const Problem& problem) {
  require_ieee_environment();
  validate(problem);  // refuses every format but f32, f16 and bf16, which is what this tier is proved for
  return std::visit([](const auto& p) { return exact_truth(p); }, problem);
}

}  // namespace flashproof
