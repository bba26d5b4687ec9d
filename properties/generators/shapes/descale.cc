// Descale factors: one number per sequence and kv head that multiplies every score, or every output, of the head. A kernel
// that forms the product in another order than it declares, once per key instead of once, folds the wrong one into its
// exponent, or mixes up heads and sequences, shows where the factors differ from head to head and are no powers of two.
#include "properties/generators/features.h"

namespace flashproof::family::descale {
namespace {

/// One story of factors for q and k; their product stays near 1, but for `zero`.
struct Story {
  int exponent = 0;          // of q's factor; k's has the opposite one
  bool powers = false;       // no rounding anywhere
  bool negative = false;     // of either sign
  bool zero = false;         // now and then 0
  bool every_other = false;  // head is that, the first of all
};

Story story_of(Random& random, const CaseSpec& spec) {
  constexpr std::string_view kNames[] = {"around_one", "powers", "large", "tiny", "negative", "zero"};
  constexpr std::string_view kTurns[] = {"around_one", "negative", "zero", "large", "powers", "tiny"};
  const std::string_view drawn = pick(random, kNames);
  const std::string_view given = is_costly(spec) ? kNames[0]
                                 : in_turn(spec) ? kTurns[spec.seed % std::size(kTurns)]
                                                 : drawn;
  const std::string name = text_key(spec, "descale").value_or(std::string(given));
  Story story;
  if (name == "powers") story.powers = true;
  if (name == "large") story.exponent = 100;
  if (name == "tiny") story.exponent = -100;
  if (name == "negative") story.negative = true;
  if (name == "zero") story.zero = true;
  return story;
}

/// (sequences, Hk), or one number for all sequences.
Tensor factors(const AttentionProblem& p, Random& random, const Story& story, int exponent) {
  const bool shared = random.chance(0.3);
  Tensor result = Tensor::strided(Format::f32, {p.sequences(), p.k_heads()}, {shared ? 0 : p.k_heads(), 1});
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t h = 0; h < p.k_heads(); ++h) {
      const double size = story.powers ? pow2(static_cast<int>(random.integer(-3, 2))) : magnitude(random, -1, 0);
      const bool first = h % 2 == 0;
      const double sign = !story.negative ? 1.0 : story.every_other ? (first ? -1.0 : 1.0) : random_sign(random);
      const bool zero = story.zero && (story.every_other ? first : random.chance(0.5));
      result.set({s, h}, zero ? 0.0 : sign * size * pow2(exponent));
    }
  }
  return result;
}

Case make(const CaseSpec& spec) {
  const ShapeWish wish{.causal_chance = 0.2, .ragged_chance = 0.2, .exact_scale = true, .takes_descale = true};
  Problem problem = draw_shape(with_sequences(spec), with_descaled_tile(spec, wish));
  Random random = value_stream(spec);
  auto& attention = std::get<AttentionProblem>(problem);
  Story story = story_of(random, spec);
  story.every_other = in_turn(spec);
  attention.q_descale = factors(attention, random, story, story.exponent);
  attention.k_descale = factors(attention, random, story, -story.exponent);
  attention.v_descale = factors(attention, random, story, random.chance(0.3) ? story.exponent / 2 : 0);
  const std::int64_t kept = is_costly(spec) ? 7 : random.integer(1, 7);  // some of the three, at least one
  if ((kept & 1) == 0 && story.exponent == 0) attention.q_descale = {};
  if ((kept & 2) == 0 && story.exponent == 0) attention.k_descale = {};
  if ((kept & 4) == 0 && !(in_turn(spec) && (story.negative || story.zero))) attention.v_descale = {};
  const double deviation = random.uniform(0.5, 4);
  return with_rows(spec, std::move(problem), random, normal_row(deviation), {.noise = 0.25});
}

constexpr Promise kPromises[] = {{.field = &Difficulty::descale, .at_least = 0.5, .share = 0.9}};

}  // namespace

Family descale() {
  return {"descale factors of q, k and v, per sequence and head", kAttentionOnly, make, kPromises, descaled_tiles};
}

}  // namespace flashproof::family::descale
