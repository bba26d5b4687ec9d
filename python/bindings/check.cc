#include "python/bindings/check.h"

#include <algorithm>
#include <chrono>

#include "properties/driver/property_files.h"
#include "properties/driver/property_run.h"
#include "properties/generators/glob.h"
#include "python/bindings/call_faults.h"
#include "python/bindings/measure.h"
#include "python/bindings/statistics_json.h"
#include "reference/problem/error.h"

namespace nb = nanobind;

namespace flashproof::python {
namespace {

Json law_result(const PropertyResult& result, const std::string& program) {
  Json json{{"law", result.law},
            {"finding", result.failure.has_value()},
            {"skipped", result.executed() == 0},
            {"cases", counts(result.counts)}};
  if (!result.failure) {
    if (result.executed() == 0) json["message"] = result.does_not_apply;
    return json;
  }
  const PropertyFailure& failure = *result.failure;
  json["failure"] = name(failure.verdict.failure);
  json["message"] = failure.verdict.detail;
  json["case"] = to_string(failure.spec);
  json["shrunk"] = failure.shrunk;
  json["witness"] = failure.witness;
  json["replay"] = replay_line(program, result);
  return json;
}

std::vector<const Family*> families_named(const std::vector<std::string>& globs) {
  std::vector<std::string_view> names;
  for (const Family& family : families()) names.push_back(family.name);
  std::vector<const Family*> chosen;
  for (const std::size_t i : select_names(globs, names, "family")) chosen.push_back(&families()[i]);
  return chosen;
}

/// The clock, Ctrl-C, and a device that answers no more.
class Stop {
 public:
  Stop(CallableKernel& kernel, double seconds)
      : kernel_(kernel),
        limited_(seconds > 0),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
  bool operator()() {
    stopped_ = stopped_ || kernel_.lost() || (limited_ && Clock::now() >= end_) || kernel_.interrupted();
    return stopped_;
  }
  bool stopped() const { return stopped_; }

 private:
  using Clock = std::chrono::steady_clock;
  CallableKernel& kernel_;
  bool limited_;
  Clock::time_point end_;
  bool stopped_ = false;
};

Json run(CallableKernel& kernel, const CheckRequest& request) {
  Stop stop(kernel, request.seconds);
  const std::vector<const Family*> chosen = families_named(request.families);
  Json root = Json::object();
  std::vector<FamilyRecord> records;
  bool cut = false;
  const Kernel measured{kernel.declaration()};
  if (request.measured > 0 && request.replay.empty()) {
    // Half of the time, so that the laws have the other.
    Stop half(kernel, request.cases > 0 ? request.seconds / 2 : request.seconds);
    records = measure(measured, chosen, request.measured, std::ref(half));
    cut = half.stopped();
  }
  PropertyOptions options;
  options.laws = request.laws;
  options.families = request.families;
  options.seed = request.seed;
  options.cases = request.cases;
  options.redraws = 12;
  options.program = request.program;
  options.replay = request.replay;
  options.out = request.witnesses;
  options.stop = std::ref(stop);
  std::vector<PropertyResult> results;
  if (request.cases > 0 && !stop()) results = run_properties(std::span(&kernel.declaration(), 1), options);
  root["partial"] = cut || stop.stopped();
  root["lost"] = kernel.lost();
  for (Json& list : {std::ref(root["laws"]), std::ref(root["families"])}) list = Json::array();
  for (const PropertyResult& result : results) root["laws"].push_back(law_result(result, request.program));
  const std::vector<CallFault> faults = call_faults(results);
  for (const CallFault& fault : faults) {
    for (Json& law : root["laws"]) {
      if (std::ranges::count(fault.laws, law["law"].get<std::string>()) > 0) law["same_as"] = results[fault.first].law;
    }
  }
  for (const FamilyRecord& record : records) {
    root["families"].push_back({{"family", record.family},
                                {"cases", counts(record.verdicts)},
                                {"refused", record.refused},
                                {"finding", record.finding},
                                {"o", statistics(record.o)},
                                {"lse", statistics(record.lse)}});
  }
  root["junit"] = junit_text(told_once(results, faults), request.program);
  return root;
}

}  // namespace

std::string check(CallableDeclaration declaration, const CheckRequest& request) {
  CallableKernel kernel(std::move(declaration));
  std::string text;
  std::exception_ptr failed;
  {
    const nb::gil_scoped_release unlocked;
    try {
      text = run(kernel, request).dump(-1, ' ', false, Json::error_handler_t::replace);
    } catch (...) {
      failed = std::current_exception();
    }
  }
  kernel.rethrow_interrupt();
  if (failed) std::rethrow_exception(failed);
  return text;
}

}  // namespace flashproof::python
