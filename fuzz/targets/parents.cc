#include "fuzz/targets/parents.h"

#include <algorithm>

namespace flashproof {

bool Parents::offer(const FuzzInput& input, const std::vector<TermRatio>& terms) {
  bool better = false;
  for (const TermRatio& term : terms) {
    const auto known = std::ranges::find(parents_, term.term, &Parent::term);
    if (known == parents_.end()) {
      parents_.push_back({std::string(term.term), input, term});
    } else if (term.ratio > known->worst.ratio) {
      *known = {std::string(term.term), input, term};
    } else {
      continue;
    }
    better = true;
  }
  return better;
}

std::optional<FuzzInput> Parents::child(Random& random) {
  for (std::size_t tried = 0; tried < parents_.size(); ++tried) {
    Parent& parent = parents_[turn_++ % parents_.size()];
    if (parent.full) continue;
    const Mutation mutation{random.next_u32(), static_cast<std::int32_t>(parent.worst.row),
                            static_cast<std::int32_t>(parent.worst.column)};
    if (auto changed_input = changed(problem_, parent.input, mutation)) return changed_input;
    parent.full = true;
  }
  return std::nullopt;
}

std::vector<FuzzInput> random_inputs(ProblemKind problem, Random& random, std::size_t siblings) {
  constexpr std::size_t kHead = 11, kKeys = 24;  // kernel, law, family, seed; more than any problem has keys
  std::vector<std::uint8_t> bytes(kHead + kKeys);
  const bool every_key = random.chance(0.5);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool given = i < kHead || every_key || random.chance(0.5);
    bytes[i] = given ? static_cast<std::uint8_t>(random.integer(1, 255)) : 0;
  }
  bytes[0] = 0;  // never kDataTag
  bytes[1] = 0;  // no law
  FuzzInput first = decode_input(problem, bytes);
  first.schedule.clear();
  first.origin.mutations.clear();
  std::vector<FuzzInput> inputs(siblings, first);
  for (FuzzInput& input : inputs) input.origin.spec.seed = random.next_u64();
  return inputs;
}

}  // namespace flashproof
