#include "reports/plugin/test/adversaries.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/bound/alternatives.h"
#include "reference/error/declared_truth.h"
#include "reference/error/judge.h"
#include "reference/error/rounded_truth.h"
#include "reference/oracle/oracle.h"
#include "reference/problem/error.h"
#include "reports/plugin/test/trivial_kernels.h"

namespace flashproof {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaNValue = std::nan("");

void put(Tensor& tensor, std::int64_t i, double value) { tensor.set_bits(i, encode(tensor.format, value)); }
double got(const Tensor& tensor, std::int64_t i) { return decode(tensor.format, tensor.bits(i)); }
void fill(Tensor& tensor, double value) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) put(tensor, i, value);
}
std::int64_t width(const Output& output) {
  return output.lse.elements() == 0 ? 0 : output.o.elements() / output.lse.elements();
}

template <int Value>  // 0: NaN, 1: 0, 2: 1, 3: inf, 4: -inf, 5: 1e30, 6: -1
Output constant(const Kernel&, const Problem&, Output right) {
  const double values[] = {kNaNValue, 0, 1, kInfinity, -kInfinity, 1e30, -1};
  fill(right.o, values[Value]);
  fill(right.lse, values[Value]);
  return right;
}

template <double (*Answer)(const TrivialAnswers&), bool Lse>
Output trivial(const Kernel&, const Problem& problem, Output right) {
  Tensor& tensor = Lse ? right.lse : right.o;
  for_each_trivial(problem, Lse,
                   [&](std::int64_t i, const TrivialAnswers& answers) { put(tensor, i, Answer(answers)); });
  return right;
}
double copied(const TrivialAnswers& a) { return a.copy; }
double uniform(const TrivialAnswers& a) { return a.uniform; }
double least(const TrivialAnswers& a) { return a.least; }
double largest(const TrivialAnswers& a) { return a.largest; }

template <double Factor, double Shift>
Output lse_as(const Kernel&, const Problem&, Output right) {
  for (std::int64_t i = 0; i < right.lse.elements(); ++i) put(right.lse, i, Factor * got(right.lse, i) + Shift);
  return right;
}
template <double Factor>
Output o_times(const Kernel&, const Problem&, Output right) {
  for (std::int64_t i = 0; i < right.o.elements(); ++i) put(right.o, i, Factor * got(right.o, i));
  return right;
}

/// A single row is negated: no other is there.
Output other_row(const Kernel&, const Problem&, Output right) {
  const Output from = right;
  const std::int64_t rows = right.lse.elements(), w = width(right);
  if (rows == 1) {
    for (Tensor* tensor : {&right.o, &right.lse}) {
      for (std::int64_t i = 0; i < tensor->elements(); ++i) put(*tensor, i, -got(*tensor, i));
    }
    return right;
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t other = (r + 1) % rows;
    right.lse.set_bits(r, from.lse.bits(other));
    for (std::int64_t c = 0; c < w; ++c) right.o.set_bits(r * w + c, from.o.bits(other * w + c));
  }
  return right;
}

/// The largest element of o is 0, every other one right.
Output one_wrong(const Kernel&, const Problem&, Output right) {
  std::int64_t at = -1;
  for (std::int64_t i = 0; i < right.o.elements(); ++i) {
    const double size = std::fabs(got(right.o, i));
    if (size > 0 && (at < 0 || size > std::fabs(got(right.o, at)))) at = i;
  }
  if (at >= 0) put(right.o, at, 0);
  return right;
}

Output nan_row(const Kernel&, const Problem&, Output right) {
  const std::int64_t rows = right.lse.elements(), w = width(right);
  if (rows == 0) return right;
  put(right.lse, rows / 2, kNaNValue);
  for (std::int64_t c = 0; c < w; ++c) put(right.o, rows / 2 * w + c, kNaNValue);
  return right;
}

Output nan_o(const Kernel&, const Problem&, Output right) { return fill(right.o, kNaNValue), right; }
Output nan_lse(const Kernel&, const Problem&, Output right) { return fill(right.lse, kNaNValue), right; }

