#include "reports/plugin/test/adversaries.h"

#include <algorithm>
#include <cmath>

#include "reference/error/judge.h"
#include "reference/problem/special_values.h"
#include "reference/system/error.h"
#include "reports/plugin/test/lazy_adversaries.h"
#include "reports/plugin/test/trivial_kernels.h"

namespace flashproof {
namespace {

const double kNaNValue = std::nan("");

void put(Tensor& tensor, std::int64_t i, double value) { tensor.set_bits(i, encode(tensor.format, value)); }
double got(const Tensor& tensor, std::int64_t i) { return decode(tensor.format, tensor.bits(i)); }
std::int64_t width(const Output& output, Part part) { return part == Part::lse ? 1 : output[part].shape.back(); }

template <int Value>  // 0: NaN, 1: 0, 2: 1, 3: inf, 4: -inf, 5: 1e30, 6: -1
Output constant(const Kernel& kernel, const Problem&, Output right) {
  const double values[] = {kNaNValue, 0, 1, kInfinity, -kInfinity, 1e30, -1};
  for (const Part part : parts(kernel.problem)) {
    for (std::int64_t i = 0; i < right[part].elements(); ++i) put(right[part], i, values[Value]);
  }
  return right;
}

template <double Factor, double Shift = 0.0>
Output times(const Kernel& kernel, const Problem&, Output right) {
  for (const Part part : parts(kernel.problem)) {
    Tensor& tensor = right[part];
    for (std::int64_t i = 0; i < tensor.elements(); ++i) put(tensor, i, Factor * got(tensor, i) + Shift);
  }
  return right;
}

template <double (*Choose)(const TrivialAnswers&), bool Lse>
Output trivial(const Kernel&, const Problem& problem, Output right) {
  Tensor& tensor = Lse ? right.lse : right.o;
  for_each_trivial(problem, Lse,
                   [&](std::int64_t i, const TrivialAnswers& answers) { put(tensor, i, Choose(answers)); });
  return right;
}
double copied(const TrivialAnswers& a) { return a.copy; }
double uniform(const TrivialAnswers& a) { return a.uniform; }
double least(const TrivialAnswers& a) { return a.least; }
double largest(const TrivialAnswers& a) { return a.largest; }

/// q, k and v.
Output copied_inputs(const Kernel&, const Problem& problem, Output right) {
  const AttentionProblem& p = *attention_of(problem);
  right.dq.storage = dense_bytes(p.q);
  right.dk.storage = dense_bytes(p.k);
  right.dv.storage = dense_bytes(p.v);
  return right;
}

Output of_uniform_weights(const Kernel&, const Problem& problem, Output right) {
  const UniformGradients made = uniform_gradients(std::get<BackwardProblem>(problem));
  const std::vector<double>* const values[] = {&made.dq, &made.dk, &made.dv};
  for (std::size_t part = 0; part < std::size(kGradientParts); ++part) {
    for (std::int64_t i = 0; const double value : *values[part]) put(right[kGradientParts[part]], i++, value);
  }
  return right;
}

/// A single row is negated: no other is there.
Output other_row(const Kernel& kernel, const Problem&, Output right) {
  for (const Part part : parts(kernel.problem)) {
    Tensor& tensor = right[part];
    const Tensor from = tensor;
    const std::int64_t n = tensor.elements(), w = width(right, part);
    for (std::int64_t i = 0; i < n; ++i) {
      if (n == w) put(tensor, i, -got(from, i));
      if (n != w) tensor.set_bits(i, from.bits((i + w) % n));
    }
  }
  return right;
}

/// The largest element is 0, every other one right.
Output one_wrong(const Kernel& kernel, const Problem&, Output right) {
  for (const Part part : parts(kernel.problem)) {
    std::int64_t at = -1;
    for (std::int64_t i = 0; i < right[part].elements(); ++i) {
      const double size = std::fabs(got(right[part], i));
      if (size > 0 && (at < 0 || size > std::fabs(got(right[part], at)))) at = i;
    }
    if (at >= 0) put(right[part], at, 0);
  }
  return right;
}

Output nan_row(const Kernel& kernel, const Problem&, Output right) {
  for (const Part part : parts(kernel.problem)) {
    const std::int64_t n = right[part].elements(), w = width(right, part);
    for (std::int64_t c = 0; n > 0 && c < w; ++c) put(right[part], n / w / 2 * w + c, kNaNValue);
  }
  return right;
}

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
  const AttentionProblem& p = *attention_of(problem);
  const auto* gradient = std::get_if<BackwardProblem>(&problem);
  return p.plain() && p.key_length.empty() && !p.causal && p.k_length() <= 64 && largest_size(p.q) < 4 &&
         largest_size(p.k) < 4 && largest_size(p.v) < 4 && (gradient == nullptr || largest_size(gradient->d_out) < 4);
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

Output truth(const Kernel&, const Problem&, Output right) { return right; }

constexpr auto kWrong = Claim::wrong, kLazy = Claim::lazy;

/// Of every problem.
void add_common(std::vector<Adversary>& list, const std::vector<Part>& all) {
  list.push_back({"easy cases, else NaN", kWrong, all, easy_only<0>});
  list.push_back({"easy cases, else 0", kWrong, all, easy_only<1>});
  list.push_back({"easy cases, else refused", kWrong, all, easy_only<7>});
  list.push_back({"NaN where any form leaves the domain", kLazy, all, nan_where_any_leaves});
  list.push_back({"NaN where one form does, by case", kLazy, all, nan_where_one_leaves});
  list.push_back({"NaN where the first form does", kLazy, all, nan_where_first_leaves});
  list.push_back({"0.9 of its bound", kLazy, all, at_edge_of_bound});
  list.push_back({"0 where the bound accepts it", kLazy, all, zero_where_accepted});
  list.push_back({"truth", Claim::right, {}, truth});
}

std::vector<Adversary> of_forward() {
  const std::vector<Part> all = {Part::o, Part::lse}, o = {Part::o}, lse = {Part::lse};
  std::vector<Adversary> list = {
      {"NaN", kWrong, all, constant<0>},
      {"0", kWrong, all, constant<1>},
      {"1", kWrong, all, constant<2>},
      {"inf", kWrong, all, constant<3>},
      {"-inf", kWrong, all, constant<4>},
      {"1e30", kWrong, all, constant<5>},
      {"-1", kWrong, all, constant<6>},
      {"o NaN", kWrong, o, constant<0>},
      {"o 0", kWrong, o, times<0.0>},
      {"o negated", kWrong, o, times<-1.0>},
      {"o doubled", kWrong, o, times<2.0>},
      {"o a copy of the input", kWrong, o, trivial<copied, false>},
      {"o uniform weights", kWrong, o, trivial<uniform, false>},
      {"o least value", kWrong, o, trivial<least, false>},
      {"o largest value", kWrong, o, trivial<largest, false>},
      {"lse NaN", kWrong, lse, constant<0>},
      {"lse 0", kWrong, lse, times<0.0>},
      {"lse largest score", kWrong, lse, trivial<largest, true>},
      {"lse + 1", kWrong, lse, times<1.0, 1.0>},
      {"another row", kWrong, all, other_row},
      {"one element 0", kWrong, o, one_wrong},
      {"one row NaN", kWrong, all, nan_row},
  };
  add_common(list, all);
  return list;
}

/// Each of them in all of dq, dk and dv, and in one alone.
std::vector<Adversary> of_gradient() {
  struct Change {
    const char* name;
    Answer answer;
  };
  constexpr Change kChanges[] = {{"NaN", constant<0>},
                                 {"0", constant<1>},
                                 {"1", constant<2>},
                                 {"inf", constant<3>},
                                 {"-inf", constant<4>},
                                 {"1e30", constant<5>},
                                 {"-1", constant<6>},
                                 {"negated", times<-1.0>},
                                 {"doubled", times<2.0>},
                                 {"a copy of the input", copied_inputs},
                                 {"uniform weights", of_uniform_weights},
                                 {"another row", other_row},
                                 {"one element 0", one_wrong},
                                 {"one row NaN", nan_row}};
  const std::vector<Part> all(std::begin(kGradientParts), std::end(kGradientParts));
  std::vector<Adversary> list;
  for (const Change& change : kChanges) {
    list.push_back({change.name, kWrong, all, change.answer});
    for (const Part part : all) {
      list.push_back({std::string(name(part)) + " " + change.name, kWrong, {part}, change.answer});
    }
  }
  add_common(list, all);
  return list;
}

}  // namespace

std::span<const Adversary> adversaries(ProblemKind problem) {
  static const std::vector<Adversary> kForward = of_forward(), kGradient = of_gradient();
  return problem == ProblemKind::backward ? kGradient : kForward;
}

const Adversary& find_adversary(ProblemKind problem, std::string_view name) {
  return *std::ranges::find(adversaries(problem), name, &Adversary::name);
}

Runner runner_of(const Adversary& adversary, const Problem& known, const Output& right) {
  return [&adversary, &known, &right](const Kernel& kernel, const Problem& problem, const RunOptions&) {
    const Output truth =
        &problem == &known ? right : right_output(problem, kernel.contract.semantics, kernel.contract.overflow);
    Output wrong = adversary.answer(kernel, problem, truth), output = truth;
    for (const Part part : adversary.parts) {
      if (returned(kernel.contract, part)) output[part] = std::move(wrong[part]);
    }
    return output;
  };
}

}  // namespace flashproof
