// Causes as text, and as lines between processes.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reference/problem/error.h"
#include "reports/diagnose/cause.h"
#include "reports/views/terminal/text.h"
#include "reports/workers/workers.h"

namespace flashproof {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kColumns = 98;

std::string indented(std::string_view text) {
  std::string out;
  std::string lines = wrapped(one_line(text), kColumns - 4);
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    out += "    " + lines.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

}  // namespace

std::string Cause::serialize() const {
  return Json{id, sentence, condition, others, other_sentence, cases, failing_cases, elements, witness, confident}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

Cause Cause::deserialize(const std::string& line) {
  const Json j = Json::parse(line);
  return {j.at(0), j.at(1), j.at(2), j.at(3), j.at(4), j.at(5), j.at(6), j.at(7), j.at(8), j.at(9)};
}

std::string causes_text(std::span<const Cause> causes) {
  std::string out;
  for (const Cause& c : causes) {
    out += fmt::format("{} {}\n", c.confident ? "cause" : "left ", one_line(c.sentence));
    if (!c.others.empty()) out += indented("or, what these cases do not tell apart: " + c.other_sentence);
    if (!c.condition.empty()) out += indented(c.condition);
    const std::string elements = c.elements > 0 ? fmt::format(", {} elements", c.elements) : "";
    out += indented(fmt::format("{}: {} of {} failing cases looked at{}; smallest {}", one_line(c.id), c.cases,
                                c.failing_cases, elements, one_line(c.witness)));
  }
  return out;
}

std::vector<std::vector<Cause>> diagnose_apart(std::span<const FailingRuns> questions, int jobs, double seconds) {
  std::vector<std::vector<Cause>> causes(questions.size());
  PoolHooks hooks;
  hooks.steps = [](std::uint64_t) { return std::uint64_t{1}; };
  hooks.work = [&](std::uint64_t task, std::uint64_t first, StepReporter& reporter) {
    if (first > 0) return;
    const FailingRuns& q = questions[task];
    reporter.starting(0);
    Json lines = Json::array();
    for (const Cause& cause : diagnose(*q.kernel, q.failing, q.passing, q.executor)) lines.push_back(cause.serialize());
    reporter.returned();
    reporter.result(0, lines.dump(-1, ' ', false, Json::error_handler_t::replace));
  };
  hooks.result = [&](std::uint64_t task, std::uint64_t, const std::string& text) {
    for (const Json& line : Json::parse(text)) causes[task].push_back(Cause::deserialize(line.get<std::string>()));
  };
  hooks.crashed = [&](std::uint64_t task, std::uint64_t, const std::string& how) {
    const FailingRuns& q = questions[task];
    Cause& cause = causes[task].emplace_back();
    cause.id = "crash";
    cause.sentence = "the process that ran these cases again " + how;
    cause.failing_cases = q.failing.size();
    if (!q.failing.empty()) cause.witness = to_string(q.failing.front());
  };
  hooks.progress = [](std::uint64_t) {};
  PoolOptions options;
  options.jobs = jobs;
  options.step_seconds = seconds;
  run_pool(questions.size(), hooks, options);
  return causes;
}

}  // namespace flashproof
