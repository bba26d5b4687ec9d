// What the environment says about how a program's kernels are run. A program is not ours: there is no command line to ask.
#pragma once

#include <cstdint>
#include <functional>

namespace flashproof::cudart {

/// Of blocks and of warps. both: every launch runs twice, and memory that then differs is a finding.
enum class Order : std::uint8_t { first, last, both };

struct Settings {
  bool races = true;              // FLASHPROOF_CUDART_RACES: on, off
  Order order = Order::first;     // FLASHPROOF_CUDART_ORDER: first, last, both
  bool exits = false;             // FLASHPROOF_CUDART_FINDING: error, exit (the process ends with 1 behind the report)
  std::uint32_t capability = 90;  // FLASHPROOF_CUDART_CAPABILITY: 7.5, 8.0, 8.6, 8.7, 8.9, 9.0
  std::uint64_t memory_mib = 8192;                  // FLASHPROOF_CUDART_MEMORY: 1 to 1048576
  std::int64_t max_instructions = 100'000'000'000;  // FLASHPROOF_CUDART_INSTRUCTIONS, of a launch: 1 to 10^18
};

/// `environment`: as std::getenv(). Throws UsageError that names the variable and what is legal.
Settings settings_of(const std::function<const char*(const char*)>& environment);

}  // namespace flashproof::cudart
