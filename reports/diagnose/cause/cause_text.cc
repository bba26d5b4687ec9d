// Causes as lines between processes.
#include <nlohmann/json.hpp>

#include "reports/diagnose/cause/cause.h"
#include "reports/workers/workers.h"

namespace flashproof {
namespace {

using Json = nlohmann::json;

}  // namespace

std::string Cause::serialize() const {
  return Json{id, sentence, condition, others, other_sentence, cases, failing_cases, elements, witness, confident}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

Cause Cause::deserialize(const std::string& line) {
  const Json j = Json::parse(line);
  return {j.at(0), j.at(1), j.at(2), j.at(3), j.at(4), j.at(5), j.at(6), j.at(7), j.at(8), j.at(9)};
}

std::vector<std::vector<Cause>> diagnose_apart(std::span<const FailingRuns> questions, int jobs, double seconds,
                                               void (*prepare)()) {
  std::vector<std::vector<Cause>> causes(questions.size());
  PoolHooks hooks;
  hooks.steps = [](std::uint64_t) { return std::uint64_t{1}; };
  hooks.work = [&](std::uint64_t task, std::uint64_t first, StepReporter& reporter) {
    if (first > 0) return;
    if (prepare != nullptr) prepare();
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
