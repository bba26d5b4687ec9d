// One output element beside its truth and its bound, the classes of numbers, and the line that explains a finding.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "reference/bound/bound.h"
#include "reference/oracle/truth.h"
#include "reference/problem/problems.h"

#ifdef __FAST_MATH__
#error "errors measured under -ffast-math mean nothing"
#endif

namespace flashproof {

/// By bits: std::isnan is constant false under -ffast-math.
inline Class class_of(double x) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  if ((bits >> 52 & 0x7ff) != 0x7ff) return kFinite;
  if ((bits & 0xfffffffffffff) != 0) return kNaN;
  return (bits >> 63) != 0 ? kNegInf : kPosInf;
}

struct Element {
  Part part;
  std::int64_t row, column;  // column 0 for lse
  Format format;
  std::uint64_t bits;
  double computed;  // decode(format, bits)
  Ball truth;
  const ElementBound& bound;
  double range;  // +inf for lse and the gradients: they are never vacuous by range
  const RowDomain& domain;
};

/// What the error exceeds only by rare chance; the deterministic bound where none has been evaluated.
inline double probable_bound(const ElementBound& bound) {
  const double total = bound.total();
  return bound.probable > 0 && bound.probable < total ? bound.probable : total;
}

/// Elements of `part`.
inline std::int64_t count(const Truth& truth, Part part) { return static_cast<std::int64_t>(truth[part].size()); }
/// The three must fit together (require_fit); index is row-major.
Element element_at(const Output& output, const Truth& truth, const Bound& bound, Part part, std::int64_t index);
/// The same by row and column (0 for lse), for loops that count them.
inline Element element_at(const Output& output, const Truth& truth, const Bound& bound, Part part, std::int64_t row,
                          std::int64_t column) {
  const bool o = part == Part::o;
  const std::int64_t index = row * truth.width_of(part) + column;
  const auto i = static_cast<std::size_t>(index);
  const Tensor& tensor = output[part];
  const std::uint64_t bits = tensor.bits(index);
  return {part,
          row,
          column,
          tensor.format,
          bits,
          decode(tensor.format, bits),
          truth[part][i],
          bound[part][i],
          o ? bound.range[i] : std::numeric_limits<double>::infinity(),
          o ? bound.domain_of(static_cast<std::size_t>(row), i) : bound.domains(part)[static_cast<std::size_t>(row)]};
}
/// The parts that an output has.
inline std::span<const Part> parts_of(const Output& output) {
  return parts(output.dq.shape.empty() ? ProblemKind::attention : ProblemKind::backward);
}
/// Throws std::logic_error if sizes differ: then the harness is wrong, not the kernel.
void require_fit(const Output& output, const Truth& truth, const Bound& bound);

struct TwoSum {
  double sum, tail;  // sum + tail = a + b exactly (Knuth), barring overflow
};

inline TwoSum two_sum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

/// |computed − (hi + lo)|, rounded away from zero if it is not exact; sign of the difference. Both finite.
inline double signed_error(double computed, const Ball& truth) {
  // computed − hi = s + e exactly. If s is small, e is 0 and s − lo rounds once; if s is large, e and lo are below an
  // ulp of it. So two roundings of 2^-53 at most, and two steps away from zero cover them.
  const TwoSum head = two_sum(computed, -truth.hi);
  const TwoSum tail = two_sum(head.tail, -truth.lo);
  const TwoSum all = two_sum(head.sum, tail.sum);
  if (all.tail == 0 && tail.tail == 0) return all.sum;
  // The next but one of the doubles away from zero: their bits count upwards in magnitude. Only inf has no next.
  if (class_of(all.sum) != kFinite) return all.sum;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(all.sum);
  const double next = std::bit_cast<double>(bits + 1);
  return class_of(next) == kFinite ? std::bit_cast<double>(bits + 2) : next;
}

/// One line: "o[row 3, column 7]: computed 0.25 (0x3e800000, f32), exact 0.5 ± 1e-20, error 0.25, bound 1e-7 =
/// weights 5e-8 + numerator ... (weights dominates)".
std::string describe(const Element& element);

}  // namespace flashproof
