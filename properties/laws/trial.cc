#include "properties/laws/trial.h"

#include <stdexcept>
#include <utility>

#include "reference/bound/alternatives.h"
#include "reference/problem/error.h"

namespace flashproof {

Oracle& CaseTruth::oracle() {
  if (!oracle_) oracle_.emplace(subject_->problem);
  return *oracle_;
}

const TrivialGaps& CaseTruth::gaps() {
  if (!gaps_) gaps_ = trivial_gaps(subject_->problem, oracle().truth());
  return *gaps_;
}

Trial::Trial(const Kernel& kernel, const Case& subject, CaseTruth* truth, RunOptions options, Runner runner)
    : kernel_(&kernel),
      subject_(&subject),
      own_truth_(subject),
      truth_(truth != nullptr ? truth : &own_truth_),
      options_(std::move(options)),
      runner_(std::move(runner)) {}

const Output& Trial::output() {
  if (!output_) output_ = run(problem());
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
  if (!bound_) bound_ = bound_of(problem());
  return *bound_;
}

const Truth& Trial::truth() {
  consulted_truth_ = true;
  return truth_->oracle().truth();
}

const Judgement& Trial::judgement() {
  consulted_truth_ = true;
  if (!judgement_) judgement_ = judge(output(), truth_->oracle(), bound(), contract(), 0);
  return *judgement_;
}

const std::vector<Trial::Judged>& Trial::judged() {
  if (judged_) return *judged_;
  consulted_truth_ = true;
  std::vector<Judged> judged;  // a declaration that has no meaning for this problem throws, for every law alike
  const auto add = [&](std::size_t alternative, Bound bound) {
    Judged& one = judged.emplace_back(Judged{alternative, std::move(bound), {}, {}});
    one.judgement = judge(output(), truth_->oracle(), one.bound, contract(), 0);
    one.power = power_of(output(), truth(), one.bound, one.judgement, contract(), truth_->gaps());
  };
  if (kernel_->arithmetic.reduction != Reduction::any) {
    add(0, bound());
  } else {
    const auto list = alternatives_in_place(kernel_->arithmetic, problem());
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i]) add(i, compute_bound(problem(), *list[i]));
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
    if (&problem == &this->problem()) return error.what();
    throw std::logic_error(std::string("a law made a problem that is not valid: ") + error.what());
  }
  if (kind_of(problem) != kernel_->problem) return "another problem";
  if (kernel_->math == Math::native && options_.executor == Executor::cpu) return "native math runs on a GPU only";
  if (!kernel_->supports(format_of(problem))) return "format " + std::string(info(format_of(problem)).name);
  return kernel_->unsupported(problem);
}

Output Trial::run(const Problem& problem) { return run(problem, options_); }

Output Trial::run(const Problem& problem, const RunOptions& options) {
  ++runs_;
  return runner_(*kernel_, problem, options);
}

Random Trial::random(std::string_view law) const {
  // FNV-1a: a name for the stream, nothing more.
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::string& text : {std::string(law), to_string(subject_->spec)}) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return {subject_->spec.seed, hash};
}

Output Trial::run_kernel(const Kernel& kernel, const Problem& problem, const RunOptions& options) {
  return flashproof::run(kernel, problem, options);
}

}  // namespace flashproof
