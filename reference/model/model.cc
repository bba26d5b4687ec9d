#include "reference/model/model.h"

#include "reference/model/problem_models.h"

namespace flashproof {

namespace model {

void store(Output& output, std::int64_t row, const std::vector<float>& o, float lse) {
  const std::int64_t width = output.o.shape[1];
  for (std::int64_t c = 0; c < width; ++c) output.o.set({row, c}, o[static_cast<std::size_t>(c)]);
  output.lse.set({row}, lse);
}

}  // namespace model

namespace {

Output run_into(Format format, const Problem& problem, const Arithmetic& arithmetic, const Roundings& roundings) {
  validate(problem);
  require_runnable(problem, arithmetic);
  const OutputShape shape = output_shape(problem);
  Output output{.o = Tensor::dense(format, {shape.rows, shape.width}), .lse = Tensor::dense(Format::f32, {shape.rows})};
  visit_forward([&](const auto& p) { model::run(p, arithmetic, roundings, output); }, problem);
  return output;
}

}  // namespace

Output run_model(const Problem& problem, const Arithmetic& arithmetic, const Roundings& roundings) {
  return run_into(output_format(problem), problem, arithmetic, roundings);
}

Output run_model_unrounded(const Problem& problem, const Arithmetic& arithmetic, const Roundings& roundings) {
  return run_into(Format::f32, problem, arithmetic, roundings);
}

}  // namespace flashproof
