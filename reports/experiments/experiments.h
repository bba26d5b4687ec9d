// Known results of the literature, measured again with the executable model (reference/model) against certified truth and
// beside the bound. Each experiment is a function of the seed that returns a Markdown table; reports/tables keeps them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace flashproof {

struct Experiment {
  const char* name;
  const char* about;  // one line: what is measured, and whose result it is
  std::string (*run)(std::uint64_t seed);
};

std::string fused_exponent(std::uint64_t seed);
std::string one_signed_v(std::uint64_t seed);
std::string merge_orders(std::uint64_t seed);
std::string biased_output(std::uint64_t seed);
std::string outlier_rmse(std::uint64_t seed);

std::span<const Experiment> experiments();

}  // namespace flashproof
