#include "python/bindings/references.h"

#include <nanobind/stl/string.h>

#include <vector>

#include "properties/generators/family.h"
#include "python/bindings/callable_gradient.h"
#include "python/bindings/numpy_arrays.h"
#include "python/bindings/problem_dict.h"
#include "reference/bound/arithmetic_json.h"
#include "reference/bound/bound.h"
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

std::vector<std::size_t> shape_of(std::int64_t rows, std::int64_t width) {
  return {static_cast<std::size_t>(rows), static_cast<std::size_t>(width)};
}

}  // namespace

nb::dict truth(const nb::dict& dict, bool narrow) {
  const Problem problem = from_dict(dict);
  const Truth truth = unlocked([&] { return narrow ? compute_truth(problem) : Oracle(problem).truth(); });
  nb::dict result;
  result["o"] = balls(truth.o, shape_of(truth.rows, truth.width));
  result["lse"] = balls(truth.lse, {static_cast<std::size_t>(truth.rows)});
  return result;
}

nb::dict bound(const nb::dict& dict, const std::string& text) {
  const Problem problem = from_dict(dict);
  const Arithmetic arithmetic = parse_arithmetic(text, kind_of(problem), format_of(problem));
  const Bound bound = unlocked([&] { return compute_bound(problem, arithmetic); });
  std::vector<std::uint8_t> in_domain;
  for (std::size_t i = 0; i < bound.o.size(); ++i) in_domain.push_back(bound.domain_of(i).holds() ? 1 : 0);
  nb::dict result;
  result["o"] = terms(bound.o, shape_of(bound.rows, bound.width));
  result["lse"] = terms(bound.lse, {static_cast<std::size_t>(bound.rows)});
  result["range"] = array(bound.range, shape_of(bound.rows, bound.width));
  result["in_domain"] = array(std::move(in_domain), shape_of(bound.rows, bound.width));
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
