#include "properties/laws/trial.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "properties/generators/backward_case.h"
#include "properties/laws/support/judged_bound.h"
#include "reference/bound/alternatives.h"
#include "reference/bound/backward/gradient_bound.h"
#include "reference/oracle/backward/backward_truth.h"
#include "reference/system/error.h"

namespace flashproof {

Oracle& CaseTruth::oracle() {
  if (!oracle_) oracle_.emplace(subject_->problem);
  return *oracle_;
}

const Truth& CaseTruth::truth() {
  const auto* gradient = std::get_if<BackwardProblem>(&subject_->problem);
  if (gradient == nullptr) return oracle().truth();
  if (!truth_) truth_ = backward_truth(*gradient, gradient->forward.q.format);
  return *truth_;
}

const TrivialGaps& CaseTruth::gaps() {
  if (!gaps_) gaps_ = trivial_gaps(subject_->problem, truth());
  return *gaps_;
}

const ForwardErrors& CaseTruth::forward() {
  if (!forward_) forward_ = forward_errors(std::get<BackwardProblem>(subject_->problem));
  return *forward_;
}

Trial::Trial(const Kernel& kernel, const Case& subject, CaseTruth* truth, RunOptions options, Runner runner)
    : kernel_(&kernel),
      own_case_(is_declared_otherwise(subject.problem, kernel.contract.semantics)
                    ? std::optional(Case{subject.spec, as_declared(subject.problem, kernel.contract.semantics)})
                    : std::nullopt),
      subject_(own_case_ ? &*own_case_ : &subject),
      own_truth_(*subject_),
      truth_(truth != nullptr && !own_case_ ? truth : &own_truth_),
      options_(std::move(options)),
      runner_(std::move(runner)) {}

const Output& Trial::returned() {
  if (!returned_) {
    ++runs_;
    returned_ = runner_(*kernel_, problem(), options_);
  }
  return *returned_;
}

const Output& Trial::output() {
  if (kernel_->contract.semantics == Semantics{}) return returned();
  if (!output_) output_ = in_reference_terms(problem(), kernel_->contract.semantics, returned());
  return *output_;
}

bool Trial::returns() {
  try {
    output();
    return true;
  } catch (const UsageError&) {
    return false;
  } catch (const simt::Fault&) {
    return true;  // a finding of the laws
  } catch (const KernelFault&) {
    return true;
  }
}

const Bound& Trial::bound() {
  if (bound_) return *bound_;
  // The largest of those that the output is judged by, where these are in the reference's terms.
  const bool joined = judged_ && kernel_->arithmetic.reduction == Reduction::any &&
                      kernel_->problem != ProblemKind::backward && kernel_->contract.semantics == Semantics{};
  if (!joined) return bound_.emplace(bound_of(problem()));
  bound_ = judged_->front().bound;
  for (std::size_t i = 1; i < judged_->size(); ++i) bound::join((*judged_)[i].bound, *bound_);
  return *bound_;
}

const Truth& Trial::truth() {
  consulted_truth_ = true;
  const DeclaredTruth* declared = this->declared();
  return declared == nullptr ? truth_->truth() : declared->truth();
}

const DeclaredTruth* Trial::declared() {
  const Semantics& semantics = kernel_->contract.semantics;
  if (semantics == Semantics{} || kernel_->problem == ProblemKind::backward) return nullptr;
  if (!declared_) declared_.emplace(problem(), semantics, truth_->truth());
  return &*declared_;
}

namespace {

GradientArithmetic both_passes(const Kernel& kernel) { return {kernel.arithmetic, kernel.backward_one_of}; }

}  // namespace

std::vector<std::optional<Bound>> judged_bounds(const Kernel& kernel, const BackwardProblem& problem,
                                                CaseTruth& truth) {
  if (kernel.own_forward) return gradient_bounds(problem, both_passes(kernel));
  return backward_bounds(problem, kernel.backward_for(problem.forward.q.format), truth.forward());
}

Bound judged_bound(const Kernel& kernel, const Case& subject, CaseTruth& truth) {
  const auto* gradient = std::get_if<BackwardProblem>(&subject.problem);
  if (gradient == nullptr) return compute_bound(subject.problem, kernel.arithmetic);
  return widest(judged_bounds(kernel, *gradient, truth));
}

Bound Trial::bound_of(const Problem& problem) const {
  const auto* gradient = std::get_if<BackwardProblem>(&problem);
  if (gradient == nullptr) {
    Bound bound = compute_bound(problem, kernel_->arithmetic);
    add_state_rounding(problem, kernel_->contract.semantics, bound);
    return bound;
  }
  if (kernel_->own_forward) return gradient_bound(*gradient, both_passes(*kernel_));
  BackwardProblem stage = *gradient;
  stage.mode = BackwardMode::stage;
  return backward_bound(stage, kernel_->backward_for(stage.forward.q.format));
}

const Judgement& Trial::judgement() {
  if (!judgement_) judgement_ = measured(0);
  return *judgement_;
}

Judgement Trial::measured(std::uint64_t case_index) { return judged_by(judged_bound(kernel_->arithmetic), case_index); }

Bound Trial::judged_bound(const Arithmetic& arithmetic) {
  if (kernel_->problem == ProblemKind::backward) return flashproof::judged_bound(*kernel_, *subject_, *truth_);
  return as_judged(compute_bound(problem(), arithmetic), arithmetic);
}

Bound Trial::as_judged(Bound bound, const Arithmetic& arithmetic) {
  add_state_rounding(problem(), kernel_->contract.semantics, bound);
  const DeclaredTruth* declared = this->declared();
  if (declared == nullptr) return bound;
  std::optional<Bound> of_equal;
  if (declared->equal_scores() != nullptr) of_equal = compute_bound(*declared->equal_scores(), arithmetic);
  return declared->translated(std::move(bound), of_equal ? &*of_equal : nullptr);
}

Judgement Trial::judged_by(const Bound& bound, std::uint64_t case_index) {
  consulted_truth_ = true;
  const DeclaredTruth* declared = this->declared();
  if (kernel_->problem == ProblemKind::backward) return judge(returned(), truth(), bound, contract(), case_index);
  if (declared == nullptr) return judge(returned(), truth_->oracle(), bound, contract(), case_index);
  RowBalls row;
  return judge(returned(), declared->truth(), bound, contract(), case_index,
               [&](std::int64_t index, int level) -> const RowBalls* {
                 const RowBalls* next = truth_->oracle().row(index, level);
                 if (next == nullptr) return nullptr;
                 row = declared->translated(*next, index);
                 return &row;
               });
}

const std::vector<Trial::Judged>& Trial::judged() {
  if (judged_) return *judged_;
  consulted_truth_ = true;
  std::vector<Judged> judged;  // a declaration that has no meaning for this problem throws, for every law alike
  const DeclaredTruth* declared = this->declared();
  const TrivialGaps& gaps = truth_->gaps();
  const std::optional<TrivialGaps> translated = declared ? std::optional(declared->translated(gaps)) : std::nullopt;
  const auto add = [&](std::size_t alternative, Bound bound) {
    Judged& one = judged.emplace_back(Judged{alternative, std::move(bound), {}, {}});
    one.judgement = judged_by(one.bound, 0);
    one.power = power_of(returned(), truth(), one.bound, one.judgement, contract(), translated ? *translated : gaps);
  };
  if (const auto* gradient = std::get_if<BackwardProblem>(&problem()); gradient != nullptr) {
    std::vector<std::optional<Bound>> list = judged_bounds(*kernel_, *gradient, *truth_);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i]) add(i, std::move(*list[i]));
    }
  } else if (kernel_->arithmetic.reduction != Reduction::any) {
    add(0, declared ? judged_bound(kernel_->arithmetic) : bound());
  } else {
    const auto list = alternatives_in_place(kernel_->arithmetic, problem());
    const std::vector<Arithmetic> in_place = alternatives(kernel_->arithmetic, problem());
    std::vector<Bound> bounds = compute_bounds(problem(), in_place);
    for (std::size_t i = 0, next = 0; i < list.size(); ++i) {
      if (!list[i]) continue;
      add(i, as_judged(std::move(bounds[next]), *list[i]));
      ++next;
    }
  }
  return judged_.emplace(std::move(judged));
}

