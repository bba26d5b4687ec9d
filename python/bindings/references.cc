#include "python/bindings/references.h"

#include <list>
#include <string>
#include <type_traits>
#include <vector>

#include "properties/generators/family.h"
#include "python/bindings/problem_json.h"
#include "python/bindings/values.h"
#include "reference/bound/backward/arithmetic_json.h"
#include "reference/bound/backward/gradient_bound.h"
#include "reference/bound/bound.h"
#include "reference/bound/declare/arithmetic_json.h"
#include "reference/oracle/backward/backward_truth.h"
#include "reference/oracle/oracle.h"
#include "reference/problem/witness/witness.h"

namespace flashproof::python {
namespace {

/// One number of every element of a part, of which they lie `apart` bytes apart.
template <class T>
Json column(const Problem& problem, Part part, const T* first, std::size_t apart = sizeof(T)) {
  const std::vector<std::int64_t> shape = output_shape(problem, part);
  std::vector<std::int64_t> strides = dense_stride(shape);
  for (std::int64_t& stride : strides) stride *= static_cast<std::int64_t>(apart);
  std::size_t bytes = apart;
  for (const std::int64_t extent : shape) bytes *= static_cast<std::size_t>(extent);
  return Json::parse(placed(std::is_same_v<T, double> ? "float64" : "uint8", first, shape, strides,
                            bytes == 0 ? 0 : bytes - apart + sizeof(T)));
}

Truth truth_of(const Problem& problem, bool narrow) {
  if (const auto* gradient = std::get_if<BackwardProblem>(&problem)) return backward_truth(*gradient, Format::f32);
  return narrow ? compute_truth(problem) : Oracle(problem).truth();
}

Bound bound_of(const Problem& problem, const std::string& arithmetic) {
  if (const auto* gradient = std::get_if<BackwardProblem>(&problem))
    return gradient_bound(*gradient, parse_gradient_arithmetic(arithmetic, format_of(problem)));
  return compute_bound(problem, parse_arithmetic(arithmetic, kind_of(problem), format_of(problem)));
}

/// The columns of a Truth that it does not keep as such.
struct Columns {
  std::vector<double> low;
  std::vector<std::uint8_t> classes;

  explicit Columns(const Balls& balls) {
    for (std::size_t i = 0; i < balls.size(); ++i) {
      low.push_back(balls[i].lo);
      classes.push_back(balls[i].classes);
    }
  }
};

/// Of every element of a part.
std::vector<std::uint8_t> in_domain(const Problem& problem, const Bound& bound, Part part) {
  std::vector<std::uint8_t> values;
  if (part == Part::o) {
    for (std::size_t i = 0; i < bound.o.size(); ++i) values.push_back(bound.domain_of(i).holds() ? 1 : 0);
  } else {
    const std::size_t width = part == Part::lse ? 1 : static_cast<std::size_t>(output_shape(problem, part).back());
    for (const RowDomain& row : bound.domains(part)) values.insert(values.end(), width, row.holds() ? 1 : 0);
  }
  return values;
}

}  // namespace

void truth(const Json& request, const Python& python) {
  const Problem problem = from_json(request.at("problem"));
  const Truth truth = truth_of(problem, value<bool>(request, "narrow"));
  std::list<Columns> kept;
  Json answer;
  for (const Part part : parts(kind_of(problem))) {
    const Balls& balls = truth[part];
    const Columns& columns = kept.emplace_back(balls);
    answer[std::string(name(part))] = {{"value", column(problem, part, balls.hi())},
                                       {"low", column(problem, part, columns.low.data())},
                                       {"radius", column(problem, part, balls.radius())},
                                       {"classes", column(problem, part, columns.classes.data())}};
  }
  python.answer_arrays(answer);
}

void bound(const Json& request, const Python& python) {
  const Problem problem = from_json(request.at("problem"));
  const Bound bound = bound_of(problem, value<std::string>(request, "arithmetic"));
  std::list<std::vector<std::uint8_t>> kept;
  Json answer, domain;
  for (const Part part : parts(kind_of(problem))) {
    const std::string of(name(part));
    const ElementBound* first = bound[part].data();
    const auto term = [&](double ElementBound::* member) {
      return column(problem, part, first == nullptr ? nullptr : &(first->*member), sizeof(ElementBound));
    };
    answer[of] = {{"weights", term(&ElementBound::weights)},
                  {"numerator", term(&ElementBound::numerator)},
                  {"denominator", term(&ElementBound::denominator)},
                  {"output", term(&ElementBound::output)},
                  {"probable", term(&ElementBound::probable)}};
    domain[of] = column(problem, part, kept.emplace_back(in_domain(problem, bound, part)).data());
  }
  if (kind_of(problem) != ProblemKind::backward) answer["range"] = column(problem, Part::o, bound.range.data());
  answer["in_domain"] = domain;
  python.answer_arrays(answer);
}

void write_witness(const Json& request, const Python& python) {
  Witness witness;
  witness.content.problem = from_json(request.at("problem"));
  witness.content.spec = parse_case_spec(value<std::string>(request, "case"));
  for (const auto& [key, note] : request.at("notes").items()) witness.notes[key] = note.get<std::string>();
  flashproof::write_witness(value<std::string>(request, "path"), witness);
  python.answer(nullptr);
}

void read_witness(const Json& request, const Python& python) {
  const Witness witness = flashproof::read_witness(value<std::string>(request, "path"));
  python.answer_arrays({{"problem", Json::parse(to_json(witness.content.problem))},
                        {"case", to_string(witness.content.spec)},
                        {"notes", witness.notes}});
}

void make_case(const Json& request, const Python& python) {
  const Case c = flashproof::make_case(parse_case_spec(value<std::string>(request, "line")));
  python.answer_arrays(Json::parse(to_json(c.problem)));
}

}  // namespace flashproof::python
