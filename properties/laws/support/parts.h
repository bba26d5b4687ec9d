// Problems taken apart, put together and widened, and what the parts' outputs say of the whole: what the laws about
// states, splits and keys share.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "properties/laws/support/compare.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// Causality, window, ALiBi and lengths written into the bias, so that a key's place means nothing any more and keys
/// may be added anywhere. Returns why not, or "". `exact`: refuses an ALiBi term that the bias cannot hold exactly;
/// without it the rounded one makes another, equally good problem. Nothing changes where there is none of these. Keys
/// beyond a length become hidden ones of zeros.
std::string without_positions(AttentionProblem& problem, bool exact);
/// Lengths written as −inf.
void without_lengths(SoftmaxProblem& problem);

/// One more chunk of `width` places before chunk `at` (at = chunks(): behind the last), visited as number `at`.
ChunkPlan widened(const ChunkPlan& plan, int at, std::int64_t width);
/// What is left of the plan behind place `from`.
ChunkPlan tail(const ChunkPlan& plan, std::int64_t from);

/// `n` keys more as chunk `at`: every component of k is `k`, of v `v`, the bias is −inf. Dense problems without
/// positions and with at least one key. Returns the place of the first.
std::int64_t insert_keys(AttentionProblem& problem, int at, std::int64_t n, double k, double v);
/// One state more, the last in storage, number `place` in the visiting order; with joins it first meets the state that
/// it displaced. lse(row) (m with l), every component of its o is `o`, its l is `l`.
void insert_state(MergeProblem& problem, std::size_t place, const std::function<double(std::int64_t row)>& lse,
                  double o, double l);

/// e^x of an x that is at most 0 in exact mathematics: a share of something. Its interval is cut to [0, 1], so that it
/// stays finite however little is known of x. What is certainly above 1 stays there (cut to e^700), and fails.
Measured share(const Measured& x);

/// What one element should be, as far as other outputs tell.
struct Expected {
  Standing standing = Standing::number;
  Measured value;
  double sharp = std::numeric_limits<double>::infinity();
};
inline Expected expect(const Measured& value) { return {.standing = Standing::number, .value = value}; }
inline Expected expect_special(double value) { return {.standing = Standing::special, .value = {value, 0}}; }
Expected expect(const Reading& reading, Part part, std::int64_t row, std::int64_t column);
/// A number plus another; what is special or excused stays what it is.
Expected operator+(Expected a, const Measured& b);
Expected operator*(Expected a, const Measured& b);

/// Compares an element with what it should be: numbers by their radii, classes exactly, but for an infinity where the
/// number may lie beyond the format's range.
void compare(Comparison& tally, const Reading& computed, Part part, std::int64_t row, std::int64_t column,
             const Expected& expected, std::string_view relation);
/// The relation is asked for only where it fails.
void compare(Comparison& tally, const Reading& computed, Part part, std::int64_t row, std::int64_t column,
             const Expected& expected, const std::function<std::string()>& relation);

/// Two states of one row, joined in exact mathematics: lse = ln(e^a + e^b), o = w o_a + (1 − w) o_b, w = 1/(1 +
/// e^{b−a}). d lse = w da + (1 − w) db, so its radius is at most the larger one. With δ the sum of the two radii w
/// moves by at most w (1 − w)(e^δ − 1).
class Joint {
 public:
  Joint(const Expected& a, const Expected& b);
  const Expected& lse() const { return lse_; }
  Expected o(const Expected& a, const Expected& b) const;

 private:
  Expected lse_;
  double a_ = 0, b_ = 0, shift_ = 0;  // the weights, and by how much either may be off
};

}  // namespace flashproof
