#include "reference/error/gradients.h"

#include <limits>
#include <stdexcept>
#include <string>

#include "reference/error/judge.h"

namespace flashproof {
namespace {

const Balls& truth_of(const BackwardTruth& truth, Part part) {
  return part == Part::dq ? truth.dq : part == Part::dk ? truth.dk : truth.dv;
}

const std::vector<ElementBound>& bounds_of(const BackwardBound& bound, Part part) {
  return part == Part::dq ? bound.dq : part == Part::dk ? bound.dk : bound.dv;
}

const std::vector<RowDomain>& domains_of(const BackwardBound& bound, Part part) {
  return part == Part::dq ? bound.query_domain : bound.key_domain;
}

void require_fit(const JudgedGradients& judged) {
  for (const Part part : kGradientParts) {
    const Tensor& tensor = judged.tensor(part);
    const auto elements = static_cast<std::size_t>(tensor.elements());
    const std::size_t rows = domains_of(judged.bound, part).size();
    const bool fits = truth_of(judged.truth, part).size() == elements &&
                      bounds_of(judged.bound, part).size() == elements &&
                      rows * static_cast<std::size_t>(tensor.shape.back()) == elements;
    if (!fits) throw std::logic_error(std::string(name(part)) + ": gradient, truth and bound do not fit together");
  }
}

}  // namespace

const Tensor& JudgedGradients::tensor(Part part) const {
  return part == Part::dq ? gradients.dq : part == Part::dk ? gradients.dk : gradients.dv;
}

Element JudgedGradients::element(Part part, std::int64_t index) const {
  const Tensor& t = tensor(part);
  const std::int64_t width = t.shape.back();
  const auto i = static_cast<std::size_t>(index);
  const std::uint64_t bits = t.bits(index);
  return {part,
          index / width,
          index % width,
          t.format,
          bits,
          decode(t.format, bits),
          truth_of(truth, part)[i],
          bounds_of(bound, part)[i],
          std::numeric_limits<double>::infinity(),
          domains_of(bound, part)[static_cast<std::size_t>(index / width)]};
}

Decision decide_gradient(const Element& e, const Contract& contract) {
  const bool beyond = e.truth.classes == kPosInf || e.truth.classes == kNegInf;
  const bool allowed = class_of(e.computed) != kFinite || class_of(e.bound.total()) == kPosInf;
  if (beyond && allowed && !e.domain.holds()) {
    return {VerdictKind::out_of_domain, Failure::none, "outside the domain of the bound"};
  }
  return decide(e, contract);
}

GradientJudgement judge(const JudgedGradients& judged, const Contract& contract, std::uint64_t case_index) {
  require_fit(judged);
  GradientJudgement judgement;
  Decision worst;
  bool first = true;
  Part worst_part = Part::dq;
  std::int64_t worst_index = 0;
  for (const Part part : kGradientParts) {
    for (std::int64_t i = 0; i < judged.count(part); ++i) {
      const Element element = judged.element(part, i);
      const Decision decision = decide_gradient(element, contract);
      judgement.stats(part).add(element, decision, case_index, static_cast<std::uint64_t>(i));
      if (first || outweighs(decision, worst)) {
        worst = decision;
        worst_part = part;
        worst_index = i;
        first = false;
      }
    }
  }
  judgement.worst = worst.verdict();
  if (worst.kind != VerdictKind::pass) {
    judgement.worst.detail += ": " + describe(judged.element(worst_part, worst_index));
  }
  return judgement;
}

}  // namespace flashproof
