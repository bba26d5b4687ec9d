// Any two features of attention and nothing else: a row of `pairs` has many at once, and a kernel that does not take one of them is not
// asked about the others. Windows cut on both sides, lengths differ, heads come in groups.
#include <array>
#include <cstdint>

#include "properties/generators/features.h"
#include "properties/generators/gradient_form.h"

namespace flashproof::family {
namespace {

// Those that a gradient has come first.
enum class Part : std::uint8_t { causal, groups, lengths, window, alibi, bias, softcap, sink, packed, paged };
constexpr std::uint64_t kParts = 10, kOfGradients = 6;

struct Two {
  Part first, second;
};
/// In the order of the second, so that those of gradients come first. Packed sequences take no bias.
constexpr auto kTwo = [] {
  std::array<Two, kParts*(kParts - 1) / 2 - 1> list{};
  std::size_t n = 0;
  for (std::uint8_t second = 1; second < kParts; ++second) {
    for (std::uint8_t first = 0; first < second; ++first) {
      const Two two{static_cast<Part>(first), static_cast<Part>(second)};
      if (two.first != Part::bias || two.second != Part::packed) list[n++] = two;
    }
  }
  return list;
}();

std::uint64_t round(ProblemKind problem) {
  return problem == ProblemKind::backward ? kOfGradients * (kOfGradients - 1) / 2 : kTwo.size();
}

Case make(const CaseSpec& spec) {
  const Two& two = kTwo[spec.seed % round(spec.problem)];
  const auto has = [&](Part part) { return two.first == part || two.second == part; };
  const std::int64_t heads = has(Part::groups) ? 4 : 2;
  Problem problem = draw_shape(spec, {.rows = 9,
                                      .length = 33,
                                      .causal_chance = has(Part::causal) ? 1.0 : 0.0,
                                      .ragged_chance = has(Part::lengths) ? 1.0 : 0.0,
                                      .bias_chance = has(Part::bias) ? 1.0 : 0.0,
                                      .exact_scale = true,
                                      .head_dim = 8,
                                      .value_dim = 8,
                                      .q_heads = heads,
                                      .k_heads = 2,
                                      .packed = has(Part::packed),
                                      .paged = has(Part::paged)});
  Random random = value_stream(spec);
  auto& attention = std::get<AttentionProblem>(problem);
  if (has(Part::window)) {
    constexpr std::int32_t kReach[] = {1, 3, 6};
    attention.window_left = pick(random, kReach);
    attention.window_right = pick(random, kReach);
  }
  if (has(Part::softcap)) attention.softcap = 2;
  if (has(Part::alibi)) put_alibi(attention, random);
  if (has(Part::sink)) put_sink(attention, random, false);
  return with_spread(spec, std::move(problem), random, 2);
}

/// Either mode of each, in turn.
GradientForm gradient(const CaseSpec& spec) { return {.mode = mode_in_turn(spec.seed, round(spec.problem))}; }

constexpr Promise kPromises[] = {{.field = &Difficulty::features, .at_least = 1, .share = 0.6}};

}  // namespace

Family feature_pairs() {
  return {"any two features of attention and no other", kAttentionOnly, make, kPromises, round, false, gradient};
}

}  // namespace flashproof::family
