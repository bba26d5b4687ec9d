#include "fuzz/search/climb.h"

#include <algorithm>

namespace flashproof {

bool Climb::offer(const ClimbCandidate& candidate, const std::vector<TermRatio>& terms) {
  bool better = false;
  for (const TermRatio& term : terms) {
    const auto known = std::ranges::find(parents_, term.term, [](const Parent& p) { return p.best.term; });
    if (known == parents_.end()) {
      parents_.push_back({term, candidate});
    } else if (term.best().better_than(known->best.best())) {
      *known = {term, candidate};
    } else {
      continue;
    }
    better = true;
  }
  return better;
}

std::optional<ClimbCandidate> Climb::child(Random& random) {
  constexpr double kOfDOut = 0.3;
  const bool gradient = problem_ == ProblemKind::backward;
  for (std::size_t tried = 0; tried < parents_.size(); ++tried) {
    Parent& parent = parents_[turn_++ % parents_.size()];
    if (parent.full) continue;
    Mutation mutation{next_change_++, static_cast<std::int32_t>(parent.best.row),
                      static_cast<std::int32_t>(parent.best.column)};
    if (gradient && random.chance(kOfDOut)) mutation.column |= kChangesDOut;
    auto input = changed(problem_, parent.candidate.input, mutation);
    if (!input) {
      parent.full = true;
      continue;
    }
    ClimbCandidate child{std::move(*input)};
    if (parent.candidate.problem && !gradient) {  // a gradient's o and lse follow from what is changed
      child.problem = parent.candidate.problem;
      mutate(*child.problem, mutation);
    }
    return child;
  }
  return std::nullopt;
}

}  // namespace flashproof
