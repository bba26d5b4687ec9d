#include "python/bindings/references.h"

#include <nanobind/stl/string.h>

#include <vector>

#include "properties/generators/family.h"
#include "python/bindings/numpy_arrays.h"
#include "python/bindings/problem_dict.h"
#include "reference/bound/arithmetic_json.h"
#include "reference/bound/backward/gradient_bound.h"
#include "reference/bound/bound.h"
#include "reference/oracle/backward/backward_truth.h"
#include "reference/oracle/oracle.h"
#include "reference/problem/witness.h"

namespace nb = nanobind;

namespace flashproof::python {
namespace {

template <class Work>
auto unlocked(const Work& work) {
  const nb::gil_scoped_release release;
  return work();
}

std::vector<std::size_t> shape_of(const Problem& problem, Part part) {
  const std::vector<std::int64_t> shape = output_shape(problem, part);
  return {shape.begin(), shape.end()};
}

Truth truth_of(const Problem& problem, bool narrow) {
  if (const auto* gradient = std::get_if<BackwardProblem>(&problem)) return backward_truth(*gradient, Format::f32);
  return narrow ? compute_truth(problem) : Oracle(problem).truth();
}

Bound bound_of(const Problem& problem, const std::string& arithmetic) {
  if (const auto* gradient = std::get_if<BackwardProblem>(&problem))
    return gradient_bound(*gradient, gradient_preset(arithmetic, format_of(problem)));
  return compute_bound(problem, parse_arithmetic(arithmetic, kind_of(problem), format_of(problem)));
}

/// Of every element of a part.
nb::object in_domain(const Problem& problem, const Bound& bound, Part part) {
  std::vector<std::uint8_t> values;
  const std::vector<std::size_t> shape = shape_of(problem, part);
  if (part == Part::o) {
    for (std::size_t i = 0; i < bound.o.size(); ++i) values.push_back(bound.domain_of(i).holds() ? 1 : 0);
  } else {
    for (const RowDomain& row : bound.domains(part))
      values.insert(values.end(), part == Part::lse ? 1 : shape.back(), row.holds() ? 1 : 0);
  }
  return array(std::move(values), shape);
}

}  // namespace

nb::dict truth(const nb::dict& dict, bool narrow) {
  const Problem problem = from_dict(dict);
  const Truth truth = unlocked([&] { return truth_of(problem, narrow); });
  nb::dict result;
  for (const Part part : parts(kind_of(problem)))
    result[std::string(name(part)).c_str()] = balls(truth[part], shape_of(problem, part));
  return result;
}

nb::dict bound(const nb::dict& dict, const std::string& arithmetic) {
  const Problem problem = from_dict(dict);
  const Bound bound = unlocked([&] { return bound_of(problem, arithmetic); });
  nb::dict result, domain;
  for (const Part part : parts(kind_of(problem))) {
    result[std::string(name(part)).c_str()] = terms(bound[part], shape_of(problem, part));
    domain[std::string(name(part)).c_str()] = in_domain(problem, bound, part);
  }
  if (kind_of(problem) != ProblemKind::backward) result["range"] = array(bound.range, shape_of(problem, Part::o));
  result["in_domain"] = domain;
  return result;
}

void write_witness(const std::string& path, const nb::dict& dict, const std::string& case_line, const nb::dict& notes) {
  Witness witness;
  witness.content.problem = from_dict(dict);
  witness.content.spec = parse_case_spec(case_line);
  for (const auto& [key, value] : notes) witness.notes[nb::cast<std::string>(key)] = nb::cast<std::string>(value);
  flashproof::write_witness(path, witness);
}

nb::dict read_witness(const std::string& path) {
  const Witness witness = flashproof::read_witness(path);
  nb::dict notes, result;
  for (const auto& [key, value] : witness.notes) notes[key.c_str()] = value;
  result["problem"] = to_dict(witness.content.problem);
  result["case"] = to_string(witness.content.spec);
  result["notes"] = notes;
  return result;
}

nb::dict make_case(const std::string& line) { return to_dict(flashproof::make_case(parse_case_spec(line)).problem); }

}  // namespace flashproof::python
