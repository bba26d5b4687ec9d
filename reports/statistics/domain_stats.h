// How rows stand to the preconditions of their bounds (bound.h): counts and extremes, a commutative monoid.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "reference/bound/bound.h"

namespace flashproof {

/// Of one precondition, over the rows of which it was the one that failed by most or stood nearest to failing.
struct PreconditionStats {
  std::uint64_t outside = 0;  // rows that fail it
  Precondition worst;         // of those; load 0 if there is none
  Precondition nearest;       // the highest load of the rows inside

  void merge(const PreconditionStats& other);
};

struct DomainStats {
  std::uint64_t rows = 0;     // all, those included whose answer is symbolic and that have no precondition
  std::uint64_t outside = 0;  // rows with a failing precondition, their own or one column's accumulator's
  std::map<std::string, PreconditionStats, std::less<>> by_name;

  /// `refuses`: Contract::refuses_beyond_range, so that the form's own preconditions count too.
  void add(const Bound& bound, bool refuses = false);
  /// One row: the precondition that fails by most, or stands nearest to failing.
  void add(const Precondition& nearest);
  void merge(const DomainStats& other);
  /// Of the rows inside, the precondition with the highest load; null if no row has one. Ties: the first name.
  const std::pair<const std::string, PreconditionStats>* nearest() const;

  /// Lossless, one token per field, without tabs or newlines if names have none. deserialize throws UsageError on
  /// anything that serialize cannot have written.
  std::string serialize() const;
  static DomainStats deserialize(std::string_view text);
};

}  // namespace flashproof
