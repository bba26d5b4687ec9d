#include "reports/export/reproduction.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "kernels/registry.h"
#include "kernels/run/run.h"
#include "properties/laws/support/judged_bound.h"
#include "reference/bound/bound.h"
#include "reference/error/acceptance.h"
#include "reference/error/judge.h"
#include "reference/oracle/backward/backward_truth.h"
#include "reference/problem/special_values.h"
#include "reference/system/error.h"
#include "reports/run/evaluate.h"
#include "reports/run/sweep.h"

namespace flashproof {
namespace {

constexpr int kPlusInfinityBit = 1, kMinusInfinityBit = 2, kNanBit = 4;

ReproducedTensor blank(Part part, Format format, const std::vector<std::int64_t>& shape) {
  const auto f64 = [&] { return Tensor::dense(Format::f64, shape); };
  return {std::string(name(part)),           format, f64(), f64(), f64(), f64(), f64(), f64(),
          Tensor::dense(Format::f32, shape), f64(),  {}};
}

void put(Tensor& tensor, std::int64_t index, double value) { tensor.set_bits(index, encode(tensor.format, value)); }

void put_truth(ReproducedTensor& to, std::int64_t i, const Ball& ball) {
  const bool finite = (ball.classes & kFinite) != 0;
  put(to.exact, i, exact_value(ball));
  put(to.exact_lo, i, finite ? ball.lo : 0);
  put(to.radius, i, finite ? ball.radius : 0);
  put(to.ulp, i, finite ? ulp(to.format, ball) : kNan);
}

void put_right(ReproducedTensor& to, std::int64_t i, double low, double high, int may_be, double bound) {
  put(to.low, i, low);
  put(to.high, i, high);
  put(to.may_be, i, may_be);
  put(to.bound, i, bound);
}

/// Without a bound: any number where one is right.
void put_class_alone(ReproducedTensor& to, std::int64_t i, const Ball& ball) {
  const bool finite = (ball.classes & kFinite) != 0;
  put_right(to, i, finite ? -kInfinity : kInfinity, finite ? kInfinity : -kInfinity,
            ((ball.classes & kPosInf) != 0 ? kPlusInfinityBit : 0) +
                ((ball.classes & kNegInf) != 0 ? kMinusInfinityBit : 0) + ((ball.classes & kNaN) != 0 ? kNanBit : 0),
            kInfinity);
}

/// What the judge would take at this element: its interval, and the classes that it lets pass, asked one by one.
void put_judged(ReproducedTensor& to, std::int64_t i, const Element& e, const Contract& contract) {
  const auto judged = [&](const Element& element) { return decide(element, contract); };
  int may_be = 0;
  for (const auto& [bit, value] :
       {std::pair(kPlusInfinityBit, kInfinity), {kMinusInfinityBit, -kInfinity}, {kNanBit, kNan}}) {
    const Element other{e.part, e.row,   e.column, e.format, encode(e.format, value),
                        value,  e.truth, e.bound,  e.range,  e.domain};
    if (!judged(other).failed()) may_be += bit;
  }
  if ((e.truth.classes & kFinite) == 0) {
    // A gradient beyond every double is such a class and yet has a bound: infinite, when nothing can be told.
    const Element zero{e.part, e.row, e.column, e.format, 0, 0.0, e.truth, e.bound, e.range, e.domain};
    const bool numbers = !judged(zero).failed();
    put_right(to, i, numbers ? -kInfinity : kInfinity, numbers ? kInfinity : -kInfinity, may_be, kInfinity);
    return;
  }
  const Acceptance accepted = acceptance(e.format, contract.overflow, e.truth, e.bound.total());
  put_right(to, i, accepted.never_below, accepted.never_above, may_be,
            std::min(bound_with_rounding(e.format, e.truth, e.bound), std::numeric_limits<double>::max()));
}

Tensor shaped(const Tensor& dense, const std::vector<std::int64_t>& shape) {
  Tensor tensor = Tensor::dense(dense.format, shape);
  tensor.storage = dense.storage;
  return tensor;
}

void describe_run(Reproduction& r, const Kernel& kernel, const RunOptions& options) {
  r.kernel = kernel.id;
  r.place = place(kernel.math, options.executor);
}

void describe_verdict(Reproduction& r, const Verdict& verdict, const std::vector<ElementFinding>& elements,
                      std::uint64_t failing) {
  r.failed = verdict.failed();
  r.verdict = verdict_line(r.kernel, r.place, r.case_line, verdict, elements);
  for (const std::string& line : element_lines(elements, failing)) r.verdict += "\n" + line;
  if (elements.empty()) return;
  // The numbers once more, with the digits that the script prints.
  const ElementFinding& e = elements.front();
  for (const ReproducedTensor& t : r.outputs) {
    if (t.name != e.tensor) continue;
    const double unit = decode(Format::f64, t.ulp.bits(static_cast<std::int64_t>(e.index)));
    r.verdict += fmt::format("\n    {}[{}]: error {:.6g}, {:.6g} ulp, {:.6g} of its bound", e.tensor, e.index, e.error,
                             e.error / unit, e.ratio);
  }
}

/// Runs it; what ended it, if it did not return.
template <class Run>
auto run_guarded(Reproduction& r, Run run) -> std::optional<decltype(run())> {
  try {
    return run();
  } catch (const simt::Fault& e) {
    r.failure = e.what();
  } catch (const KernelFault& e) {
    r.failure = e.what();
  }
  r.failed = true;
  r.verdict = fmt::format("fail(error) {} {} {}  {}", r.kernel, r.place, r.case_line, r.failure);
  return std::nullopt;
}

[[noreturn]] void refuse(std::string_view kernel, const std::string& why) {
  throw UsageError(fmt::format("--kernel: {} does not take the case: {}", kernel, why));
}

void require_taken(const Kernel& kernel, const PlannedCase& planned) {
  if (kernel.problem != planned.spec.problem) refuse(kernel.id, "it is for " + std::string(name(kernel.problem)));
  if (!kernel.supports(planned.format)) refuse(kernel.id, "no " + std::string(info(planned.format).name));
  if (const std::string why = kernel.unsupported(planned.data->problem); !why.empty()) refuse(kernel.id, why);
}

/// Where no kernel returned anything.
Output zeros_of(const Problem& problem) {
  Output output;
  for (const Part part : parts(kind_of(problem))) {
    output[part] = Tensor::dense(output_format(problem, part), output_shape(problem, part));
  }
  return output;
}

}  // namespace

std::vector<std::int64_t> output_axes(const Problem& problem, Part part) {
  const auto* a = std::get_if<AttentionProblem>(&problem);
  if (a == nullptr) return output_shape(problem, part);
  std::vector<std::int64_t> axes(a->q.shape.begin(), a->q.shape.begin() + 3);  // packed: (1, Hq, all tokens)
  if (part == Part::o) axes.push_back(a->value_dim());
  return axes;
}

Reproduction reproduce(const PlannedCase& planned, const Kernel* kernel, const RunOptions& options) {
  if (kernel != nullptr) require_taken(*kernel, planned);
  const Problem& problem = planned.data->problem;
  const Truth truth = narrow_truth_of(problem, output_format(problem, parts(kind_of(problem)).front()));
  Reproduction r;
  r.case_line = to_string(planned.spec);
  std::optional<Output> output;
  std::optional<Bound> bound;
  if (kernel != nullptr) {
    describe_run(r, *kernel, options);
    CaseTruth of_case(*planned.data);
    bound = judged_bound(*kernel, *planned.data, of_case);
    output = run_guarded(r, [&] { return run(*kernel, problem, options); });
  }
  // What is judged does not depend on what was computed; without an output any will do.
  const Output stand_in = output ? *output : zeros_of(problem);
  for (const Part part : parts(kind_of(problem))) {
    ReproducedTensor& to =
        r.outputs.emplace_back(blank(part, output_format(problem, part), output_axes(problem, part)));
    for (std::int64_t i = 0; i < count(truth, part); ++i) {
      const Ball& ball = truth[part][static_cast<std::size_t>(i)];
      put_truth(to, i, ball);
      if (!bound) {
        put_class_alone(to, i, ball);
      } else {
        put_judged(to, i, element_at(stand_in, truth, *bound, part, i), kernel->contract);
      }
    }
    if (output) to.recorded = shaped((*output)[part], to.exact.shape);
  }
  if (!output) return r;
  const Judgement judgement = judge(*output, truth, *bound, kernel->contract, 0);
  const CaseResult result = evaluate({*kernel, *planned.data, *output, truth, *bound, judgement}, 0, 1);
  describe_verdict(r, result.verdict, result.elements, result.failing_elements);
  return r;
}

}  // namespace flashproof
