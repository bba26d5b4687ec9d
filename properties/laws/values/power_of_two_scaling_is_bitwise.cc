// A power of two commutes with every rounding, cut and comparison while results are normal, so two scalings show nothing:
//   v (the o of states) times 2^k: o times 2^k, lse the same bits; q times 2^k and scale times 2^-k: the same bits.
// Of a kernel that does not declare itself deterministic the same numbers, within both bounds: o times 2^k within 2^k times its own.
//
// What is normal. The first relation plants |v| with exponents clamped to [-2, 1] and one sign per column: nothing cancels,
// so a partial sum is at least its least term, 0 or e^{-gap}·2^-2, gap a difference of two scores of the row (every frame
// and every product of rescaling factors is one). Gaps up to 60 keep terms above 2^-90; from 115 on a weight, up to e^10
// keys and all, underflows to 0 before it meets v, in both runs. Rows with a gap between are left out: a term that is
// subnormal in one run alone may decide a tie. k = ±20 of f32 and bf16, ±6 of f16, ±2 of 8 bits keeps v and every stored
// partial o normal. P does not depend on v, so its format does not matter. Unshifted weights count the distance to 0 too.
//
// The second leaves out heads whose q or k have a magnitude outside [2^-40, 2^40] beside 0: a product's last bit is then
// above 2^-149, so sums of products are exact where they are small. Scores in raw units divide bias, slopes, sink and
// softcap by the scale: these are held to [2^-40, 2^40] as well, as is the scale itself.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/same_outputs.h"
#include "properties/laws/support/weights.h"

