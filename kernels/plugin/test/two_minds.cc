// A softmax behind the C ABI with no single arithmetic: in some cases as far off as one meaning of the open declaration "unknown" allows, in
// others as far as another does. Each case by itself is explained.
#include <cmath>
#include <cstring>
#include <string>

#include "kernels/plugin.h"
#include "reference/bound/bound.h"
#include "reference/bound/declare/arithmetic_json.h"
#include "reference/oracle/oracle.h"
#include "reference/problem/problems.h"

namespace {

using namespace flashproof;

Bound bound_of(const Problem& problem, const char* exponent) {
  const std::string text =
      std::string(R"({"preset": "unknown", "reduction": "chunked_online", "exponent": ")") + exponent + "\"}";
  return compute_bound(problem, parse_arithmetic(text, ProblemKind::softmax, Format::f32));
}

SoftmaxProblem problem_of(const flashproof_tensor& x) {
  SoftmaxProblem problem;
  problem.x = Tensor::dense(Format::f32, {x.shape[0], x.shape[1]});
  problem.plan = ChunkPlan::uniform(x.shape[1], 64);
  const auto* in = static_cast<const float*>(flashproof_data(&x));
  for (std::int64_t i = 0; i < x.shape[0] * x.shape[1]; ++i) {
    const float* from = in + i / x.shape[1] * x.strides[0] + i % x.shape[1] * x.strides[1];
    std::memcpy(problem.x.storage.data() + static_cast<std::size_t>(i) * sizeof(float), from, sizeof(float));
  }
  return problem;
}

std::int32_t run(const flashproof_call* call) {
  const SoftmaxProblem problem = problem_of(*call->softmax->x);
  const Truth truth = compute_truth(problem);
  const Bound unfused = bound_of(problem, "unfused"), fused = bound_of(problem, "fused");
  bool wider = false;
  for (std::size_t i = 0; i < truth.o.size(); ++i) wider = wider || unfused.o[i].total() > fused.o[i].total();
  const Bound& off = wider ? unfused : fused;
  auto* o = static_cast<float*>(flashproof_data(call->o));
  for (std::size_t i = 0; i < truth.o.size(); ++i) {
    const double error = off.o[i].total();
    const bool number = truth.o[i].classes == kFinite;
    o[i] = !number ? NAN : static_cast<float>(truth.o[i].hi + (std::isfinite(error) ? 0.9 * error : 0));
  }
  return 0;
}

}  // namespace

FLASHPROOF_PLUGIN_OF_ONE("softmax.two_minds.test", FLASHPROOF_SOFTMAX, FLASHPROOF_CPU,
                         R"({"formats": ["f32"], "arithmetic": "unknown", "returns": "o"})", run)
