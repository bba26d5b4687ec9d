// Every order of up to four chunks (or states), one after the other over the seeds: any 36 consecutive seeds reach the
// 24 orders of four chunks, the 6 of three, the 2 of two, and four cases of more chunks in random order. The chunks
// have irregular lengths and logits spread enough for the order to matter in the rounding.
#include "properties/generators/build.h"

namespace flashproof::family::chunk_order {
namespace {

struct Slot {
  int chunks;
  std::uint64_t index;
};

// Two of three consecutive seeds have four chunks.
Slot slot_of(std::uint64_t seed) {
  const std::uint64_t triple = seed % 36 / 3, place = seed % 3;
  if (place < 2) return {4, 2 * triple + place};
  if (triple < 2) return {2, triple};
  if (triple < 8) return {3, triple - 2};
  return {static_cast<int>(triple) - 3, 0};  // 5..8 chunks: shuffled, the index is not used
}

Case make(const CaseSpec& spec) {
  const Slot slot = slot_of(spec.seed);
  // A key may ask for fewer keys than chunks; then the chunks are drawn like in any other family.
  const bool keyed = spec.keys.contains("cols") || spec.keys.contains("sk") || spec.keys.contains("n");
  const ShapeWish wish{.min_length = keyed ? 0 : slot.chunks,
                       .exact_chunks = slot.chunks,
                       .order_index = slot.index,
                       .ragged_chance = 0.1,
                       .exact_scale = true};
  Problem problem = draw_shape(spec, wish);
  Random random = value_stream(spec);
  const double deviation = random.uniform(0.5, 6);
  const double offset = random.uniform(-20, 20);
  return with_rows(spec, std::move(problem), random, normal_row(deviation, offset), {.noise = 0.5});
}

constexpr Promise kPromises[] = {{.field = &Difficulty::chunks, .at_least = 2},
                                 {.field = &Difficulty::permuted, .at_least = 2, .share = 0.8}};

}  // namespace

Family chunk_order() { return {"every order of up to four chunks, random orders beyond", kAll, make, kPromises}; }

}  // namespace flashproof::family::chunk_order
