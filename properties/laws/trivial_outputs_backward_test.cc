// Gradients that compute nothing, under what the backward kernels declare and under wider declarations: none gets a pass. As in
// reports/plugin/test/adversaries_test.cc, but of kernels here: the judging laws and RunPower are asked themselves, without descriptions of the C ABI.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <stdexcept>

#include "properties/generators/backward_case.h"
#include "properties/generators/family.h"
#include "properties/laws/law.h"
#include "properties/laws/run_power.h"
#include "reference/error/trivial.h"
#include "reference/oracle/backward/backward_truth.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

struct GradientCase {
  explicit GradientCase(Case made)
      : spec(std::move(made.spec)),
        problem(std::get<BackwardProblem>(std::move(made.problem))),
        truth(backward_truth(problem, problem.forward.q.format)),
        forward(forward_errors(problem)),
        gaps(trivial_gaps(problem, truth)),
        right{.dq = rounded(problem.forward.q, truth.dq),
              .dk = rounded(problem.forward.k, truth.dk),
              .dv = rounded(problem.forward.v, truth.dv)} {}

  static Tensor rounded(const Tensor& input, const Balls& truth) {
    Tensor tensor = Tensor::dense(input.format, input.shape);
    for (std::size_t i = 0; i < truth.size(); ++i) {
      const Ball ball = truth[i];
      const double infinity = std::numeric_limits<double>::infinity();
      const double value = (ball.classes & kFinite) != 0   ? ball.hi
                           : (ball.classes & kNaN) != 0    ? std::nan("")
                           : (ball.classes & kPosInf) != 0 ? infinity
                                                           : -infinity;
      tensor.set_bits(static_cast<std::int64_t>(i), encode(input.format, value));
    }
    return tensor;
  }

  CaseSpec spec;
  BackwardProblem problem;
  Truth truth;
  ForwardErrors forward;
  TrivialGaps gaps;
  Output right;
};

/// One case of every family that has a gradient.
std::deque<GradientCase>& cases_of(Format format) {
  static std::map<Format, std::deque<GradientCase>> all;
  std::deque<GradientCase>& cases = all[format];
  for (const Family& family : families()) {
    if (!cases.empty() && &family == families().data()) break;  // made before
    if (!family.serves(ProblemKind::backward)) continue;
    for (std::uint64_t seed = 0; seed < 2; ++seed) {  // a stage and a gradient
      try {
        cases.emplace_back(make_case(
            {ProblemKind::backward, std::string(family.name), seed, {{"format", std::string(info(format).name)}}}));
      } catch (const UsageError&) {
        continue;  // a feature without a gradient
      }
    }
  }
  return cases;
}

enum class Word { pass, undecided, fail };
struct Outcome {
  Word word;
  std::string why;
};

using Answer = void (*)(Tensor& gradient, const Tensor& input);

/// `parts`: which of dq, dk, dv are answered so; the others are right.
struct Wrong {
  const char* name;
  Answer answer;
};

void fill(Tensor& t, double value) {
  for (std::int64_t i = 0; i < t.elements(); ++i) t.set_bits(i, encode(t.format, value));
}
template <double Factor>
void times(Tensor& t, const Tensor&) {
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    t.set_bits(i, encode(t.format, Factor * decode(t.format, t.bits(i))));
  }
}
void copied(Tensor& t, const Tensor& input) {
  std::int64_t at = 0;
  for (std::int64_t b = 0; b < input.shape[0]; ++b) {
    for (std::int64_t h = 0; h < input.shape[1]; ++h) {
      for (std::int64_t i = 0; i < input.shape[2]; ++i) {
        for (std::int64_t c = 0; c < input.shape[3]; ++c, ++at) {
          t.set_bits(at, encode(t.format, input.at({b, h, i, c})));
        }
      }
    }
  }
}
/// Every row that of the next one; a single row turned by a column, with the other sign.
void other_row(Tensor& t, const Tensor&) {
  const Tensor from = t;
  const std::int64_t n = t.elements(), width = t.shape[3];
  for (std::int64_t i = 0; i < n; ++i) t.set_bits(i, from.bits((i + (n > width ? width : 1)) % n));
  if (n == width) times<-1.0>(t, from);
}
void nan_row(Tensor& t, const Tensor&) {
  for (std::int64_t c = 0; c < t.shape[3] && t.elements() > 0; ++c) {
    t.set_bits(t.elements() / t.shape[3] / 2 * t.shape[3] + c, encode(t.format, std::nan("")));
  }
}
void one_wrong(Tensor& t, const Tensor&) {
  std::int64_t at = -1;
  double largest = 0;
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    const double size = std::fabs(decode(t.format, t.bits(i)));
    if (size > largest) largest = size, at = i;
  }
  if (at >= 0) t.set_bits(at, 0);
}

constexpr Wrong kWrong[] = {
    {"NaN", [](Tensor& t, const Tensor&) { fill(t, std::nan("")); }},
    {"0", [](Tensor& t, const Tensor&) { fill(t, 0); }},
    {"1", [](Tensor& t, const Tensor&) { fill(t, 1); }},
    {"inf", [](Tensor& t, const Tensor&) { fill(t, std::numeric_limits<double>::infinity()); }},
    {"-inf", [](Tensor& t, const Tensor&) { fill(t, -std::numeric_limits<double>::infinity()); }},
    {"1e30", [](Tensor& t, const Tensor&) { fill(t, 1e30); }},
    {"negated", times<-1.0>},
    {"doubled", times<2.0>},
    {"a copy of the input", copied},
    {"another row", other_row},
    {"one row NaN", nan_row},
    {"one element 0", one_wrong},
};

