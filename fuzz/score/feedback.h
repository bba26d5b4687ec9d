// The error as a fuzzing engine's feedback: coverage that says how near to its bound each term came.
//
// One slot per term and step of err/bound: every execution marks, of every term that occurs, the slot of its ratio. An input
// that marks a slot that none marked before is kept by the engine and mutated further: a search for the worst error needs
// no more.
#pragma once

#include <cstdint>
#include <string_view>

#include "fuzz/score/score.h"

namespace flashproof {

enum class Guide : std::uint8_t {
  none,      // coverage alone
  counters,  // libFuzzer's extra counters: the section __libfuzzer_extra_counters, read by index
  edges,     // a function per slot, seen by any engine that sees the functions of an instrumented binary
};
/// Throws UsageError.
Guide parse_guide(std::string_view text);

inline constexpr int kStepsPerOctave = 8;
inline constexpr std::size_t kSteps = 96;  // from 2^-10 of the bound to 4 times it
inline constexpr std::size_t kSlots = kTermSlots * kSteps;
static_assert(kSlots <= 1024, "more counters than this cost every execution more than a tenth");

/// The step of a ratio >= 0, 0..kSteps − 1: the ends are open.
std::size_t step_of(double ratio);
void give_feedback(const Score& score, Guide guide);

/// For tests: the counters themselves.
const std::uint8_t* feedback_counters();

}  // namespace flashproof
