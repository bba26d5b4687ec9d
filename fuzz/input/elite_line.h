// A worst case of a campaign as a line of text, with which it can be run again without an archive and without the tables that
// its bytes were of: "kernel format term ratio recipe [changes]", e.g.
//   merge.nway.hardened f32 o.weights 0.75 merge:normal:7:n=5 12345:0:3 99:1:0
// The recipe is of case.h (of a gradient: of its forward problem), the changes those of mutation.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/input/codec.h"

namespace flashproof {

struct EliteLine {
  std::string kernel, format, term;
  double ratio = 0;  // error/bound when it was found
  Origin origin;

  bool operator==(const EliteLine&) const = default;
  /// Of two lines only one is of use if these agree.
  std::string key() const { return kernel + ' ' + format + ' ' + term; }
};

std::string to_string(const EliteLine& line);
/// Throws UsageError naming what is wrong with the line.
EliteLine parse_elite_line(std::string_view text);

/// Of an input that a target decoded (codec.h) and ran in `format`. None for data, which is no recipe.
std::optional<Origin> elite_origin(ProblemKind problem, std::string_view format, std::span<const std::uint8_t> input);

}  // namespace flashproof
