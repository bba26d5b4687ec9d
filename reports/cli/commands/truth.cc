// truth CASE --out FILE: the exact answer, value and radius, as .safetensors: o and lse, or dq, dk and dv of
// attention_backward. Every tensor is f64 with a last axis of 2, (hi, lo): the value is hi + lo; a radius has lo = 0. An answer that is NaN or ±inf stands in hi as such. Radii are
// at most 2^-12 ulp of the format that --ulp names, but for the elements counted as inconclusive.
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "reference/oracle/backward/backward_truth.h"
#include "reference/oracle/oracle.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/progress.h"
#include "reference/system/text.h"
#include "reports/cli/commands/commands.h"
#include "reports/export/reproduction.h"
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

/// "o 12 x 64, lse 12"
std::string sizes_text(const Truth& truth, ProblemKind kind) {
  std::string text;
  for (const Part part : parts(kind)) {
    const std::int64_t width = truth.width_of(part);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name(part), width == 0 ? 0 : count(truth, part) / width);
    if (width > 1) text += fmt::format(" x {}", width);
  }
  return text;
}

}  // namespace

int truth_command(const TruthArguments& arguments) {
  const Format format = ulp_format(arguments.ulp);
  const PlannedCase planned = load_case(arguments.target);
  check_out(arguments);
  const Problem& problem = planned.data->problem;
  OracleOptions options;
  options.threads = jobs_for(arguments.threads);
  options.memory_limit = arguments.memory_gib << 30;
  const Truth truth = [&] {
    const Heartbeat heartbeat("the truth of " + to_string(planned.spec));
    return narrow_truth_of(problem, format, options);
  }();
  std::map<std::string, Tensor> tensors;
  for (const Part part : parts(kind_of(problem))) {
    Pair pair = tensors_of(truth[part], output_axes(problem, part));
    tensors.emplace(name(part), std::move(pair.value));
    tensors.emplace(std::string(name(part)) + "_radius", std::move(pair.radius));
  }
  std::map<std::string, std::string> metadata = {origin_note(arguments.target),
                                                 {"ulp", std::string(info(format).name)},
                                                 {"max_bits", std::to_string(truth.max_bits)},
                                                 {"inconclusive", std::to_string(truth.inconclusive)}};
  std::string tiers;
  if (const auto* gradient = std::get_if<BackwardProblem>(&problem)) {
    metadata["mode"] = gradient->mode == BackwardMode::stage ? "stage" : "gradient";
    tiers = fmt::format("{} rows exact", truth.exact_rows);
  } else {
    tiers = "rows by tier: " + rows_by_tier(truth, metadata);
  }
  write_tensors(arguments.out_file, tensors, metadata);
  std::printf("%s\n", fmt::format("{}: {} to 2^-12 ulp of {}; {}{}; {} elements inconclusive",
                                  one_line(arguments.out_file), sizes_text(truth, kind_of(problem)), info(format).name,
                                  tiers, truth.max_bits > 0 ? fmt::format(" (at most {} bits)", truth.max_bits) : "",
                                  truth.inconclusive)
                          .c_str());
  return kExitFine;
}

}  // namespace flashproof
