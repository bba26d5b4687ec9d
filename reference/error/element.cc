#include "reference/error/element.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace flashproof {
namespace {

std::string classes_text(std::uint8_t classes) {
  std::string text;
  const auto append = [&](std::uint8_t bit, const char* name) {
    if ((classes & bit) == 0) return;
    if (!text.empty()) text += " or ";
    text += name;
  };
  append(kPosInf, "inf");
  append(kNegInf, "-inf");
  append(kNaN, "nan");
  append(kUnspecified, "anything, by the declared semantics");
  return text;
}

std::string exact_text(const Ball& truth) {
  std::string text;
  if ((truth.classes & kFinite) != 0) text = fmt::format("{} ± {:.3g}", truth.hi, truth.radius);
  const std::string others = classes_text(truth.classes);
  if (!text.empty() && !others.empty()) text += " or ";
  return text + others;
}

}  // namespace

Element element_at(const Output& output, const Truth& truth, const Bound& bound, Part part, std::int64_t index) {
  const std::int64_t width = truth.width_of(part);
  return element_at(output, truth, bound, part, index / width, index % width);
}

void require_fit(const Output& output, const Truth& truth, const Bound& bound) {
  for (const Part part : parts_of(output)) {
    const auto elements = static_cast<std::size_t>(output[part].elements());
    const std::size_t rows = bound.domains(part).size();
    bool fits = truth[part].size() == elements && bound[part].size() == elements &&
                rows * static_cast<std::size_t>(truth.width_of(part)) == elements;
    if (part == Part::o) {
      fits = fits && bound.rows == truth.rows && bound.width == truth.width && bound.range.size() == elements &&
             bound.accumulator_outside.size() == elements;
    }
    if (!fits) {
      throw std::logic_error(fmt::format("{}: output ({} elements), truth ({}) and bound ({}) do not fit together",
                                         name(part), elements, truth[part].size(), bound[part].size()));
    }
  }
}

std::string describe(const Element& e) {
  std::string text = e.part == Part::lse ? fmt::format("lse[row {}]", e.row)
                                         : fmt::format("{}[row {}, column {}]", name(e.part), e.row, e.column);
  const FormatInfo& format = info(e.format);
  text += fmt::format(": computed {} (0x{:0{}x}, {}), exact {}", e.computed, e.bits, format.bits / 4, format.name,
                      exact_text(e.truth));
  if ((e.truth.classes & kFinite) != 0) {
    if (class_of(e.computed) == kFinite)
      text += fmt::format(", error {:.6g}", std::fabs(signed_error(e.computed, e.truth)));
    const ElementBound& b = e.bound;
    const double terms[] = {b.weights, b.numerator, b.denominator, b.output};
    const char* const names[] = {"weights", "numerator", "denominator", "output"};
    int largest = 0;
    for (int i = 1; i < 4; ++i) {
      if (terms[i] > terms[largest]) largest = i;
    }
    text += fmt::format(", bound {:.6g} = weights {:.4g} + numerator {:.4g} + denominator {:.4g} + output {:.4g} ({})",
                        b.total(), b.weights, b.numerator, b.denominator, b.output,
                        b.total() == 0 ? std::string("all zero") : std::string(names[largest]) + " dominates");
    if (probable_bound(b) < b.total()) text += fmt::format(", probable {:.4g}", probable_bound(b));
  }
  if (!e.domain.holds()) {
    const Precondition& failed = e.domain.nearest;
    text += fmt::format("; out of domain: {}", failed.name);
    // A column's accumulator (Bound::domain_of) fails by an amount that is not kept: load 1 exactly.
    if (failed.load() > 1) text += fmt::format(" ({:.3g}, limit {:.3g})", failed.value, failed.limit);
  }
  if (!e.domain.form.holds()) {
    const Precondition& failed = e.domain.form;
    text += fmt::format("; beyond the range of the form: {} ({:.3g}, limit {:.3g})", failed.name, failed.value,
                        failed.limit);
  }
  return text;
}

}  // namespace flashproof
