// The tensors of a reproduction by name: the inputs, and what belongs to every output.
#include "reference/problem/fields.h"
#include "reports/export/reproduction.h"

namespace flashproof {
namespace {

void add(std::map<std::string, Tensor>& to, const char* name, const Tensor& tensor) {
  if (!tensor.shape.empty()) to.emplace(name, tensor);
}

}  // namespace

std::map<std::string, Tensor> inputs_of(const Problem& problem) {
  std::map<std::string, Tensor> inputs;
  const auto add_input = [&](const Field& field, const Tensor& t) { inputs.emplace(std::string(field.name), t); };
  std::visit([&](const auto& p) { for_each_tensor(p, add_input); }, problem);
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
