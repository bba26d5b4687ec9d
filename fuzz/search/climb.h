// The search for the largest error/bound, a (1+1) search per term: whom it changes next, and which changes it keeps. Who uses it
// runs what it proposes – one by one, in batches, on a GPU – and tells it what came of that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/input/codec.h"
#include "fuzz/score/score.h"
#include "reference/problem/random.h"

namespace flashproof {

struct ClimbCandidate {
  FuzzInput input = {};
  std::optional<Problem> problem =
      {};  // what the input makes, where that is known: a child then costs one change and not all of them
};

class Climb {
 public:
  struct Parent {
    TermRatio best;
    ClimbCandidate candidate;
    bool full = false;  // no room for one more change
  };

  /// Its changes are numbered from first_change on: two searches that begin with one number try the same changes of one parent.
  Climb(ProblemKind problem, std::uint32_t first_change) : problem_(problem), next_change_(first_change) {}

  /// The candidate becomes the parent of every term that it is the best of (TermBest::better_than); true if there is one.
  bool offer(const ClimbCandidate& candidate, const std::vector<TermRatio>& terms);
  /// The next term's parent, in turns, with one more change where its error was worst; of a gradient's some are changes of d_out.
  /// None where no parent has room left.
  std::optional<ClimbCandidate> child(Random& random);
  /// One of each term that occurred.
  const std::vector<Parent>& parents() const { return parents_; }

 private:
  ProblemKind problem_;
  std::uint32_t next_change_;
  std::vector<Parent> parents_;
  std::size_t turn_ = 0;
};

}  // namespace flashproof
