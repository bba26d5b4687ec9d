// A kernel on one case, element by element: what the diagnosis explains.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/run/run.h"
#include "properties/laws/trial.h"
#include "reference/bound/bound.h"
#include "reference/error/judge.h"
#include "reference/problem/case.h"

namespace flashproof {

/// What is wrong with one element, without asking why.
enum class Symptom : std::uint8_t {
  none,              // acceptable, or nothing was decided
  unwritten,         // the poison's pattern is still there
  nan,               // NaN where it is not right
  infinite,          // ±inf where it is not right
  laundered,         // finite where NaN is right
  finite_for_empty,  // lse finite where −inf is right: the row sees nothing
  empty,             // o = 0 or lse = −inf where a number is right
  number,            // another number
};
inline constexpr int kSymptoms = 8;
std::string_view name(Symptom symptom);
/// What the output holds, in words: "NaN where a number is right".
std::string_view sentence(Symptom symptom);

/// Never moves: its truth refers to its case. Of a kernel that declares other semantics than the reference's the case and the output
/// are as the reference has them: hypotheses are about its terms.
class Observation {
 public:
  /// Runs the kernel on the case and judges it as the sweep does. Throws UsageError if the kernel does not take the case.
  Observation(const Kernel& kernel, Case subject, const RunOptions& options = {});
  /// With this output in place of the kernel's.
  Observation(const Kernel& kernel, Case subject, Output output);
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  const Kernel& kernel() const { return *kernel_; }
  const Case& subject() const { return subject_; }
  const Output& output() const { return output_; }
  const Bound& bound() const { return bound_; }
  const Truth& truth() const { return truth_.truth(); }
  /// What the executor found; then there is no output.
  const std::string& error() const { return error_; }
  bool failed() const { return failing_ > 0 || !error_.empty(); }
  /// The same call once more. Throws what run() throws.
  Output run_again(bool in_new_process) const;
  /// Whether an element fails of what run_again() returned.
  bool fails(const Output& output) const;
  std::uint64_t failing() const { return failing_; }

  std::span<const Part> parts() const { return flashproof::parts(kernel_->problem); }
  std::int64_t width(Part part) const { return truth().width_of(part); }
  std::int64_t rows(Part part) const {
    if (kernel_->problem != ProblemKind::backward) return truth().rows;
    return width(part) == 0 ? 0 : count(truth(), part) / width(part);
  }
  /// The decision on an element, and what is wrong with it. After an error every element is vacuous and shows nothing.
  VerdictKind kind(Part part, std::int64_t index) const { return at(part).kind[static_cast<std::size_t>(index)]; }
  Symptom symptom(Part part, std::int64_t index) const { return at(part).symptom[static_cast<std::size_t>(index)]; }

 private:
  struct Elements {
    std::vector<VerdictKind> kind;
    std::vector<Symptom> symptom;
  };
  Output run_once(const RunOptions& options) const;
  void judge_all();
  const Elements& at(Part part) const { return elements_[static_cast<std::size_t>(part)]; }

  const Kernel* kernel_;
  Case subject_;
  RunOptions options_ = {};
  mutable CaseTruth truth_{subject_};
  Bound bound_;
  Output output_;
  std::string error_;
  Elements elements_[kPartCount];
  std::uint64_t failing_ = 0;
};

}  // namespace flashproof