namespace flashproof::law::power_of_two_scaling_is_bitwise {
namespace {

constexpr std::string_view kName = "power_of_two_scaling_is_bitwise";
constexpr std::string_view kTeeth[] = {"attention.broken.scale_dropped", "attention.broken.scale_twice",
                                       "merge.broken.unshifted_weights",
                                       "attention_backward.broken.small_d_out_taken_for_padding"};
constexpr double kNearGap = 60, kFarGap = 115;

int octaves(Format format) {
  const int bits = info(format).bits;
  return bits == 8 ? 2 : format == Format::f16 ? 6 : 20;
}

bool moderate(double x) { return x == 0 || (std::fabs(x) >= 0x1p-40 && std::fabs(x) <= 0x1p40); }

bool moderate(const Tensor& tensor) {
  bool all = true;
  if (!tensor.shape.empty()) {
    for_each_offset(tensor, [&](std::int64_t offset) {
      const double x = decode(tensor.format, tensor.bits(offset));
      all = all && (moderate(x) || !std::isfinite(x));
    });
  }
  return all;
}

/// No difference of two scores is such that a weight is neither an ordinary number nor 0.
bool weights_normal_or_zero(std::vector<double> scores) {
  std::ranges::sort(scores);
  return std::ranges::none_of(scores, [&](double s) {
    const auto next = std::ranges::upper_bound(scores, s + kNearGap);
    return next != scores.end() && *next < s + kFarGap;
  });
}

std::vector<std::uint8_t> rows_with_normal_weights(const Problem& problem, const Arithmetic& arithmetic) {
  std::vector<std::uint8_t> rows(static_cast<std::size_t>(output_shape(problem).rows), 0);
  for_each_row(problem, Scores::compute, [&](const RowWeights& row) {
    std::vector<double> scores;
    scores.reserve(2 * row.score.size() + 2);
    for (const Measured& score : row.score) scores.push_back(score.value);
    if (std::isfinite(row.sink)) scores.push_back(row.sink);
    const auto* merge = std::get_if<MergeProblem>(&problem);
    // A state (m, l, O) is rescaled by e^m, the l in its score beside it.
    for (const std::int64_t n : row.key) {
      if (merge != nullptr && merge->has_l()) scores.push_back(merge->lse.at({n, row.row}));
    }
    if ((merge != nullptr ? arithmetic.merge_weights : arithmetic.split.weights) == MergeWeights::unshifted)
      scores.push_back(0);
    rows[static_cast<std::size_t>(row.row)] = weights_normal_or_zero(std::move(scores)) ? 1 : 0;
  });
  return rows;
}

/// |x| with its exponent in [-2, 1] or 0, times 2^k: exact in every format.
double planted(double x, std::int64_t column, int k) {
  if (!std::isfinite(x)) x = 1;
  if (x == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);  // [1/2, 1)
  const double value = std::ldexp(fraction, std::clamp(exponent, -1, 2) + k);
  return column % 2 == 0 ? value : -value;
}

Tensor planted(const Tensor& tensor, int k) {
  const std::int64_t width = tensor.shape.back();
  std::int64_t n = 0;
  return mapped(tensor, [&](double x) { return planted(x, n++ % width, k); });
}

Problem with_values(const Problem& problem, int k) {
  Problem changed = problem;
  if (auto* p = std::get_if<AttentionProblem>(&changed)) {
    p->v = planted(p->v, k);
    p->v_descale = {};
  }
  if (auto* p = std::get_if<MergeProblem>(&changed)) p->o = planted(p->o, k);
  return changed;
}

/// A number that a factor of 2^k leaves exact.
bool scalable(Format format, double x, int k) {
  if (!std::isfinite(x)) return false;
  const double room = std::ldexp(1.0, std::abs(k) + 1);
  return x == 0 || (std::fabs(x) >= min_normal(format) * room && std::fabs(x) * room <= info(format).max_finite);
}

/// Row r of o times 2^k, and lse, in every bit.
void compare_bits(Comparison& tally, const Reading& plain, const Reading& scaled, std::int64_t r, int k) {
  const Format format = plain.format(Part::o);
  const auto differs = [&](Part part, std::int64_t c, double from, double to) {
    tally.fail(Failure::exceeds_bound,
               fmt::format("{}: {:.9g}, with the values times 2^{} {:.9g}", place_of(part, r, c), from, k, to));
  };
  const double lse = plain.value(Part::lse, r, 0), scaled_lse = scaled.value(Part::lse, r, 0);
  if (lse != scaled_lse && !(std::isnan(lse) && std::isnan(scaled_lse))) differs(Part::lse, 0, lse, scaled_lse);
  for (std::int64_t c = 0; c < plain.width(); ++c) {
    const double o = plain.value(Part::o, r, c), scaled_o = scaled.value(Part::o, r, c);
    if (plain.standing(Part::o, r, c) != Standing::number || !scalable(format, o, k)) continue;
    if (scaled.standing(Part::o, r, c) == Standing::excused) continue;
    // 0 is what underflowed in storage, too: then the other may be up to half the least number, times the factor.
    if (o == 0 && std::fabs(scaled_o) <= std::ldexp(min_subnormal(format), k - 1)) continue;
    if (scaled_o == std::ldexp(o, k)) {
      tally.held();
    } else {
      differs(Part::o, c, o, scaled_o);
    }
  }
}

/// The same within both bounds.
void compare_numbers(Comparison& tally, const Reading& plain, const Reading& scaled, std::int64_t r, int k) {
  compare_answers(tally, scaled, plain, Part::lse, r, 0, r);
  for (std::int64_t c = 0; c < plain.width(); ++c) {
    if (plain.standing(Part::o, r, c) != Standing::number || scaled.standing(Part::o, r, c) != Standing::number)
      continue;
    const double sharp = std::min(scaled.sharp(Part::o, r, c), std::ldexp(plain.sharp(Part::o, r, c), k));
    tally.agree(scaled.o(r, c), plain.o(r, c) * exactly(std::ldexp(1.0, k)), sharp,
                [&] { return fmt::format("{}, with the values times 2^{}", place_of(Part::o, r, c), k); });
  }
}

void compare_values(Trial& trial, Comparison& tally) {
  const Problem& problem = trial.problem();
  const auto* merge = std::get_if<MergeProblem>(&problem);
  const auto rows = rows_with_normal_weights(problem, trial.kernel().arithmetic);
  if (std::ranges::count(rows, 1) == 0) return;
  Random random = trial.random(kName);
  const int most = octaves(merge != nullptr ? merge->o.format : std::get<AttentionProblem>(problem).v.format);
  const int range = std::min(most, octaves(output_format(problem)));
  const int k = random.chance(0.5) ? range : -range;
  const Problem plain = with_values(problem, 0), scaled = with_values(problem, k);
  if (!tally.taken(trial.refusal(plain)) || !tally.taken(trial.refusal(scaled))) return;
  const Output from = trial.run(plain), to = trial.run(scaled);
  const Bound bound = trial.bound_of(plain), scaled_bound = trial.bound_of(scaled);
  const Reading reading(from, bound, trial.contract()), scaled_reading(to, scaled_bound, trial.contract());
  const auto answers = rows_with_an_answer(trial.contract(), plain);
  for (std::int64_t r = 0; r < reading.rows(); ++r) {
    if (rows[static_cast<std::size_t>(r)] == 0) continue;
    if (trial.contract().deterministic) {
      compare_bits(tally, reading, scaled_reading, r, k);
    } else if (answers.empty() || answers[static_cast<std::size_t>(r)] != 0) {
      compare_numbers(tally, reading, scaled_reading, r, k);
    }
  }
}

/// q times 2^k and scale times 2^-k, or false if a number of q is not exact then, or no normal number of its format.
bool scale_queries(AttentionProblem& p, int k) {
  const Format format = p.q.format;
  bool exact = true;
  p.q = mapped(p.q, [&](double x) {
    exact = exact && (!std::isfinite(x) || scalable(format, x, k));
    return std::ldexp(x, k);
  });
  p.scale = std::ldexp(p.scale, -k);
  return exact;
}

void compare_queries(Trial& trial, const AttentionProblem& p, Comparison& tally) {
  if (!moderate(p.scale) || !moderate(p.softcap)) return;
  for (const Tensor* tensor : {&p.q, &p.k, &p.bias, &p.alibi, &p.sink, &p.q_descale, &p.k_descale}) {
    if (!moderate(*tensor)) return;
  }
  for (const int k : {6, -6, 2, -2, 1, -1}) {
    Problem changed = p;
    if (!scale_queries(std::get<AttentionProblem>(changed), k) || !trial.refusal(changed).empty()) continue;
    const Output output = trial.run(changed);
    tally.add(same_answers(trial, {changed, output}, {trial.problem(), trial.output()}), Failure::exceeds_bound,
              fmt::format(", q times 2^{} and scale times 2^{} against as given", k, -k));
    return;
  }
}

Verdict relate(Trial& trial) {
  if (std::holds_alternative<SoftmaxProblem>(trial.problem())) return unsupported("softmax has nothing that scales");
  Comparison tally;
  compare_values(trial, tally);
  if (const auto* p = std::get_if<AttentionProblem>(&trial.problem())) compare_queries(trial, *p, tally);
  return tally.verdict("no row whose weights are normal numbers or 0, and no q that scales exactly");
}

}  // namespace

Law power_of_two_scaling_is_bitwise() {
  return {
      "v times 2^k: o times 2^k; dO, or v and o, times 2^k: gradients times 2^k; q times 2^k with scale times "
      "2^-k: the same o, dq times 2^-k, bit by bit",
      kTeeth, relate, power_of_two_scaling_of_gradients};
}

}  // namespace flashproof::law::power_of_two_scaling_is_bitwise
