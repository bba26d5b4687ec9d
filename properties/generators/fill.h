// Numbers into a drawn shape. A family describes one row of logits; where it goes depends on the problem:
//
//   softmax    x[r, :]
//   merge      lse[:, r], one state per "key", visited in the merge's order
//   attention  the scaled scores: planted either in the dot products (q = g e_0 + noise, k_j = logit_j / (g scale) e_0
//              + noise) or in the bias over small random dot products. A row with a logit that is not finite needs the
//              bias. Packed sequences have no bias: planted in the dot products
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "reference/problem/problems.h"
#include "reference/problem/random.h"

namespace flashproof {

/// Where a row of logits stands.
struct LogitSite {
  const ChunkPlan& plan;
  std::int64_t row;  // counts up from 0 over all rows
  int precision;     // significand bits of the numbers that will hold the logits
  double max_logit;  // largest magnitude that they can hold
};

/// Writes the logits of one row, key j at [j]; −inf hides a key.
using LogitRow = std::function<void(Random& random, const LogitSite& site, std::span<double> logits)>;
/// The number v[key, column] (merge: o[state, row, column]).
using Value = std::function<double(Random& random, std::int64_t key, std::int64_t column)>;

enum class Carrier : std::uint8_t { any, bias };

struct LogitOptions {
  Carrier carrier = Carrier::any;
  double noise = 0.02;  // attention: standard deviation of the random part of the scaled score; 0 = no such part
};

/// Keys beyond a row's length stay poison.
void put_logits(Problem& problem, Random& random, const LogitRow& row, const LogitOptions& options = {});

/// attention: v. merge: o, except in states whose lse is −inf, which stay poison; so call it after put_logits.
/// softmax has none.
void put_values(Problem& problem, Random& random, const Value& value);
/// Normal numbers of variance 1.
void put_values(Problem& problem, Random& random);

/// Of normal queries, beside normal keys of deviation 1: that of the scaled scores is `deviation` then, as far as q stays normal in f16,
/// whatever scale the user asked for.
double query_amplitude(const AttentionProblem& problem, double deviation);
/// q and k normal with these standard deviations.
void put_queries(AttentionProblem& problem, Random& random, double amplitude);
void put_keys(AttentionProblem& problem, Random& random, double amplitude);
/// bias[b, h, i, :] from the row.
void put_bias(AttentionProblem& problem, Random& random, const LogitRow& row);

/// row_length / key_length, one per softmax row or attention batch; a merge has none.
void put_lengths(Problem& problem, const std::function<std::int64_t(std::int64_t index)>& length);

/// How many keys row r (softmax) or batch r (attention) sees.
std::int64_t row_length(const SoftmaxProblem& problem, std::int64_t r);

}  // namespace flashproof
