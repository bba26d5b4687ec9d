#include "reference/oracle/test/containment.h"

#include <algorithm>
#include <boost/multiprecision/mpfr.hpp>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <utility>

#include "reference/oracle/oracle.h"
#include "reference/oracle/test/reference.h"
#include "reference/oracle/test/reference_error.h"
#include "reference/oracle/tiers.h"

namespace flashproof::containment {
namespace {

namespace mp = boost::multiprecision;
using Fine = mp::number<mp::mpfr_float_backend<300>, mp::et_off>;
constexpr int kFineBits = 990;  // 300 digits are 996 bits or more

void clear_signs(Tensor& tensor) {
  const std::int64_t bytes = info(tensor.format).bits / 8;
  for (std::size_t at = bytes - 1; at < tensor.storage.size(); at += bytes) tensor.storage[at] &= std::byte{0x7f};
}

/// Σ p|v|: the same problem with |v|, in doubles. Only kinds that doubles handle are held against it.
std::vector<double> scales(const Problem& problem) {
  Problem sizes = problem;
  if (auto* attention = std::get_if<AttentionProblem>(&sizes)) {
    clear_signs(attention->v);
    clear_signs(attention->v_descale);
  }
  if (auto* merge = std::get_if<MergeProblem>(&sizes)) clear_signs(merge->o);
  return visit_forward([](const auto& p) { return reference<double>(p); }, sizes).o;
}

Truth rows_of(const Problem& problem, Tier tier, int bits) {
  const OutputShape shape = output_shape(problem);
  const std::unique_ptr<RowTier> rows = tier == Tier::exact ? exact_tier(problem) : double_double_tier(problem);
  Truth truth = Truth::sized(shape.rows, shape.width);
  for (std::int64_t r = 0; r < shape.rows; ++r) truth.set_row(r, rows->row(r, tier, bits));
  return truth;
}

Truth fp64_rows(const Problem& problem) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(output_shape(problem).rows));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  std::vector<RowCause> cause(rows.size());
  Truth truth;
  fp64_tier(problem, rows, Threads(1), truth, cause);
  return truth;
}

void judge_one(const Ball& ball, const Fine& exact, const Fine& tolerance, double scale, ContainmentCounts& tally) {
  ++tally.elements;
  if (mp::isinf(exact)) {  // lse of a row without keys
    if (ball.classes != kNegInf) ++tally.wrong_class;
    return;
  }
  if (ball.classes != kFinite || !std::isfinite(ball.hi)) {
    ++tally.wrong_class;
    return;
  }
  if (std::signbit(ball.radius)) ++tally.violations;  // -0.0 too: it reaches files and texts as such
  if (!narrow_enough(ball, Format::f32)) ++tally.loose;
  if (ball.radius == std::numeric_limits<double>::infinity()) {
    ++tally.unbounded;
    return;
  }
  const Fine error = abs(Fine(exact - Fine(ball.hi)) - Fine(ball.lo));
  if (!(error <= Fine(ball.radius) + tolerance)) ++tally.violations;
  if (!(ball.radius <= 0x1p-36 * scale)) ++tally.wide;
  if (ball.radius > 0 && error > tolerance) {
    const double ratio = Fine(error / Fine(ball.radius)).convert_to<double>();
    tally.tightness.push_back(static_cast<float>(-std::log2(std::max(ratio, 0x1p-1000))));
  }
}

}  // namespace

Truth compute(const Problem& problem, Way way) {
  switch (way) {
    case Way::fp64:
      return fp64_rows(problem);
    case Way::dd_scores:
      return rows_of(problem, Tier::dd_scores, 0);
    case Way::dd:
      return rows_of(problem, Tier::dd, 0);
    case Way::exact_128:
      return rows_of(problem, Tier::exact, 128);
    default:
      return narrow_truth(problem, Format::f32);
  }
}

std::string name(Way way) {
  constexpr const char* kNames[] = {"fp64", "dd_scores", "dd", "exact 128", "narrow"};
  return kNames[static_cast<int>(way)];
}

ContainmentCounts& ContainmentCounts::operator+=(const ContainmentCounts& other) {
  elements += other.elements;
  violations += other.violations;
  wrong_class += other.wrong_class;
  unbounded += other.unbounded;
  wide += other.wide;
  loose += other.loose;
  inconclusive += other.inconclusive;
  tightness.insert(tightness.end(), other.tightness.begin(), other.tightness.end());
  return *this;
}

