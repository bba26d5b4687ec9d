#include "fuzz/score/feedback.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

// The engine clears them before every execution and looks at them after it.
__attribute__((section("__libfuzzer_extra_counters"), used)) std::uint8_t counters[kSlots];

// Distinct code, so that no linker folds them, and one edge each.
template <std::size_t slot>
[[gnu::noinline]] void touch() {
  asm volatile("" ::"i"(slot));
}

template <std::size_t... slot>
constexpr std::array<void (*)(), sizeof...(slot)> touches(std::index_sequence<slot...>) {
  return {&touch<slot>...};
}
constexpr auto kTouches = touches(std::make_index_sequence<kSlots>{});

}  // namespace

Guide parse_guide(std::string_view text) {
  if (text == "none") return Guide::none;
  if (text == "counters") return Guide::counters;
  if (text == "edges") return Guide::edges;
  throw UsageError("--guide " + quote(text) + ": must be counters, edges or none");
}

std::size_t step_of(double ratio) {
  if (!(ratio > 0)) return 0;
  constexpr double kTop = 2 * kStepsPerOctave;  // 4 times the bound
  const double step = std::floor(std::log2(ratio) * kStepsPerOctave - kTop) + kSteps;
  return static_cast<std::size_t>(std::clamp(step, 0.0, kSteps - 1.0));
}

void give_feedback(const Score& score, Guide guide) {
  if (guide == Guide::none) return;
  for (const TermRatio& t : score.terms) {
    const std::size_t slot = term_slot(t.term) * kSteps + step_of(t.ratio);
    if (guide == Guide::counters) {
      counters[slot] = 1;
    } else {
      kTouches[slot]();
    }
  }
}

const std::uint8_t* feedback_counters() { return counters; }

}  // namespace flashproof
