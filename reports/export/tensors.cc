// The tensors of a reproduction by name: the inputs, and what belongs to every output.
#include "reports/export/reproduction.h"

namespace flashproof {
namespace {

void add(std::map<std::string, Tensor>& to, const char* name, const Tensor& tensor) {
  if (!tensor.shape.empty()) to.emplace(name, tensor);
}

}  // namespace

std::map<std::string, Tensor> inputs_of(const Problem& problem) {
  std::map<std::string, Tensor> inputs;
  if (const auto* softmax = std::get_if<SoftmaxProblem>(&problem)) add(inputs, "x", softmax->x);
  if (const auto* merge = std::get_if<MergeProblem>(&problem)) {
    add(inputs, "o", merge->o);
    add(inputs, "lse", merge->lse);
    add(inputs, "l", merge->l);
  }
  if (const auto* a = std::get_if<AttentionProblem>(&problem)) {
    add(inputs, "q", a->q);
    add(inputs, "k", a->k);
    add(inputs, "v", a->v);
    add(inputs, "bias", a->bias);
    add(inputs, "alibi", a->alibi);
    add(inputs, "sink", a->sink);
    add(inputs, "q_descale", a->q_descale);
    add(inputs, "k_descale", a->k_descale);
    add(inputs, "v_descale", a->v_descale);
  }
  return inputs;
}

std::map<std::string, Tensor> inputs_of(const BackwardProblem& problem) {
  std::map<std::string, Tensor> inputs = inputs_of(Problem(problem.forward));
  add(inputs, "d_out", problem.d_out);
  add(inputs, "o", problem.o);
  add(inputs, "lse", problem.lse);
  return inputs;
}

std::map<std::string, Tensor> tensors_of(const Reproduction& reproduction, std::map<std::string, Tensor> inputs) {
  for (const ReproducedTensor& t : reproduction.outputs) {
    const auto under = [&](const char* what, const Tensor& tensor) { add(inputs, (t.name + what).c_str(), tensor); };
    under(".exact", t.exact);
    under(".exact_lo", t.exact_lo);
    under(".radius", t.radius);
    under(".ulp", t.ulp);
    under(".low", t.low);
    under(".high", t.high);
    under(".may_be", t.may_be);
    under(".bound", t.bound);
    under(".recorded", t.recorded);
  }
  return inputs;
}

}  // namespace flashproof