double ContainmentCounts::median_tightness() const {
  if (tightness.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<float> sorted = tightness;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

struct Case::State {
  Problem problem;
  ReferenceResult<Fine> exact;
  test::ReferenceError<Fine> error;
  std::vector<double> scale;
};

Case::Case(Problem problem) : state_(std::make_unique<State>()) {
  state_->problem = std::move(problem);
  state_->exact = visit_forward([](const auto& p) { return reference<Fine>(p); }, state_->problem);
  state_->error = test::reference_error<Fine>(state_->problem, ldexp(Fine(1), -kFineBits), 2.0);
  state_->scale = scales(state_->problem);
}
Case::~Case() = default;
Case::Case(Case&&) noexcept = default;

const Problem& Case::problem() const { return state_->problem; }

bool Case::takes(Way way) const {
  if (way == Way::fp64) return has_fp64_tier();
  if (way == Way::dd_scores && kind_of(state_->problem) != ProblemKind::attention) return false;
  if (way == Way::dd || way == Way::dd_scores) return has_double_double_tier(state_->problem);
  return true;
}

ContainmentCounts Case::judge(Way way, const std::function<void(Ball&)>& spoil) const {
  return judge(compute(state_->problem, way), spoil);
}

ContainmentCounts Case::judge(const Truth& truth, const std::function<void(Ball&)>& spoil) const {
  ContainmentCounts tally;
  tally.inconclusive = truth.inconclusive;
  // A judge that cannot judge, and a tier that leaves elements out, are both wrong.
  if (!state_->error.meaningful) ++tally.wrong_class;
  if (truth.o.size() != state_->exact.o.size() || truth.lse.size() != state_->exact.lse.size()) {
    ++tally.wrong_class;
    return tally;
  }
  for (std::size_t i = 0; i < truth.o.size(); ++i) {
    Ball ball = truth.o[i];
    if (spoil) spoil(ball);
    judge_one(ball, state_->exact.o[i], state_->error.o, state_->scale[i], tally);
  }
  for (std::size_t i = 0; i < truth.lse.size(); ++i) {
    Ball ball = truth.lse[i];
    if (spoil) spoil(ball);
    judge_one(ball, state_->exact.lse[i], state_->error.lse, std::max(1.0, std::fabs(ball.hi)), tally);
  }
  return tally;
}

void Tallies::judge(const Case& judged, Way way) {
  if (judged.takes(way)) (*this)[way] += judged.judge(way);
}

void Tallies::judge(const Case& judged) {
  for (const Way way : kWays) judge(judged, way);
}

std::string Tallies::complaints() const {
  std::string text;
  for (const Way way : kWays) {
    const ContainmentCounts& tally = of[static_cast<int>(way)];
    const auto expect_none = [&](std::int64_t count, const char* what) {
      if (count != 0) text += name(way) + ": " + std::to_string(count) + ' ' + what + '\n';
    };
    expect_none(tally.violations, "violations");
    expect_none(tally.wrong_class, "of the wrong class");
    expect_none(tally.inconclusive, "inconclusive");
    if (way == Way::narrow) expect_none(tally.loose, "not narrow enough");
  }
  return text;
}

std::string Tallies::complaints(const std::string& kind) const {
  std::string text = complaints();
  for (const Way way : kWays) {
    const ContainmentCounts& tally = of[static_cast<int>(way)];
    const double share = unbounded_share(kind, way);
    if (static_cast<double>(tally.unbounded) > share * static_cast<double>(tally.elements)) {
      text += name(way) + ": " + std::to_string(tally.unbounded) + " without a bound\n";
    }
    if (benign(kind) && tally.wide != 0) text += name(way) + ": " + std::to_string(tally.wide) + " too wide\n";
  }
  return text;
}

void Tallies::print(const std::string& what) const {
  std::printf("%-52s", what.c_str());
  for (const ContainmentCounts& tally : of) {
    if (tally.elements == 0) {
      std::printf(" |%24s", "-");
    } else {
      std::printf(" |%8lld%6lld inf %5.1f", static_cast<long long>(tally.elements),
                  static_cast<long long>(tally.unbounded), tally.median_tightness());
    }
  }
  std::printf("\n");
}

}  // namespace flashproof::containment
