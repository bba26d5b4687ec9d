#include "reports/diagnose/observation.h"

#include <array>

#include "properties/laws/support/compare.h"
#include "properties/laws/support/judged_bound.h"
#include "reference/error/semantics/declared_terms.h"
#include "reference/oracle/oracle.h"
#include "reports/run/evaluate.h"

namespace flashproof {
namespace {

Symptom symptom_of(const Element& e, const Decision& decision) {
  if (e.bits == poison_bits(e.format)) return Symptom::unwritten;
  if (!decision.failed()) return Symptom::none;
  const Class computed = class_of(e.computed);
  if (computed == kNaN) return Symptom::nan;
  if (e.part == Part::lse && computed == kNegInf) return Symptom::empty;
  if (computed != kFinite) return Symptom::infinite;
  if ((e.truth.classes & kFinite) == 0) {
    return e.part == Part::lse && (e.truth.classes & kNegInf) != 0 ? Symptom::finite_for_empty : Symptom::laundered;
  }
  return e.computed == 0 ? Symptom::empty : Symptom::number;
}

/// The problem that the reference solves where the kernel is given this one.
Case as_declared(Case subject, const Kernel& kernel) {
  if (is_declared_otherwise(subject.problem, kernel.contract.semantics)) {
    subject.problem = flashproof::as_declared(std::move(subject.problem), kernel.contract.semantics);
  }
  return subject;
}

}  // namespace

std::string_view name(Symptom symptom) {
  static constexpr std::array<std::string_view, kSymptoms> kNames = {
      "none", "unwritten", "nan", "infinite", "laundered", "finite_for_empty", "empty", "number"};
  return kNames[static_cast<std::size_t>(symptom)];
}

std::string_view sentence(Symptom symptom) {
  static constexpr std::array<std::string_view, kSymptoms> kSentences = {
      "nothing is wrong",
      "elements are never written: the poison's pattern is in the output",
      "NaN where a number or an infinity is right",
      "an infinity where a number is right",
      "a number where NaN is right",
      "lse is a number where -inf is right: the row sees nothing",
      "0 (lse: -inf) where another number is right, as of a row that sees nothing",
      "numbers outside the bound"};
  return kSentences[static_cast<std::size_t>(symptom)];
}

Observation::Observation(const Kernel& kernel, Case subject, const RunOptions& options)
    : kernel_(&kernel), subject_(as_declared(std::move(subject), kernel)), options_(options) {
  bound_ = judged_bound(kernel, subject_, truth_);
  // What a logarithm to base 2 may be off in addition (declared_truth.h), and the product that makes it natural here.
  if (kernel.contract.semantics.lse_base == LseBase::two)
    for (ElementBound& lse : bound_.lse) lse.output += 4 * unit_roundoff(Format::f32) * lse.size;
  try {
    output_ = run_once(options);
  } catch (const simt::Fault& e) {
    error_ = e.what();
  } catch (const KernelFault& e) {
    error_ = e.what();
  }
  judge_all();
}

Observation::Observation(const Kernel& kernel, Case subject, Output output)
    : kernel_(&kernel), subject_(std::move(subject)), output_(std::move(output)) {
  bound_ = judged_bound(kernel, subject_, truth_);
  judge_all();
}

Output Observation::run_once(const RunOptions& options) const {
  const Semantics& semantics = kernel_->contract.semantics;
  Output output = run(*kernel_, subject_.problem, options);
  if (semantics == Semantics{}) return output;
  output = in_reference_terms(subject_.problem, semantics, std::move(output));
  if (semantics.lse_base == LseBase::two) output.lse = natural_lse(output, kernel_->contract);
  return output;
}

Output Observation::run_again(bool in_new_process) const {
  RunOptions options = options_;
  options.new_process = in_new_process;
  return run_once(options);
}

bool Observation::fails(const Output& output) const {
  const NextTier next = next_tier_of(truth_, *kernel_);
  for (const Part part : parts()) {
    if (!returned(kernel_->contract, part)) continue;
    const auto n = static_cast<std::int64_t>(count(truth(), part));
    for (std::int64_t i = 0; i < n; ++i) {
      Element element = element_at(output, truth(), bound_, part, i);
      const Decision decision = settle(element, kernel_->contract, next).decision;
      if (decision.failed() || symptom_of(element, decision) == Symptom::unwritten) return true;
    }
  }
  return false;
}

void Observation::judge_all() {
  const NextTier next = next_tier_of(truth_, *kernel_);
  for (const Part part : parts()) {
    Elements& e = elements_[static_cast<std::size_t>(part)];
    const auto n = static_cast<std::size_t>(count(truth(), part));
    e.kind.assign(n, VerdictKind::vacuous);  // of a kernel that was stopped, too: a reader need not ask first
    e.symptom.assign(n, Symptom::none);
    if (!error_.empty() || !returned(kernel_->contract, part)) continue;
    for (std::size_t i = 0; i < n; ++i) {
      Element element = element_at(output_, truth(), bound_, part, static_cast<std::int64_t>(i));
      const Decision decision = settle(element, kernel_->contract, next).decision;
      e.kind[i] = decision.kind;
      e.symptom[i] = symptom_of(element, decision);
      if (e.symptom[i] == Symptom::unwritten) e.kind[i] = VerdictKind::fail;
      failing_ += e.kind[i] == VerdictKind::fail ? 1 : 0;
    }
  }
}

}  // namespace flashproof
