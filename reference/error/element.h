// One output element beside its truth and its bound, the classes of numbers, and the line that explains a finding.
#pragma once

#include <cstdint>
#include <string>

#include "reference/bound/bound.h"
#include "reference/oracle/truth.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// By bits: std::isnan is constant false under -ffast-math.
Class class_of(double x);

enum class Part : std::uint8_t { o, lse };

struct Element {
  Part part;
  std::int64_t row, column;  // column 0 for lse
  Format format;
  std::uint64_t bits;
  double computed;  // decode(format, bits)
  const Ball& truth;
  const ElementBound& bound;
  double range;  // +inf for lse: it is never vacuous by range
  const RowDomain& domain;
};

/// Elements of `part`: rows·width or rows.
std::int64_t count(const Truth& truth, Part part);
/// The three must fit together (require_fit); index is row-major.
Element element_at(const Output& output, const Truth& truth, const Bound& bound, Part part, std::int64_t index);
/// Throws std::logic_error if sizes differ: then the harness is wrong, not the kernel.
void require_fit(const Output& output, const Truth& truth, const Bound& bound);

/// |computed − (hi + lo)|, rounded away from zero if it is not exact; sign of the difference. Both finite.
double signed_error(double computed, const Ball& truth);

/// One line: "o[row 3, column 7]: computed 0.25 (0x3e800000, f32), exact 0.5 ± 1e-20, error 0.25, bound 1e-7 =
/// weights 5e-8 + numerator ... (weights dominates)".
std::string describe(const Element& element);

}  // namespace flashproof
