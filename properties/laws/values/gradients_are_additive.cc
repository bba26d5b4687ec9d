// With o and lse as they are stored, the gradients are sums of pairs of query and key, and linear in dO, since D is. So,
// each within its bound:
//   dO = dO' + dO'', every element in one of the two: dq, dk and dv are the sums of those of the two;
//   dq = dq of the keys below a cut + dq of the others; dk and dv of a key are those it has among its part; of a key that no
//        query sees any more they are exactly 0;
//   dk, dv = those of the last queries alone + those with dO of the first queries alone.
// The keys below the cut are shown by a length, which moves no position; the others, and the last queries, stay where
// positions count from. A tile or a key that is left out for its place in the problem has another place in a part.
#include <fmt/format.h>

#include <cmath>

#include "properties/laws/law.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare_backward.h"
#include "properties/laws/support/parts_backward.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof::law::gradients_are_additive {
namespace {

constexpr std::string_view kName = "gradients_are_additive";
constexpr std::string_view kTeeth[] = {"attention_backward.broken.odd_query_tile_skipped"};

/// A run beside what it may be off by.
struct Ran {
  Output gradients;
  Bound bound;
  GradientReading reading() const { return {gradients, bound}; }
};

class Sums {
 public:
  explicit Sums(Trial& trial)
      : trial_(trial), whole_(trial.output(), trial.bound()), ordinary_(ordinary_gradients(gradient_of(trial))) {}

  void of_d_out(Random& random);
  void of_keys(std::int64_t cut);
  void of_queries(std::int64_t cut);
  Verdict verdict() const { return tally_.verdict("no row of ordinary numbers"); }

 private:
  Ran run(const BackwardProblem& problem) const { return {trial_.run(problem), trial_.bound_of(problem)}; }
  const std::vector<std::uint8_t>& ordinary(Part part) const {
    return part == Part::dq ? ordinary_.query : ordinary_.key;
  }
  /// Row r of the whole is row r of `all` and, where there is one, row part[r] of `some`.
  void sum(Part part, const GradientReading& all, const GradientReading& some, const std::vector<std::int64_t>& place,
           std::string_view relation);

  Trial& trial_;
  GradientReading whole_;
  OrdinaryGradients ordinary_;
  Comparison tally_;
};

void Sums::sum(Part part, const GradientReading& all, const GradientReading& some,
               const std::vector<std::int64_t>& place, std::string_view relation) {
  for (std::int64_t row = 0; row < whole_.rows(part); ++row) {
    if (ordinary(part)[static_cast<std::size_t>(row)] == 0) continue;
    const std::int64_t there = place[static_cast<std::size_t>(row)];
    for (std::int64_t c = 0; c < whole_.width(part); ++c) {
      if (whole_.standing(part, row, c) != Standing::number || all.standing(part, row, c) != Standing::number) continue;
      if (there >= 0 && some.standing(part, there, c) != Standing::number) continue;
      Measured expected = all.at(part, row, c);
      if (there >= 0) expected = expected + some.at(part, there, c);
      tally_.agree(whole_.at(part, row, c), expected, whole_.sharp(part),
                   [&] { return fmt::format("{}, {}", place_of(part, row, c), relation); });
    }
  }
}

void Sums::of_d_out(Random& random) {
  BackwardProblem first = gradient_of(trial_), second = gradient_of(trial_);
  first.d_out = mapped(first.d_out, [](double x) { return x; });
  second.d_out = mapped(second.d_out, [](double x) { return x; });
  for (std::int64_t n = 0; n < first.d_out.elements(); ++n) {
    if (std::isfinite(decode(first.d_out.format, first.d_out.bits(n))))
      (random.chance(0.5) ? first : second).d_out.set_bits(n, 0);
  }
  const Ran one = run(first), other = run(second);
  for (const Part part : kGradientParts) {
    sum(part, one.reading(), other.reading(), iota(whole_.rows(part)), "dO against the sum of two that add up to it");
  }
}

void Sums::of_keys(std::int64_t cut) {
  const BackwardProblem& p = gradient_of(trial_);
  BackwardProblem below = as_stage(p);  // with o and lse of all keys
  below.forward.key_length.clear();
  for (std::int64_t b = 0; b < p.forward.batch(); ++b) {
    below.forward.key_length.push_back(static_cast<std::int32_t>(std::min(cut, p.forward.visible_length(b))));
  }
  GradientSlice slice = whole_slice(p.forward);
  slice.first_key = cut;
  const GradientPart above = slice_of(p, slice);
  if (!tally_.taken(trial_.refusal(below)) || !tally_.taken(trial_.refusal(above.problem))) return;
  const Ran first = run(below), last = run(above.problem);
  constexpr std::string_view kRelation = "all keys against the sum of two parts";
  sum(Part::dq, first.reading(), last.reading(), iota(whole_.rows(Part::dq)), kRelation);
  std::vector<std::int64_t> place(static_cast<std::size_t>(p.key_rows()), -1);
  for (std::size_t r = 0; r < above.key_row.size(); ++r) {
    place[static_cast<std::size_t>(above.key_row[r])] = static_cast<std::int64_t>(r);
  }
  for (const Part part : {Part::dk, Part::dv}) {
    sum(part, first.reading(), last.reading(), place, kRelation);
    const GradientReading hidden = first.reading();
    if (!trial_.contract().isolates_hidden) continue;  // k and v of what is hidden may be NaN
    for (std::int64_t n = 0; n < hidden.rows(part) * hidden.width(part); ++n) {
      const std::int64_t row = n / hidden.width(part);
      if (row % p.forward.k_length() < cut || hidden.value(part, row, n % hidden.width(part)) == 0) continue;
      tally_.fail(Failure::leak,
                  fmt::format("{}: {:.9g}, of a key beyond the length", place_of(part, row, n % hidden.width(part)),
                              hidden.value(part, row, n % hidden.width(part))));
    }
  }
}

void Sums::of_queries(std::int64_t cut) {
  const BackwardProblem& p = gradient_of(trial_);
  GradientSlice slice = whole_slice(p.forward);
  slice.first_query = cut;
  const GradientPart last = slice_of(p, slice);
  BackwardProblem first = p;
  first.d_out = mapped(first.d_out, [](double x) { return x; });
  const std::int64_t width = p.forward.value_dim();
  for (std::int64_t n = 0; n < first.d_out.elements(); ++n) {
    if (n / width % p.forward.q_length() < cut) continue;
    if (std::isfinite(decode(first.d_out.format, first.d_out.bits(n)))) first.d_out.set_bits(n, 0);
  }
  if (!tally_.taken(trial_.refusal(last.problem))) return;
  const Ran one = run(first), other = run(last.problem);
  for (const Part part : {Part::dk, Part::dv}) {
    sum(part, one.reading(), other.reading(), iota(whole_.rows(part)), "all queries against the first and the last");
  }
}

Verdict relate(Trial& trial) {
  if (no_rows(gradient_of(trial))) return vacuous("no row");
  const AttentionProblem& p = gradient_of(trial).forward;
  Random random = trial.random(kName);
  Sums sums(trial);
  sums.of_d_out(random);
  if (p.k_length() > 1) sums.of_keys(random.integer(1, p.k_length() - 1));
  if (p.q_length() > 1) sums.of_queries(random.integer(1, p.q_length() - 1));
  return sums.verdict();
}

}  // namespace

Law gradients_are_additive() {
  return {"linear in dO, sums over keys and over queries: two parts add up to the whole, within the bounds", kTeeth,
          nullptr, relate};
}

}  // namespace flashproof::law::gradients_are_additive
