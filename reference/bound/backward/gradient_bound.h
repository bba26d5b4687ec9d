// The bound of a gradient as an autograd call returns it: forward and backward pass of one published kernel. The forward
// pass's own bound says how far its o and lse may be off, which the backward pass then reads.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "reference/bound/backward/bound.h"
#include "reference/bound/declare/arithmetic_json.h"

namespace flashproof {

struct GradientArithmetic {
  Arithmetic forward;
  std::vector<BackwardArithmetic> backward;  // one of these, it is not known which; at least one
};

/// Those of gradients, `unknown` last. README.md, section 8, has what each is derived from.
std::span<const ArithmeticPreset> gradient_presets();
/// Throws UsageError for an unknown name, listing what is legal, and for inputs of a format that the kernel does not take.
GradientArithmetic gradient_preset(std::string_view name, Format inputs);

/// Empty, or why the declaration has no meaning for this problem, in one line: raw scores with a bias, ALiBi or τ <= 0.
std::string gradient_refused(const BackwardProblem& problem, const GradientArithmetic& arithmetic);

/// Of each backward pass, in their order, after whatever the forward pass stands for; nullopt: it has no meaning for the problem.
/// Gradient mode; what o and lse of the problem hold is not read. A row of the domain fails where the forward pass's does, too. Throws
/// UsageError with gradient_refused()'s text.
std::vector<std::optional<Bound>> gradient_bounds(const BackwardProblem& problem, const GradientArithmetic& arithmetic);
/// widest() of these.
Bound gradient_bound(const BackwardProblem& problem, const GradientArithmetic& arithmetic);

}  // namespace flashproof
