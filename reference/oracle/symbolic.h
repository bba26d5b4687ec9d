// Which classes of result are right, decided before any arithmetic (the rules: reference/problem/README.md, "Special
// values").
#pragma once

#include <cstdint>

#include "reference/oracle/truth.h"

namespace flashproof {

/// What one visible score does to its row.
enum class ScoreClass : std::uint8_t { finite, hidden, poison };

/// −inf: weight 0, as if masked. NaN, or +inf (whose weight is e^(inf − inf)): the whole row is NaN.
ScoreClass classify_score(double score);

/// The score that decides what a state (m, l) of a merge does to its row: −inf if it is empty (m = −inf, whatever l holds,
/// or l = 0), NaN or +inf if it poisons the row (m is one, or l is), else m.
double state_score(double m, double l);

/// cap(scale·dot) + bias, with dot the sum of q·k in doubles, scale with its descale factors; softcap 0 = none. A bias of −inf hides the key whatever q
/// and k hold.
///
/// The class is right in any order of summation. Nothing overflows: |q·k| < 2^256 for finite f32 (narrower formats
/// hold f32 numbers), so 2^16 terms (kMaxHeadDim) stay below 2^272, times three finite f32 below 2^656, plus a finite bias
/// below 2^128, plus a finite ALiBi slope times a distance below 2^(128 + 31), all far below 2^1024. Hence an infinity
/// or a NaN comes only from an input, and the sum of a multiset of infinities, NaN and numbers has one class in every
/// order: NaN if it holds a NaN or both infinities, else its infinity, else finite. Nothing underflows to the 0 that
/// would make 0·inf of x·inf either: |scale| >= 2^-447 unless one of its factors is 0. The ALiBi term is finite, so it
/// decides nothing and is left out. Under a softcap c an infinite scale·dot becomes ±c, its NaN stays NaN.
ScoreClass classify_score(double scale, double dot, double softcap, double bias);

/// Special values among the v (or o_c) of one output that have a weight above 0.
struct ValueFlags {
  bool nan = false;
  bool positive = false;  // +inf
  bool negative = false;  // −inf

  void add(double value);
  /// NaN wins. An infinity may come out as itself, or as NaN where a kernel's weight underflows (0·inf). Both
  /// infinities: any of the three, for the same reason.
  std::uint8_t classes() const;
};

/// The exact number 0.
Ball zero_ball();
/// A result that is no number: one of these classes.
Ball special_ball(std::uint8_t classes);
/// Output of a hidden key in a NaN row: 0·NaN or a plain 0.
Ball zero_or_nan_ball();

}  // namespace flashproof
