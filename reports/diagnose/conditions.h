// What separates what fails from what passes: the shortest predicate over traits, with the counts on both sides.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flashproof {

struct Trait {
  std::string id;  // "first_chunk_hidden"
  std::string
      phrase;  // of a yes/no trait: "the first visited chunk is wholly hidden"; of a number: "the number of keys"
  enum class Kind : std::uint8_t { yes_no, count, real } kind = Kind::real;
};

/// A row or an element, and what it looks like. NaN: the trait says nothing of it.
struct Unit {
  std::uint32_t case_number = 0;
  bool failing = false;
  std::vector<double> values;  // in the order of the traits
};

struct Condition {
  std::string id;        // ids of the traits, joined by "+"
  std::string sentence;  // "only where cols mod 32 = 1 (30 of 30 failing rows, 0 of 512 passing)"
  std::uint64_t failing = 0, passing = 0;
};

/// The predicate of one trait, or of two joined by "and" or by "or", that holds for every failing unit and for no passing one; one
/// before two, "and" before "or", of several the one whose traits come first. `noun`: "rows", "elements".
///
/// Chance: were it dealt at random which F of F + P cases fail, and which n of the n + m units of each, these would be just those
/// of a given predicate with probability 1 / W, W = C(F + P, F) Π C(n + m, n). Units of one case that share the values asked about
/// are one: they share the label, too. Every trait has the same share of the 1 % by which chance may find
/// one: where a trait is one of t, and a predicates of it could have been chosen (every threshold between its values, every
/// residue), t a / W must be below 1 %, or nothing is said; of two traits (t a)(t b) / 2.
std::optional<Condition> separating(const std::vector<Trait>& traits, const std::vector<Unit>& units,
                                    const std::string& noun);

}  // namespace flashproof
