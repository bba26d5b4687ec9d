#include "python/bindings/gradients.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "python/bindings/check_gradients.h"
#include "python/bindings/numpy_arrays.h"
#include "python/bindings/problem_dict.h"
#include "reference/bound/backward/gradient_bound.h"
#include "reference/oracle/backward/backward_truth.h"
#include "reference/problem/error.h"

namespace nb = nanobind;

namespace flashproof::python {
namespace {

template <class Work>
auto unlocked(const Work& work) {
  const nb::gil_scoped_release release;
  return work();
}

/// In gradient mode nothing reads o and lse: zeros of the right shape.
BackwardProblem problem_of(const nb::dict& dict) {
  BackwardProblem p;
  p.forward = std::get<AttentionProblem>(from_dict(dict));
  p.mode = BackwardMode::gradient;
  nb::tuple pair;
  std::string format;
  if (!dict.contains("do") || !nb::try_cast<nb::tuple>(dict["do"], pair) || pair.size() != 2 ||
      !nb::try_cast<std::string>(pair[0], format)) {
    throw UsageError("do: must be a pair (format, bits)");
  }
  p.d_out = tensor_of("do", format_named(format), pair[1]);
  const std::vector<std::int64_t> rows = {p.forward.batch(), p.forward.q_heads(), p.forward.q_length()};
  p.o = Tensor::dense(p.forward.q.format, {rows[0], rows[1], rows[2], p.forward.value_dim()});
  p.lse = Tensor::dense(Format::f32, rows);
  for (Tensor* tensor : {&p.o, &p.lse}) {
    for (std::int64_t i = 0; i < tensor->elements(); ++i) tensor->set_bits(i, 0);
  }
  validate(p);
  return p;
}

std::vector<std::size_t> shape_of(const Tensor& tensor) { return {tensor.shape.begin(), tensor.shape.end()}; }

/// A row's answer for each of its elements.
nb::object in_domain(const std::vector<RowDomain>& rows, const Tensor& tensor) {
  std::vector<std::uint8_t> values;
  for (const RowDomain& row : rows) values.insert(values.end(), tensor.shape.back(), row.holds() ? 1 : 0);
  return array(std::move(values), shape_of(tensor));
}

std::vector<std::pair<std::string, std::string>> preset_list() {
  std::vector<std::pair<std::string, std::string>> list;
  for (const ArithmeticPreset& preset : gradient_presets()) list.emplace_back(preset.name, preset.text);
  return list;
}

}  // namespace

nb::dict gradients(const nb::dict& dict) {
  const BackwardProblem problem = problem_of(dict);
  const Truth truth = unlocked([&] { return backward_truth(problem, Format::f32); });
  nb::dict result;
  result["dq"] = balls(truth.dq, shape_of(problem.forward.q));
  result["dk"] = balls(truth.dk, shape_of(problem.forward.k));
  result["dv"] = balls(truth.dv, shape_of(problem.forward.v));
  return result;
}

nb::dict gradient_bound(const nb::dict& dict, const std::string& text) {
  const BackwardProblem problem = problem_of(dict);
  const GradientArithmetic arithmetic = gradient_preset(text, problem.forward.q.format);
  const Bound bound = unlocked([&] { return flashproof::gradient_bound(problem, arithmetic); });
  const AttentionProblem& f = problem.forward;
  nb::dict result;
  result["dq"] = terms(bound.dq, shape_of(f.q));
  result["dk"] = terms(bound.dk, shape_of(f.k));
  result["dv"] = terms(bound.dv, shape_of(f.v));
  result["dq_in_domain"] = in_domain(bound.query_domain, f.q);
  result["dk_in_domain"] = in_domain(bound.key_domain, f.k);
  result["dv_in_domain"] = in_domain(bound.key_domain, f.v);
  return result;
}

void add_gradients(nb::module_& m) {
  m.def("gradients", &gradients, nb::arg("problem"));
  m.def("gradient_bound", &gradient_bound, nb::arg("problem"), nb::arg("arithmetic"));
  m.def("gradient_arithmetics", &preset_list);
  m.def(
      "check_gradients",
      [](std::string id, const std::string& format, std::string arithmetic, bool deterministic, bool saturates,
         std::vector<std::string> takes, nb::object call, nb::object refuses, std::vector<std::string> laws,
         std::vector<std::string> families, std::uint64_t seed, std::uint64_t cases, double seconds,
         std::string witnesses, std::string replay, std::string program) {
        return check_gradients({.id = std::move(id),
                                .format = format_named(format),
                                .arithmetic = std::move(arithmetic),
                                .deterministic = deterministic,
                                .overflow = saturates ? Overflow::saturate : Overflow::ieee,
                                .takes = std::move(takes),
                                .call = std::move(call),
                                .refuses = std::move(refuses)},
                               {std::move(laws), std::move(families), seed, cases, seconds, std::move(witnesses),
                                std::move(replay), std::move(program)});
      },
      nb::kw_only(), nb::arg("id"), nb::arg("format"), nb::arg("arithmetic"), nb::arg("deterministic"),
      nb::arg("saturates"), nb::arg("takes"), nb::arg("call"), nb::arg("refuses").none(), nb::arg("laws"),
      nb::arg("families"), nb::arg("seed"), nb::arg("cases"), nb::arg("seconds"), nb::arg("witnesses"),
      nb::arg("replay"), nb::arg("program"));
}

}  // namespace flashproof::python
