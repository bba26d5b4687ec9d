// Power: how much of an output a test has decided. An element is decided if it is in its domain and whatever the judge would
// have accepted excludes NaN, the infinities and every wrong trivial answer (trivial.h). It depends on the case and on what
// the kernel declares, never on what the kernel returned: a wide bound, a narrow domain or an easy case has little power.
//
//   decided    bound_with_rounding(B') < distance to the nearest wrong trivial answer, and the class is a single one
//   trivial    the same, but a trivial answer, a NaN or an infinity is the right one: other answers are excluded, this is not
//   outside    not in the domain of the bound, or beyond a range that the kernel refuses: NaN would do
//   open       the semantics list more than one class, or the kernel declares none (kUnspecified)
//   infinity   an end of what is accepted rounds to an infinity
//   the rest   the trivial answer that is accepted; of several the nearest to the exact value
//
// A pass needs at least kLeastDecided of each output's elements decided or trivial, otherwise it is `undecided`
// (require_power()). A whole run needs more: properties/laws/run_power.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reference/error/element.h"
#include "reference/error/judge.h"
#include "reference/error/trivial.h"

namespace flashproof {

enum class Decided : std::uint8_t {
  yes,
  trivial,
  outside,
  open,
  infinity,
  zero,
  one,
  copy,
  uniform,
  extreme,
  maximum,
  twice
};
inline constexpr std::size_t kDecided = 12;
/// "decided", "outside", ...: keys of report.json.
std::string_view name(Decided decided);

/// The share of an output's elements that a pass must have decided. README.md, "Power", has what the default families reach.
inline constexpr double kLeastDecided = 0.5;

/// Elements of one output, by what became of them; a commutative monoid.
struct PowerCounts {
  std::array<std::uint64_t, kDecided> counts{};

  std::uint64_t of(Decided decided) const { return counts[static_cast<std::size_t>(decided)]; }
  std::uint64_t elements() const;
  /// Decided or trivial, of elements(), 0..1; 1 where there are none: an empty output has nothing left open.
  double share() const;
  /// The commonest of the reasons that left elements undecided; yes if all were decided.
  Decided reason() const;
  void merge(const PowerCounts& other);
  bool operator==(const PowerCounts&) const = default;
};

/// Of all outputs of a kernel, by Part. Those that it does not return have no elements.
struct Power {
  std::array<PowerCounts, kPartCount> parts{};

  const PowerCounts& of(Part part) const { return parts[static_cast<std::size_t>(part)]; }
  PowerCounts& of(Part part) { return parts[static_cast<std::size_t>(part)]; }
  std::uint64_t elements() const;
  std::uint64_t decided() const;
  void merge(const Power& other);
  /// The output with the least share below `least`; ties: the first. None: every output has that much.
  std::optional<Part> weakest(double least = kLeastDecided) const;
  bool operator==(const Power&) const = default;
};

Decided decided(const Element& element, const Contract& contract, const TrivialGap& gap);

/// The balls are those that the judgement climbed to.
Power power_of(const Output& output, const Truth& truth, const Bound& bound, const Judgement& judgement,
               const Contract& contract, const TrivialGaps& gaps);

/// One sentence without a full stop on the output that was decided least: "6 % of o was decided: 94 % of it lies outside the
/// domain that the kernel declares".
std::string power_text(Part part, const PowerCounts& counts);

/// "o 95 %, lse 97 %", rounded down; outputs without elements are left out.
std::string shares_text(const Power& power);

/// A pass that has decided too little of some output is `undecided`, with the sentence of its weakest one. Anything else stays.
Verdict require_power(Verdict verdict, const Power& power);

}  // namespace flashproof