double largest_size(const Tensor& t) {
  double size = 0;
  for (std::int64_t i = 0; i < t.elements() && !t.shape.empty(); ++i) {
    const double x = std::fabs(got(t, i));
    size = x <= size ? size : x;  // NaN counts
  }
  return size;
}

/// Small numbers, few of them, no mask and no feature.
bool easy(const Problem& problem) {
  if (const auto* p = std::get_if<SoftmaxProblem>(&problem)) {
    return p->row_length.empty() && p->x.elements() > 0 && p->x.shape[1] <= 64 && largest_size(p->x) < 4;
  }
  if (const auto* p = std::get_if<MergeProblem>(&problem)) {
    return p->features().empty() && p->o.shape[0] <= 4 && largest_size(p->lse) < 8 && largest_size(p->o) < 8;
  }
  const auto& p = std::get<AttentionProblem>(problem);
  return p.plain() && p.key_length.empty() && !p.causal && p.k_length() <= 64 && largest_size(p.q) < 4 &&
         largest_size(p.k) < 4 && largest_size(p.v) < 4;
}

template <int Value>  // as constant(); 7: refused
Output easy_only(const Kernel& kernel, const Problem& problem, Output right) {
  if (easy(problem)) return right;
  if constexpr (Value == 7) {
    throw UsageError("not today");
  } else {
    return constant<Value>(kernel, problem, std::move(right));
  }
}

enum class Outside { any, first, by_case };
/// NaN wherever that declaration, or some one of those that an open one stands for, leaves the domain.
template <Outside Which>
Output outside_nan(const Kernel& kernel, const Problem& problem, Output right) {
  const std::vector<Arithmetic> list = alternatives(kernel.arithmetic, problem);
  const std::int64_t w = width(right);
  const std::size_t only = Which == Outside::by_case ? static_cast<std::size_t>(right.o.elements()) % list.size() : 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (Which != Outside::any && i != only) continue;
    const Bound bound = compute_bound(problem, list[i]);
    const auto holds = [&](const RowDomain& domain) {
      return domain.holds() && (!kernel.contract.refuses_beyond_range || domain.form.holds());
    };
    for (std::int64_t r = 0; r < right.lse.elements(); ++r) {
      const auto row = static_cast<std::size_t>(r);
      if (!holds(bound.domain[row])) put(right.lse, r, kNaNValue);
      for (std::int64_t c = 0; c < w; ++c) {
        if (!holds(bound.domain_of(row, row * static_cast<std::size_t>(w) + static_cast<std::size_t>(c)))) {
          put(right.o, r * w + c, kNaNValue);
        }
      }
    }
  }
  return right;
}

/// 0.9 of its own bound beside the truth, everywhere.
Output edge_of_bound(const Kernel& kernel, const Problem& problem, Output right) {
  const Bound bound = compute_bound(problem, alternatives(kernel.arithmetic, problem).front());
  const auto shift = [](Tensor& tensor, const std::vector<ElementBound>& by) {
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      const double to = got(tensor, i) + 0.9 * by[static_cast<std::size_t>(i)].total();
      if (std::isfinite(to) && std::fabs(to) < info(tensor.format).max_finite) put(tensor, i, to);
    }
  };
  shift(right.o, bound.o);
  shift(right.lse, bound.lse);
  return right;
}

/// 0 wherever the bound accepts 0, else the truth.
Output zero_where_accepted(const Kernel& kernel, const Problem& problem, Output right) {
  const Bound bound = compute_bound(problem, alternatives(kernel.arithmetic, problem).front());
  const auto lazy = [](Tensor& tensor, const std::vector<ElementBound>& by) {
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      if (std::fabs(got(tensor, i)) < 0.999 * by[static_cast<std::size_t>(i)].total()) put(tensor, i, 0);
    }
  };
  lazy(right.o, bound.o);
  lazy(right.lse, bound.lse);
  return right;
}

Output truth(const Kernel&, const Problem&, Output right) { return right; }

