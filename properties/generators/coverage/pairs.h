// Cases made of levels (dimensions.h): how each kind of problem turns one level per dimension into sizes that fit each other,
// and these into a problem. pairs.cc draws them by a covering array; coverage_table.cc asks of two levels alone whether
// validate() lets them stand together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "properties/generators/coverage/covering.h"
#include "properties/generators/coverage/dimensions.h"
#include "properties/generators/gradient_form.h"
#include "reference/problem/case.h"
#include "reference/problem/random.h"

namespace flashproof::pairwise {

/// One number per dimension; of a free one what the kind finds simplest.
using Numbers = std::vector<std::int64_t>;

struct Choice {
  Numbers numbers;
  bool fits = false;  // else they lie in their levels and contradict each other, or cost too much
};

/// Numbers out of the levels: of dimension i the value number turns[i] of its level, or another where those do not fit.
/// `simplest`: of free dimensions.
Choice choose(std::span<const Dimension> dimensions, const Levels& levels, const Numbers& simplest,
              const Numbers& turns, const std::function<bool(Numbers& numbers)>& fits);

/// A length cut into chunks. What is kUnset follows from the others: sets it, and says whether there are such chunks, at
/// least `at_least` of them.
inline constexpr std::int64_t kUnset = -1;
bool chunks_fit(std::int64_t& length, std::int64_t& longest, std::int64_t& count, std::int64_t at_least);
/// Boundaries of so many chunks, the longest of them `longest`; where the length does not allow that, ones that do not fit it.
std::vector<std::int32_t> boundaries(Random& random, std::int64_t length, std::int64_t longest, std::int64_t count);
/// An order of the level kForward, kReverse or kPermuted; where n does not allow it, one of more than n.
std::vector<std::int32_t> order_of(Random& random, int n, std::int64_t level);
/// How many chunks, states or keys an order of this level needs.
inline std::int64_t least_of(std::int64_t order) { return order == kForward ? 1 : order == kReverse ? 2 : 3; }

/// Per kind: the numbers, and the problem that they make, every element written that a row sees. Not validated. Keys of the
/// spec beat the numbers.
struct Kind {
  /// Of nothing but the plainest, with kUnset for what follows from the rest; whether numbers fit each other and cost little,
  /// what is kUnset set.
  Numbers (*plain)();
  bool (*fits)(Numbers& numbers);
  Choice (*choose)(const Levels& levels, const Numbers& turns);
  Problem (*make)(const CaseSpec& spec, const Numbers& numbers, Random& random);
};
/// That of a gradient makes its forward problem.
extern const Kind kSoftmaxKind, kMergeKind, kAttentionKind, kGradientKind;
const Kind& kind_for(ProblemKind problem);

/// What numbers of a gradient say beyond its forward problem.
GradientForm gradient_form(const Numbers& numbers);

/// The covering array of a kind; it begins with rows of levels that nearly every kernel takes.
const std::vector<Levels>& rows(ProblemKind problem);

}  // namespace flashproof::pairwise
