#include "reports/diagnose/cause/constant_causes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <string>

#include "reference/error/element.h"
#include "reference/error/judge.h"

namespace flashproof {
namespace {

/// Fewer elements than these may be the same without saying anything.
constexpr std::uint64_t kEnough = 16;

/// What one output holds, over all cases.
struct Held {
  std::uint64_t elements = 0;
  double value = 0;
  bool same = true, fails = false;

  void add(double x) {
    same = same && !std::isnan(x) && (elements == 0 || x == value);
    value = x;
    ++elements;
  }
  bool constant() const { return same && fails && elements >= kEnough; }
};

using HeldParts = std::array<Held, kPartCount>;

void add(const Observation& seen, HeldParts& held) {
  if (!seen.error().empty()) return;
  for (const Part part : seen.parts()) {
    if (!returned(seen.kernel().contract, part)) continue;
    const Tensor& tensor = seen.output()[part];
    Held& of = held[static_cast<std::size_t>(part)];
    for (std::int64_t i = 0; i < seen.rows(part) * seen.width(part); ++i) {
      of.fails = of.fails || seen.kind(part, i) == VerdictKind::fail;
      // What was never written holds a pattern, not a result.
      of.same = of.same && tensor.bits(i) != poison_bits(tensor.format);
      of.add(decode(tensor.format, tensor.bits(i)));
    }
  }
}

/// How many elements of constant outputs fail; none if one of another output does.
std::uint64_t failing_constants(const Observation& seen, const HeldParts& held) {
  std::uint64_t failing = 0;
  for (const Part part : seen.parts()) {
    for (std::int64_t i = 0; i < seen.rows(part) * seen.width(part); ++i) {
      if (seen.kind(part, i) != VerdictKind::fail) continue;
      if (!held[static_cast<std::size_t>(part)].constant()) return 0;
      ++failing;
    }
  }
  return failing;
}

}  // namespace

std::vector<Cause> by_constants(const Looked& looked, std::vector<bool>& open) {
  HeldParts held;
  for (const auto* cases : {&looked.failing, &looked.passing})
    for (const Observation& seen : *cases) add(seen, held);
  std::vector<std::string> names, values;
  for (std::size_t part = 0; part < kPartCount; ++part) {
    if (!held[part].constant()) continue;
    names.emplace_back(name(static_cast<Part>(part)));
    values.push_back(fmt::format("{} is {} in every element", names.back(), held[part].value));
  }
  if (names.empty()) return {};
  Cause cause{.id = fmt::format("constant.{}", fmt::join(names, "+")),
              .sentence = fmt::format("{}, whatever the input", fmt::join(values, ", "))};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const std::uint64_t failing = open[i] ? failing_constants(looked.failing[i], held) : 0;
    if (failing == 0) continue;
    open[i] = false;
    ++cause.cases;
    cause.elements += failing;
    if (cause.witness.empty()) cause.witness = to_string(looked.failing[i].subject().spec);
  }
  cause.confident = cause.cases > 0;
  return cause.cases > 0 ? std::vector<Cause>{std::move(cause)} : std::vector<Cause>{};
}

}  // namespace flashproof
