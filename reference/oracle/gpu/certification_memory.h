// What a certification allocates, before it does.
#pragma once

#include <cstdint>

#include "reference/oracle/gpu/production_problem.h"

namespace flashproof {

/// Rows that the CPU computes: of every head without a GPU, of the whole problem with one.
struct CertificationRows {
  bool gpu = false;
  std::int64_t count = 0;
};

/// Host memory in bytes, from above, without what a GPU's driver keeps. The shape has been checked.
double certification_bytes(const ProductionShape& shape, const CertificationRows& rows, int threads);

/// Throws UsageError with the figure, what it is made of and the option that drives it: if the host would need more than
/// `limit` bytes; with a GPU also if the device has less free than the tier allocates there.
void require_certification_memory(const ProductionShape& shape, const CertificationRows& rows, int threads,
                                  std::int64_t limit);

}  // namespace flashproof