/// As `report` judges a gradient kernel's run.
Outcome run(const Kernel& kernel, const BackwardArithmetic& arithmetic, std::deque<GradientCase>& cases,
            const Wrong* wrong, unsigned parts) {
  RunPower power;
  for (GradientCase& one : cases) {
    const BackwardProblem& problem = one.problem;
    if (!kernel.unsupported(problem).empty()) continue;
    Bound bound;
    try {
      bound = backward_bound(problem, arithmetic, one.forward);
    } catch (const UsageError&) {
      continue;
    }
    Output answer = one.right;
    if (wrong != nullptr && (parts & 1) != 0) wrong->answer(answer.dq, problem.forward.q);
    if (wrong != nullptr && (parts & 2) != 0) wrong->answer(answer.dk, problem.forward.k);
    if (wrong != nullptr && (parts & 4) != 0) wrong->answer(answer.dv, problem.forward.v);
    const Judgement judgement = judge(answer, one.truth, bound, kernel.contract, 0);
    const Case subject{one.spec, problem};
    const Power decided = power_of(answer, one.truth, bound, judgement, kernel.contract, one.gaps);
    for (const Law& law : judging_laws()) {
      const Verdict verdict = law.judge({kernel, subject, answer, one.truth, bound, judgement, &decided});
      if (verdict.failed()) return {Word::fail, verdict.detail};
    }
    power.add(one.spec, decided);
  }
  if (power.balanced().elements() == 0) return {Word::undecided, "no case"};
  std::string why = power.undecided();
  return {why.empty() ? Word::pass : Word::undecided, why};
}

/// What a declaration could say beside the kernel's own.
std::vector<BackwardArithmetic> wider(const BackwardArithmetic& own) {
  std::vector<BackwardArithmetic> list;
  const auto with = [&](const auto& change) { change(list.emplace_back(own)); };
  for (const double error : {0x1p-12, 0x1p-6, 0x1p-3, 0.49}) {
    with([&](BackwardArithmetic& a) { a.exp_error = error; });
  }
  for (const Format format : {Format::f16, Format::bf16, Format::e4m3fn, Format::e5m2}) {
    with([&](BackwardArithmetic& a) { a.p = format; });
    with([&](BackwardArithmetic& a) { a.ds = format; });
    with([&](BackwardArithmetic& a) { a.dp = format; });
    with([&](BackwardArithmetic& a) { a.p = a.ds = a.dp = format; });
  }
  for (const BlockFma& unit : {kVoltaF16, kHopperWgmmaFp8, BlockFma{.k = 64, .f = 7, .ofb = 7}}) {
    const Products products{.chains = 1, .unit = unit};
    with([&](BackwardArithmetic& a) { a.dot = products; });
    with([&](BackwardArithmetic& a) { a.products = products; });
    with([&](BackwardArithmetic& a) { a.dq.products = a.dk.products = a.dv.products = products; });
  }
  with([](BackwardArithmetic& a) { a.underflow = Underflow::flush; });
  with([](BackwardArithmetic& a) { a.scale = GradientScale::weights; });
  with([](BackwardArithmetic& a) { a.apart = true; });
  return list;
}

TEST(GradientAdversaries, none_gets_a_pass) {
  std::array<std::uint64_t, 3> words{};
  std::size_t wide = 0, declarations = 0;
  for (const Kernel& kernel : kernels_of(ProblemKind::backward)) {
    if (kernel.form != Form::hardened) continue;
    for (const Format format : kernel.formats) {
      std::deque<GradientCase>& cases = cases_of(format);
      std::vector<BackwardArithmetic> list = wider(kernel.backward_for(format).front());
      list.insert(list.begin(), kernel.backward_for(format).front());
      for (std::size_t i = 0; i < list.size(); ++i) {
        Outcome right;
        try {
          right = run(kernel, list[i], cases, nullptr, 0);
        } catch (const std::invalid_argument&) {
          continue;  // it contradicts itself
        }
        ++declarations;
        if (i == 0) {
          EXPECT_EQ(right.word, Word::pass) << kernel.id << " " << info(format).name << ": " << right.why;
        }
        wide += right.word == Word::pass ? 0 : 1;
        for (const Wrong& wrong : kWrong) {
          for (const unsigned parts : {1U, 2U, 4U, 7U}) {
            const Outcome outcome = run(kernel, list[i], cases, &wrong, parts);
            ++words[static_cast<std::size_t>(outcome.word)];
            EXPECT_NE(outcome.word, Word::pass) << wrong.name << " in " << parts << " as " << kernel.id << " "
                                                << info(format).name << ", declaration " << i;
          }
        }
      }
    }
  }
  EXPECT_GT(declarations, 30U);
  std::printf(
      "gradients, %zu declarations (%zu under which the rounded truth is undecided): fail %ju, undecided %ju, pass "
      "%ju\n",
      declarations, wide, static_cast<std::uintmax_t>(words[2]), static_cast<std::uintmax_t>(words[1]),
      static_cast<std::uintmax_t>(words[0]));
}

}  // namespace
}  // namespace flashproof
