// The two halves of difficulty(): what the rows of scores say, and what the tensors and the shape say.
#pragma once

#include <span>

#include "properties/generators/difficulty/difficulty.h"
#include "properties/generators/score_rows.h"

namespace flashproof {

inline double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

void measure_rows(std::span<const ScoreRow> rows, Difficulty& result);
void measure_storage(const Problem& problem, std::span<const ScoreRow> rows, Difficulty& result);

}  // namespace flashproof
