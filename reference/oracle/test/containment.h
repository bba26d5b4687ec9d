// The judge of the containment tests: the balls of each tier, on its own, against reference<Real> at 300 digits (996 bits
// or more), which shares nothing with the tiers but the problem definitions. Its own error is derived in
// reference_error.h; at 2^-990 it is far below every radius judged here. Not part of the library.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "reference/oracle/truth.h"
#include "reference/problem/problems.h"
#include "reference/problem/random.h"

namespace flashproof::containment {

/// What is judged. narrow: narrow_truth for f32, whichever tiers it took.
enum class Way { fp64, dd_scores, dd, exact_128, narrow };
inline constexpr Way kWays[] = {Way::fp64, Way::dd_scores, Way::dd, Way::exact_128, Way::narrow};
std::string name(Way way);

struct ContainmentCounts {
  std::int64_t elements = 0;      // o and lse, bounded or not
  std::int64_t violations = 0;    // the exact result lies outside the ball
  std::int64_t wrong_class = 0;   // −inf where it is finite, or the other way round
  std::int64_t unbounded = 0;     // radius +inf: never wrong, and worth nothing
  std::int64_t wide = 0;          // radius above 2^-36 Σ p|v| (o), 2^-36 max(1, |lse|)
  std::int64_t loose = 0;         // not narrow_enough for f32
  std::int64_t inconclusive = 0;  // of narrow_truth
  std::vector<float> tightness;   // log2(radius / error), of elements that have a radius and an error

  ContainmentCounts& operator+=(const ContainmentCounts& other);
  std::int64_t wrong() const { return violations + wrong_class; }
  double median_tightness() const;
};

/// All rows, by that tier alone.
Truth compute(const Problem& problem, Way way);

/// A problem with its exact results.
class Case {
 public:
  explicit Case(Problem problem);
  ~Case();
  Case(Case&&) noexcept;

  const Problem& problem() const;
  /// Does the tier take this problem?
  bool takes(Way way) const;
  /// `spoil` is applied to every ball first: the negative controls do their damage there.
  ContainmentCounts judge(Way way, const std::function<void(Ball&)>& spoil = {}) const;
  /// Of all rows, however computed.
  ContainmentCounts judge(const Truth& truth, const std::function<void(Ball&)>& spoil = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// One tally per way.
struct Tallies {
  ContainmentCounts of[std::size(kWays)];

  ContainmentCounts& operator[](Way way) { return of[static_cast<int>(way)]; }
  /// By every way that takes the problem.
  void judge(const Case& judged);
  void judge(const Case& judged, Way way);
  /// What must hold whatever the problems were; one line for each thing that does not, hence empty if all is well.
  std::string complaints() const;
  /// And what must hold of a kind of hard_kinds(): bounded where the tier should manage, narrow if benign.
  std::string complaints(const std::string& kind) const;
  /// A line on standard output; per way: elements, unbounded ones, median of log2(radius / error).
  void print(const std::string& what) const;
};

/// The same problem with `width` columns of v (attention) or o (merge): the first ones as they are, then each once more
/// times its own factor in [1/2, 1). What cancels in a column still does, since rounding to nearest is odd. One exp then
/// serves many elements. Softmax comes back as it is.
Problem widened(const Problem& problem, std::int64_t width, Random& random);

/// Attention with 1, 2, 7, 33, 129 or 255 keys, or a few more or less, and d of 8 to 80: around the panels, blocks and
/// chunks of the code. Any format, spread of scores and feature; also softmax and merge of these sizes.
Problem odd_shape(Random& random, std::int64_t width);

/// Kinds of hard_kinds() that no tier has an excuse for: usual numbers in usual shapes.
bool benign(const std::string& kind);
/// Up to which share of its elements a tier may leave unbounded: 0 but for kinds whose scores are too large or too
/// ill-conditioned for its arithmetic.
double unbounded_share(const std::string& kind, Way way);

}  // namespace flashproof::containment
