// What a description takes beyond the formats: features, strides and sizes, and which problems it refuses for them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/problem/fields.h"

namespace flashproof {

/// Beyond the features of a problem: what this project's kernels all take, and a stranger's may not.
enum class Plain : std::uint8_t { causal, key_length, bias, gqa, row_length, concat, order };
inline constexpr std::array<std::string_view, 7> kPlain = {"causal",     "key_length", "bias", "gqa",
                                                           "row_length", "concat",     "order"};

ProblemKind problem_of(Plain plain);
/// Whether problems of this kind may have it.
bool has_feature(ProblemKind problem, Feature feature);

enum class Strides : std::uint8_t { dense, rows, any };

/// The keys of a case spec.
inline constexpr std::array<std::string_view, 10> kKeys = {"rows", "cols", "n", "b", "hq", "hk", "sq", "sk", "d", "dv"};
inline constexpr std::array<std::string_view, 10> kAxes = {"rows",    "cols",     "states",   "batch", "q_heads",
                                                           "k_heads", "q_length", "k_length", "d",     "dv"};

std::vector<Axis> axes_of(ProblemKind problem);

struct Limit {
  Axis axis;
  std::int64_t least, most, step;
  bool as_d = false;  // dv: the extent is that of d, whatever it is
};

/// What a description takes.
struct Takes {
  std::vector<bool> plain = std::vector<bool>(kPlain.size(), false);
  Strides strides = Strides::dense;
  std::vector<Limit> limits;

  bool has(Plain p) const { return plain[static_cast<std::size_t>(p)]; }
};

/// "" if the problem is taken as far as these say, else why not: the argument and what is legal.
std::string refused(const Takes& takes, const Problem& problem);
/// Whether d and dv may differ.
bool takes_other_width(const std::vector<Limit>& limits);
/// Sizes by the keys of a case spec: "sk", 64.
using Sizes = std::vector<std::pair<std::string, std::int64_t>>;
/// Of each limited axis a size that is not the least unless it must be: 0 and 1 test little.
Sizes sizes(const std::vector<Limit>& limits);
/// What makes of a problem beyond the limits the nearest one within: of each axis that breaks a limit the next size above that is legal,
/// of an odd length the one behind that, so that what comes in tiles has more than one (a costly one has several as it is); else the
/// largest; then, while that is more than kFittedWork, the axes, the longest first, made shorter by as much, as far as is legal.
/// A costly one (several tiles on each axis) has kFittedWorkOfMany, and so has one of more rows than kManyRows, which is about them: of
/// its axes those that count the rows come last.
/// Empty for a problem within the limits, and where an axis has no legal size.
Sizes fitted(const std::vector<Limit>& limits, const Problem& problem, bool costly);
/// Products of one element with another, so that a case that is brought within limits costs little where they let it.
inline constexpr std::int64_t kFittedWork = std::int64_t{1} << 21, kFittedWorkOfMany = std::int64_t{1} << 25;
/// What 16 bits count, and the second axis of a grid takes.
inline constexpr std::int64_t kManyRows = 65'535;

/// "d 16 to 128 by 16, dv as d".
std::string in_words(const std::vector<Limit>& limits);

}  // namespace flashproof
