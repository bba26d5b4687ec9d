// How much of its bound each term's errors use: the figures of the ledger.
#pragma once

#include <cstdint>
#include <string>

#include "fuzz/score/terms.h"
#include "kernels/registry.h"
#include "reference/problem/problems.h"

namespace flashproof {

struct Measurement {
  TermBests best{};
  std::string violation;  // a finite result outside its bound: describes it; empty if there is none
};

enum class Precision : std::uint8_t {
  search,  // the truth as it comes: its radius is subtracted from the error
  record,  // every best element's truth is narrowed until its radius is below 2^-40 of the error, or no tier is left; that of a
           // gradient is at most 2^-12 ulp of its format wide as it comes
};

/// Runs the kernel on the CPU executor. Elements that are not finite, out of domain, vacuous, or failed do not represent
/// any term. Throws what flashproof::run and judged_bound throw.
Measurement measure(const Kernel& kernel, const Problem& problem, Precision precision);

}  // namespace flashproof
