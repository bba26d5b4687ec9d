// Nothing to do: rows of length 0 beside others, only such rows, no columns, no rows, no keys, no queries, states that
// are all empty. Empty output or o = 0 and lse = -inf; storage beyond the length stays NaN and must not show.
#include "properties/generators/build.h"

namespace flashproof::family::zero_length {
namespace {

enum class Kind : std::uint8_t { some, all, no_length, no_rows };
constexpr Kind kKinds[] = {Kind::some, Kind::some, Kind::some, Kind::all, Kind::no_length, Kind::no_rows};

// A key that fixes an extent leaves only the kinds that do not need it to be 0.
Kind kind_for(const CaseSpec& spec, Random& random) {
  const Kind kind = pick(random, kKinds);
  const char* length = spec.problem == ProblemKind::softmax ? "cols" : "sk";
  const char* rows = spec.problem == ProblemKind::attention ? "sq" : "rows";
  const bool fixed =
      (kind == Kind::no_length && spec.keys.contains(length)) || (kind == Kind::no_rows && spec.keys.contains(rows));
  // A merge has at least one state: without a key of their own its states are all empty instead.
  const bool no_states = kind == Kind::no_length && spec.problem == ProblemKind::merge;
  return fixed ? Kind::some : no_states ? Kind::all : kind;
}

Case make(const CaseSpec& spec) {
  Random random = value_stream(spec);
  const Kind kind = kind_for(spec, random);
  ShapeWish wish{.causal_chance = 0.2, .exact_scale = true};
  if (kind == Kind::no_length) wish.length = 0;
  if (kind == Kind::no_rows) wish.rows = 0;
  Problem problem = draw_shape(spec, wish);
  if (kind == Kind::some || kind == Kind::all) {
    const std::int64_t longest = length_of(problem);
    put_lengths(problem, [&](std::int64_t index) {
      const std::int64_t length = random.integer(0, longest);
      return index == 0 || kind == Kind::all ? 0 : length;
    });
  }
  const bool merge = spec.problem == ProblemKind::merge;
  const auto row = [=](Random& r, const LogitSite& site, std::span<double> logits) {
    for (double& logit : logits) {
      const double value = 2 * r.normal();
      const bool empty = r.chance(0.3);
      logit = merge && (kind == Kind::all || site.row == 0 || empty) ? -kInfinity : value;
    }
  };
  return with_rows(spec, std::move(problem), random, row, {.noise = 0.5});
}

constexpr Promise kPromises[] = {{.field = &Difficulty::empty_rows, .at_least = 0.2, .share = 0.5}};

}  // namespace

Family zero_length() { return {"rows, batches, keys, queries or states of length 0", kAll, make, kPromises}; }

}  // namespace flashproof::family::zero_length
