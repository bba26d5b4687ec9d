// Whom a local search starts from: of every term of the bound, the worst input so far.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuzz/input/codec.h"
#include "fuzz/score/score.h"
#include "reference/problem/random.h"

namespace flashproof {

class Parents {
 public:
  explicit Parents(ProblemKind problem) : problem_(problem) {}

  /// The input becomes the parent of every term that it is the worst of; true if there is one.
  bool offer(const FuzzInput& input, const std::vector<TermRatio>& terms);
  /// The next term's parent, in turns, with one more change where its error was worst. None where no parent has room left.
  std::optional<FuzzInput> child(Random& random);
  bool empty() const { return parents_.empty(); }

 private:
  struct Parent {
    std::string term;
    FuzzInput input;
    TermRatio worst;
    bool full = false;  // no room for one more change
  };
  ProblemKind problem_;
  std::vector<Parent> parents_;
  std::size_t turn_ = 0;
};

/// A random recipe with different seeds: half of them with every key given, so that the cases are of one shape and can be
/// joined (concatenate.h), half with some keys left to the seed. No law, no schedule.
std::vector<FuzzInput> random_inputs(ProblemKind problem, Random& random, std::size_t siblings);

}  // namespace flashproof