constexpr auto kWrong = Claim::wrong;
constexpr Adversary kAdversaries[] = {
    {"NaN", kWrong, true, true, constant<0>},
    {"0", kWrong, true, true, constant<1>},
    {"1", kWrong, true, true, constant<2>},
    {"inf", kWrong, true, true, constant<3>},
    {"-inf", kWrong, true, true, constant<4>},
    {"1e30", kWrong, true, true, constant<5>},
    {"-1", kWrong, true, true, constant<6>},
    {"o NaN", kWrong, true, false, nan_o},
    {"o 0", kWrong, true, false, o_times<0.0>},
    {"o negated", kWrong, true, false, o_times<-1.0>},
    {"o doubled", kWrong, true, false, o_times<2.0>},
    {"o a copy of the input", kWrong, true, false, trivial<copied, false>},
    {"o uniform weights", kWrong, true, false, trivial<uniform, false>},
    {"o least value", kWrong, true, false, trivial<least, false>},
    {"o largest value", kWrong, true, false, trivial<largest, false>},
    {"lse NaN", kWrong, false, true, nan_lse},
    {"lse 0", kWrong, false, true, lse_as<0.0, 0.0>},
    {"lse largest score", kWrong, false, true, trivial<largest, true>},
    {"lse + 1", kWrong, false, true, lse_as<1.0, 1.0>},
    {"another row", kWrong, true, true, other_row},
    {"one element 0", kWrong, true, false, one_wrong},
    {"one row NaN", kWrong, true, true, nan_row},
    {"easy cases, else NaN", kWrong, true, true, easy_only<0>},
    {"easy cases, else 0", kWrong, true, true, easy_only<1>},
    {"easy cases, else refused", kWrong, true, true, easy_only<7>},
    {"NaN where any form leaves the domain", Claim::lazy, true, true, outside_nan<Outside::any>},
    {"NaN where one form does, by case", Claim::lazy, true, true, outside_nan<Outside::by_case>},
    {"NaN where the first form does", Claim::lazy, true, true, outside_nan<Outside::first>},
    {"0.9 of its bound", Claim::lazy, true, true, edge_of_bound},
    {"0 where the bound accepts it", Claim::lazy, true, true, zero_where_accepted},
    {"truth", Claim::right, false, false, truth},
};

}  // namespace

std::span<const Adversary> adversaries() { return kAdversaries; }

const Adversary& find_adversary(std::string_view name) {
  return *std::ranges::find(kAdversaries, name, &Adversary::name);
}

Output right_output(const Problem& problem, const Semantics& semantics) {
  if (semantics == Semantics{}) return {rounded_truth(problem, Part::o), rounded_truth(problem, Part::lse)};
  Oracle oracle(problem);
  const DeclaredTruth declared(problem, semantics, oracle.truth());
  Output output;
  for (const Part part : kForwardParts) {
    const Balls& balls = declared.truth()[part];
    output[part] = Tensor::dense(output_format(problem, part), output_shape(problem, part));
    for (std::size_t i = 0; i < balls.size(); ++i) {
      const Ball ball = balls[i];
      const double value = (ball.classes & (kFinite | kUnspecified)) != 0 ? ball.hi + ball.lo
                           : (ball.classes & kNaN) != 0                   ? kNaNValue
                           : (ball.classes & kPosInf) != 0                ? kInfinity
                                                                          : -kInfinity;
      put(output[part], static_cast<std::int64_t>(i), value);
    }
  }
  return output;
}

Runner runner_of(const Adversary& adversary, const Problem& known, const Output& right) {
  return [&adversary, &known, &right](const Kernel& kernel, const Problem& problem, const RunOptions&) {
    const Output truth = &problem == &known ? right : right_output(problem, kernel.contract.semantics);
    Output output = adversary.answer(kernel, problem, truth);
    if (!returned(kernel.contract, Part::o)) output.o = truth.o;
    if (!returned(kernel.contract, Part::lse)) output.lse = truth.lse;
    return output;
  };
}

}  // namespace flashproof
