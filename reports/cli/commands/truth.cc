// truth CASE --out FILE: the exact answer, value and radius, as .safetensors: o and lse, or dq, dk and dv of attention_backward. Every tensor is f64 with a last axis of
// 2, (hi, lo): the value is hi + lo; a radius has lo = 0. An answer that is NaN or ±inf stands in hi as such. Radii are
// at most 2^-12 ulp of the format that --ulp names, but for the elements counted as inconclusive.
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "reference/oracle/backward/backward_truth.h"
#include "reference/oracle/oracle.h"
#include "reference/problem/atomic_file.h"
#include "reference/problem/error.h"
#include "reference/problem/exit_codes.h"
#include "reference/problem/progress.h"
#include "reference/problem/text.h"
#include "reference/problem/witness.h"
#include "reports/cli/commands/commands.h"
#include "reports/record/report.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

double symbolic(const Ball& ball) {
  if ((ball.classes & kNaN) != 0) return std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  return (ball.classes & kPosInf) != 0 ? inf : -inf;
}

struct Pair {
  Tensor value, radius;
};

Pair tensors_of(const Balls& balls, std::vector<std::int64_t> shape) {
  shape.push_back(2);
  Pair pair{Tensor::dense(Format::f64, shape), Tensor::dense(Format::f64, shape)};
  for (std::size_t i = 0; i < balls.size(); ++i) {
    const Ball ball = balls[i];
    const bool finite = (ball.classes & kFinite) != 0;
    const auto at = static_cast<std::int64_t>(2 * i);
    pair.value.set_bits(at, encode(Format::f64, finite ? ball.hi : symbolic(ball)));
    pair.value.set_bits(at + 1, encode(Format::f64, finite ? ball.lo : 0.0));
    pair.radius.set_bits(at, encode(Format::f64, finite ? ball.radius : 0.0));
    pair.radius.set_bits(at + 1, encode(Format::f64, 0.0));
  }
  return pair;
}

Format ulp_format(const std::string& name) {
  if (const auto format = parse_format(name)) return *format;
  std::string legal;
  for (const Format format : kAllFormats) legal += fmt::format("{}{}", legal.empty() ? "" : ", ", info(format).name);
  throw UsageError(fmt::format("--ulp {}: must be one of {}", quote(name), legal));
}

/// "3 symbolic, 61 fp64", and the same for the file.
std::string rows_by_tier(const Truth& truth, std::map<std::string, std::string>& metadata) {
  std::int64_t rows[kTiers] = {};
  for (const Tier tier : truth.tier) ++rows[static_cast<int>(tier)];
  std::string text;
  for (int i = 0; i < kTiers; ++i) {
    const auto name_of_tier = name(static_cast<Tier>(i));
    metadata[fmt::format("rows_{}", name_of_tier)] = std::to_string(rows[i]);
    if (rows[i] != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", rows[i], name_of_tier);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

namespace {

void check_out(const TruthArguments& arguments) {
  if (arguments.out_file.empty()) throw UsageError("--out \"\": must be a file name");
  require_writable_file(arguments.out_file, "--out");  // before the work
  if (std::error_code none; std::filesystem::equivalent(arguments.target, arguments.out_file, none)) {
    throw UsageError("--out: is the case itself, must be another file");
  }
}

/// What the truth is of: the recipe, or the file, whose own line need not make its data.
std::pair<std::string, std::string> origin_note(const std::string& target) {
  const bool file = target.ends_with(".safetensors") || std::filesystem::exists(target);
  return {file ? "witness" : "case", target};
}

int truth_of_gradients(const TruthArguments& arguments, const BackwardProblem& problem, Format format) {
  OracleOptions options;
  options.memory_limit = arguments.memory_gib << 30;
  const Truth truth = [&] {
    const Heartbeat heartbeat(fmt::format("the truth of {} rows", problem.query_rows()));
    return backward_truth(problem, format, options);
  }();
  const auto shape = [](const Tensor& t) { return t.shape; };
  Pair dq = tensors_of(truth.dq, shape(problem.forward.q)), dk = tensors_of(truth.dk, shape(problem.forward.k)),
       dv = tensors_of(truth.dv, shape(problem.forward.v));
  write_tensors(arguments.out_file,
                {{"dq", std::move(dq.value)},
                 {"dq_radius", std::move(dq.radius)},
                 {"dk", std::move(dk.value)},
                 {"dk_radius", std::move(dk.radius)},
                 {"dv", std::move(dv.value)},
                 {"dv_radius", std::move(dv.radius)}},
                {origin_note(arguments.target),
                 {"mode", problem.mode == BackwardMode::stage ? "stage" : "gradient"},
                 {"ulp", std::string(info(format).name)},
                 {"max_bits", std::to_string(truth.max_bits)},
                 {"inconclusive", std::to_string(truth.inconclusive)}});
  std::printf("%s\n", fmt::format("{}: dq of {} rows, dk and dv of {} to 2^-12 ulp of {}; {} rows exact; {} elements "
                                  "inconclusive",
                                  one_line(arguments.out_file), problem.query_rows(), problem.key_rows(),
                                  info(format).name, truth.exact_rows, truth.inconclusive)
                          .c_str());
  return kExitFine;
}

}  // namespace

int truth_command(const TruthArguments& arguments) {
  const Format format = ulp_format(arguments.ulp);
  const PlannedCase planned = load_any_case(arguments.target);
  check_out(arguments);
  const Problem& problem = planned.data->problem;
  if (const auto* gradient = std::get_if<BackwardProblem>(&problem)) {
    return truth_of_gradients(arguments, *gradient, format);
  }
  OracleOptions options;
  options.threads = jobs_for(arguments.threads);
  options.memory_limit = arguments.memory_gib << 30;
  const Truth truth = [&] {
    const Heartbeat heartbeat(fmt::format("the truth of {} rows", output_shape(problem).rows));
    return narrow_truth(problem, format, options);
  }();
  std::vector<std::int64_t> rows = {truth.rows};
  if (const auto* attention = std::get_if<AttentionProblem>(&problem)) {
    rows.assign(attention->q.shape.begin(), attention->q.shape.begin() + 3);  // packed: (1, Hq, all tokens)
  }
  std::vector<std::int64_t> o_shape = rows;
  o_shape.push_back(truth.width);
  Pair o = tensors_of(truth.o, o_shape), lse = tensors_of(truth.lse, rows);
  std::map<std::string, std::string> metadata = {origin_note(arguments.target),
                                                 {"ulp", std::string(info(format).name)},
                                                 {"max_bits", std::to_string(truth.max_bits)},
                                                 {"inconclusive", std::to_string(truth.inconclusive)}};
  const std::string tiers = rows_by_tier(truth, metadata);
  write_tensors(arguments.out_file,
                {{"o", std::move(o.value)},
                 {"o_radius", std::move(o.radius)},
                 {"lse", std::move(lse.value)},
                 {"lse_radius", std::move(lse.radius)}},
                metadata);
  std::printf("%s\n", fmt::format("{}: {} rows x {} to 2^-12 ulp of {}; rows by tier: {}{}; "
                                  "{} elements inconclusive",
                                  one_line(arguments.out_file), truth.rows, truth.width, info(format).name, tiers,
                                  truth.max_bits > 0 ? fmt::format(" (at most {} bits)", truth.max_bits) : "",
                                  truth.inconclusive)
                          .c_str());
  return kExitFine;
}

}  // namespace flashproof
