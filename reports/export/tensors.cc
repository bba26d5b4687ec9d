// The tensors of a reproduction by name: the inputs, and what belongs to every output.
#include "reports/export/reproduction.h"

namespace flashproof {
namespace {

void add(std::map<std::string, Tensor>& to, const char* name, const Tensor& tensor) {
  if (!tensor.shape.empty()) to.emplace(name, tensor);
}

void add(std::map<std::string, Tensor>& to, const AttentionProblem& p) {
  add(to, "q", p.q);
  add(to, "k", p.k);
  add(to, "v", p.v);
  add(to, "bias", p.bias);
  add(to, "alibi", p.alibi);
  add(to, "sink", p.sink);
  add(to, "q_descale", p.q_descale);
  add(to, "k_descale", p.k_descale);
  add(to, "v_descale", p.v_descale);
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
  if (const AttentionProblem* attention = attention_of(problem)) add(inputs, *attention);
  if (const auto* backward = std::get_if<BackwardProblem>(&problem)) {
    add(inputs, "d_out", backward->d_out);
    add(inputs, "o", backward->o);
    add(inputs, "lse", backward->lse);
  }
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
