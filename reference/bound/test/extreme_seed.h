// Test support: where the cases of an attack begin.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>

namespace flashproof::attack {

/// FLASHPROOF_EXTREME_SEED=N: one case alone, the one that a failure names.
inline std::optional<std::uint64_t> only_seed() {
  const char* given = std::getenv("FLASHPROOF_EXTREME_SEED");
  if (given == nullptr) return std::nullopt;
  return std::strtoull(given, nullptr, 10);
}

/// Of a run of this many cases. By day 0, so that a change is told from a seed; at night behind the cases of the night before.
inline std::uint64_t first_seed(std::uint64_t cases, bool nightly) {
  if (!nightly) return 0;
  using Days = std::chrono::days;
  const auto today = std::chrono::floor<Days>(std::chrono::system_clock::now()).time_since_epoch();
  return static_cast<std::uint64_t>(today.count()) * cases;
}

}  // namespace flashproof::attack
