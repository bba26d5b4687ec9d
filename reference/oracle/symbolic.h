// Which classes of result are right, decided before any arithmetic (design: semantics.md, "Special values").
#pragma once

#include <cstdint>

#include "reference/oracle/truth.h"

namespace flashproof {

/// What one visible score does to its row.
enum class ScoreClass : std::uint8_t { finite, hidden, poison };

/// −inf: weight 0, as if masked. NaN, or +inf (whose weight is e^(inf − inf)): the whole row is NaN.
ScoreClass classify_score(double score);

/// scale·dot + bias with dot the sum of q·k in doubles. The class is right in any order of summation: products of two
/// f32 numbers are far below the range of double, so an infinity or a NaN can only come from the inputs. A bias of −inf
/// hides the key whatever q and k hold.
ScoreClass classify_score(double scale, double dot, double bias);

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