std::map<std::size_t, Power> Trial::powers() {
  std::map<std::size_t, Power> powers;
  for (const Judged& by : judged()) powers.emplace(by.alternative, by.power);
  return powers;
}

void Trial::note_alternative(std::size_t alternative, bool failed) {
  const std::uint32_t bit = std::uint32_t{1} << alternative;
  seen_.asked |= bit;
  if (failed) seen_.failed |= bit;
}

std::string Trial::refusal(const Problem& problem) const {
  try {
    validate(problem);
  } catch (const UsageError& error) {
    if (&problem == &this->problem() || kind_of(problem) == ProblemKind::backward) return error.what();
    throw std::logic_error(std::string("a law made a problem that is not valid: ") + error.what());
  }
  if (kind_of(problem) != kernel_->problem) return "another problem";
  if (!kernel_->supports(format_of(problem))) return "format " + std::string(info(format_of(problem)).name);
  std::string why = kernel_->unsupported(problem);
  if (why.empty()) why = not_handed_over(problem, kernel_->contract.semantics);
  const auto* gradient = std::get_if<BackwardProblem>(&problem);
  if (gradient == nullptr || !why.empty()) return why;
  if (kernel_->own_forward && gradient->mode == BackwardMode::stage) return std::string(kNoStage);
  if (kernel_->own_forward) return gradient_refused(*gradient, both_passes(*kernel_));
  return backward_refused(gradient->forward, kernel_->backward_for(gradient->forward.q.format));
}

Output Trial::run(const Problem& problem) { return run(problem, options_); }

Output Trial::run(const Problem& problem, const RunOptions& options) {
  ++runs_;
  Output output = runner_(*kernel_, problem, options);
  const Semantics& semantics = kernel_->contract.semantics;
  return semantics == Semantics{} ? output : in_reference_terms(problem, semantics, std::move(output));
}

namespace {

/// FNV-1a: a name for a stream, nothing more.
class Fingerprint {
 public:
  void add(std::uint64_t word) { hash_ = (hash_ ^ word) * 0x100000001b3; }
  void add(std::string_view text) {
    for (const char c : text) add(std::uint64_t{static_cast<unsigned char>(c)});
  }
  void add(const Tensor& tensor) {
    for (const std::int64_t extent : tensor.shape) add(static_cast<std::uint64_t>(extent));
    for (std::int64_t i = 0; i < std::min<std::int64_t>(tensor.elements(), 16); ++i) add(tensor.bits(i));
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace

Random Trial::random(std::string_view law) const {
  Fingerprint name;
  name.add(law);
  if (const auto* gradient = std::get_if<BackwardProblem>(&problem())) {
    Fingerprint numbers;
    for (const Tensor* tensor : {&gradient->forward.q, &gradient->forward.k, &gradient->d_out}) numbers.add(*tensor);
    return {numbers.value(), name.value()};
  }
  name.add(to_string(subject_->spec));
  return {subject_->spec.seed, name.value()};
}

Output Trial::run_kernel(const Kernel& kernel, const Problem& problem, const RunOptions& options) {
  return flashproof::run(kernel, problem, options);
}

}  // namespace flashproof
