#include "python/bindings/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "properties/driver/property_files.h"
#include "properties/driver/property_run.h"
#include "properties/generators/glob.h"
#include "properties/laws/law.h"
#include "python/bindings/call_faults.h"
#include "python/bindings/callable_kernel.h"
#include "python/bindings/measure.h"
#include "python/bindings/statistics_json.h"
#include "python/bindings/stop.h"
#include "python/bindings/values.h"
#include "reference/system/error.h"
#include "reference/system/shown_text.h"
#include "reports/diagnose/cause/cause_entries.h"

namespace flashproof::python {
namespace {

struct Request {
  std::vector<std::string> laws, families;  // globs; empty: all
  std::uint64_t seed;                       // another one draws other cases
  std::uint64_t cases;                      // drawn per family for the laws; 0: no laws
  std::uint64_t measured;                   // cases per family for the statistics; 0: none
  double seconds;                           // ends after so long with what there is; 0: no limit
  std::string witnesses;                    // folder; empty: none are written
  std::vector<std::string> replay;          // witnesses or case lines, and nothing else
  std::string program;                      // what replay lines begin with

  explicit Request(const Json& json)
      : laws(value<std::vector<std::string>>(json, "laws")),
        families(value<std::vector<std::string>>(json, "families")),
        seed(value<std::uint64_t>(json, "seed")),
        cases(value<std::uint64_t>(json, "cases")),
        measured(value<std::uint64_t>(json, "measured")),
        seconds(value<double>(json, "seconds")),
        witnesses(value<std::string>(json, "witnesses")),
        replay(value<std::vector<std::string>>(json, "replay")),
        program(value<std::string>(json, "program")) {}
};

Json lines(const std::vector<CaseSpec>& specs) {
  Json list = Json::array();
  for (const CaseSpec& spec : specs) list.push_back(to_string(spec));
  return list;
}

Json law_result(const PropertyResult& result, const std::string& program) {
  Json json{{"law", result.law},
            {"finding", result.failure.has_value()},
            {"skipped", result.executed() == 0},
            {"unasked", result.unasked},
            {"taken", result.taken > 0},
            {"cases", counts(result.counts)}};
  if (!result.failure) {
    if (result.executed() == 0) json["message"] = result.unasked ? std::string(kLeftUnasked) : result.does_not_apply;
    return json;
  }
  const PropertyFailure& failure = *result.failure;
  json["failure"] = name(failure.verdict.failure);
  json["message"] = failure.verdict.detail;
  json["case"] = to_string(failure.spec);
  json["together"] = lines(failure.together);
  json["shrunk"] = failure.shrunk;
  json["witness"] = failure.witness;
  json["replay"] = replay_line(program, result);
  return json;
}

/// The options that measure the same cases again.
std::string measured_again(const Request& request) {
  std::string text = " --cases 0";
  if (request.seed != 1) text += " --seed " + std::to_string(request.seed);
  for (const std::string& family : request.families) text += " --family " + shell_word(family);
  return text;
}

/// A finding of a run without laws: of the declaration, with the line that shows it again.
Json declaration_finding(const Conclusion& conclusion, const Request& request) {
  if (conclusion.contradiction) {
    const auto& [verdict, cases] = *conclusion.contradiction;
    std::string replay = request.program + " --law " + std::string(judging_laws().front().name);
    for (const CaseSpec& spec : cases) replay += " --replay " + shell_word(to_string(spec));
    return {
        {"message", verdict.detail}, {"case", to_string(cases.back())}, {"together", lines(cases)}, {"replay", replay}};
  }
  if (conclusion.narrow.empty()) return Json::object();
  return {{"message", conclusion.narrow},
          {"case", to_string(conclusion.lost)},
          {"together", Json::array()},
          {"replay", request.program + measured_again(request)}};
}

/// What the run says as a whole. The laws' run goes on from the measured cases, so that their conclusion is one; without laws it
/// is that of the measured cases.
void add_conclusion(Json& root, const std::optional<Conclusion>& measured, const std::vector<PropertyResult>& results,
                    const Request& request) {
  const std::string_view first = judging_laws().front().name;
  std::vector<std::string> undecided, open;
  std::string suggestion;
  Power power;
  for (const PropertyResult& result : results) {
    if (!result.failure && !result.undecided.empty() &&
        result.undecided != kLeftUnasked)  // also of a law that took no case, where others were measured
      undecided.push_back(result.law == first ? result.undecided : std::string(result.law) + ": " + result.undecided);
    if (!result.suggestion.empty()) suggestion = result.suggestion;
    // The first that decided something stands for the run, the others each for a law.
    if (power.elements() > 0 || result.power.elements() == 0) continue;
    power = result.power;
    open = result.open;
  }
  const auto silent = [](const PropertyResult& r) {
    return !r.failure && !r.unasked && r.executed() == 0 && r.taken > 0;
  };
  if (!results.empty() && std::ranges::all_of(results, silent))
    undecided.push_back("no law that was asked says anything about this kernel: " + results.front().does_not_apply);
  root["declaration"] = Json::object();
  if (measured) {
    undecided = measured->undecided;
    suggestion = measured->suggestion;
    power = measured->power;
    open = measured->open;
    root["declaration"] = declaration_finding(*measured, request);
  }
  root["undecided"] = undecided;
  root["suggestion"] = suggestion;
  root["decided"] = decided_shares(power);
  root["open"] = open;
}

/// What is wrong with the run beside its laws: the first measured finding, else one of the declaration, else what is undecided.
std::string whole(const Json& root) {
  for (const Json& family : root["families"]) {
    if (const std::string finding = family["finding"]; !finding.empty()) return finding;
  }
  if (root["declaration"].contains("message")) return root["declaration"]["message"];
  return root["undecided"].empty() ? std::string() : root["undecided"].front().get<std::string>();
}

/// A device that was lost while a finding was made small is told with it.
void tell_lost(const CallableKernel& kernel, std::vector<PropertyResult>& results) {
  const auto failed = [](const PropertyResult& r) { return r.failure.has_value(); };
  const auto told = [&](const PropertyResult& r) { return r.failure && r.failure->verdict.detail == kernel.lost(); };
  if (kernel.lost().empty() || std::ranges::any_of(results, told)) return;
  const auto last = std::ranges::find_if(results.rbegin(), results.rend(), failed);
  if (last != results.rend()) last->failure->verdict.detail += "; a simpler problem lost the device: " + kernel.lost();
}

/// How far a run is, in cases: of the laws a family's all at once.
class Progress {
 public:
  Progress(CallableKernel& kernel, const Request& request, std::size_t families)
      : kernel_(kernel), of_laws_(request.cases), total_(families * (request.measured + request.cases)) {}
  void measured(std::string_view family) { kernel_.show_progress(++done_, total_, family); }
  void family_ends(std::string_view family) { kernel_.show_progress(done_ += of_laws_, total_, family); }

 private:
  CallableKernel& kernel_;
  std::uint64_t of_laws_, done_ = 0, total_;
};

/// What the clock or the user left out, as names of families: of which no case was asked, and of which some were not.
void add_left_out(Json& root, const std::vector<const Family*>& families, const std::vector<FamilyRecord>& records,
                  std::size_t under_laws, const Request& request) {
  for (const char* list : {"unasked", "cut"}) root[list] = Json::array();
  for (std::size_t i = 0; i < families.size(); ++i) {
    const auto record = std::ranges::find(records, families[i]->name, &FamilyRecord::family);
    const bool measured = record != records.end() && record->asked();
    const bool complete = (request.measured == 0 || record == records.end() || record->complete) &&
                          (request.cases == 0 || i < under_laws);
    if (complete) continue;
    root[measured || (request.cases > 0 && i < under_laws) ? "cut" : "unasked"].push_back(families[i]->name);
  }
}

/// Where the time was over before the laws had a case.
std::vector<PropertyResult> unasked_laws(const CallableKernel& kernel, const Request& request) {
  const std::vector<const Law*> chosen = select_laws(request.laws);
  std::vector<PropertyResult> results;
  for (const Question& one : questions(kernel.declaration().problem, chosen)) {
    if (!one.asked) continue;
    PropertyResult& result = results.emplace_back();
    result.kernel = kernel.declaration().id;
    result.law = one.law->name;
    result.unasked = true;
    result.undecided = kLeftUnasked;
  }
  return results;
}

/// What the time limit left out, as sentences.
void add_unasked(Json& root, const std::vector<PropertyResult>& results, std::size_t families) {
  std::vector<std::string_view> laws;
  for (const PropertyResult& result : results) {
    if (result.unasked) laws.push_back(result.law);
  }
  if (!laws.empty()) {
    root["undecided"].push_back(fmt::format("the time limit left {} {} unasked: {}", laws.size(),
                                            laws.size() == 1 ? "law" : "laws", fmt::join(laws, ", ")));
  }
  if (root.contains("unasked") && !root["unasked"].empty()) {
    root["undecided"].push_back(fmt::format("the time was over before any case of {} of {} input families was asked",
                                            root["unasked"].size(), families));
  }
}

/// The laws on drawn cases, and how many of the families had all of theirs.
std::vector<PropertyResult> under_laws(CallableKernel& kernel, const Request& request, RunDecisions before,
                                       const std::vector<const Family*>& families, Stop& stop, Progress& progress,
                                       std::size_t& complete) {
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
  options.before = std::move(before);
  options.progress = [&](std::uint64_t done, std::uint64_t) {
    if (stop()) return;
    complete = done;
    if (done <= families.size()) progress.family_ends(families[done - 1]->name);
  };
  return run_properties(std::span(&kernel.declaration(), 1), options);
}

/// What the kernel computes instead, where that is certain, as entries of the block: sentence, extent, the line that replays the smallest case. In the time
/// that the run has left, or five seconds more.
Json diagnosed(CallableKernel& kernel, const Request& request, const std::vector<FamilyRecord>& records,
               const std::vector<PropertyResult>& results, Stop& stop) {
  std::vector<CaseSpec> failing, passing;
  std::set<std::string_view> families;
  for (const FamilyRecord& record : records) {
    failing.insert(failing.end(), record.failing.begin(), record.failing.end());
    passing.insert(passing.end(), record.passing.begin(), record.passing.end());
    if (!record.failing.empty()) families.insert(record.family);
  }
  for (const PropertyResult& result : results) {
    const bool judges = std::ranges::find(judging_laws(), result.law, &Law::name) != judging_laws().end();
    if (!judges || !result.failure || result.failure->verdict.failure == Failure::error) continue;
    failing.push_back(result.failure->spec);
    families.insert(result.failure->spec.family);
  }
  Json list = Json::array();
  if (failing.empty() || !kernel.lost().empty() || kernel.ended()) return list;
  constexpr double kSecondsMore = 5;
  Stop more(kernel, stop() ? kSecondsMore : 0);
  kernel.refuse_when([&] { return more() || (!stop.stopped() && stop()); });
  const Kernel diagnosed{kernel.declaration()};
  std::vector<Cause> causes;
  try {
    causes = diagnose(diagnosed, failing, passing, Executor::cpu);
  } catch (
      const std::
          invalid_argument&) {  // a declaration that has no meaning for some hypothesis: the verdict stands without it
  }
  kernel.refuse_when({});
  if (!is_certain(causes)) return list;  // an element and the smallest case say more than what may be
  constexpr std::size_t kShown = 4;
  const std::vector<std::string_view> all(families.begin(), families.end());
  const std::string where =
      fmt::format("fails in {} input {} ({}{})", all.size(), all.size() == 1 ? "family" : "families",
                  fmt::join(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, all.size())), ", "),
                  all.size() > kShown ? ", ..." : "");
  const auto replay = [&](const std::string& line) { return request.program + " --replay " + shell_word(line); };
  for (const CauseEntry& entry : cause_entries(causes, {std::string(diagnosed.id), where, replay, true})) {
    list.push_back({entry.sentence, entry.extent, entry.replay});
  }
  return list;
}

Json run(CallableKernel& kernel, const Request& request) {
  Stop stop(kernel, request.seconds);
  const Kernel measured{kernel.declaration()};
  const std::vector<const Family*> families = families_named(measured.problem, request.families);
  Json root = Json::object();
  std::vector<FamilyRecord> records;
  RunDecisions decisions;
  bool cut = false;
  Progress progress(kernel, request, families.size());
  if (request.measured > 0 && request.replay.empty()) {
    // Half of the time, so that the laws have the other.
    Stop half(kernel, request.cases > 0 ? request.seconds / 2 : request.seconds);
    records = measure(measured, families, request.seed, request.measured, decisions,
                      {std::ref(half), [&](std::string_view family) { progress.measured(family); }});
    cut = half.stopped();
  }
  std::vector<PropertyResult> results;
  std::size_t complete = 0;
  if (request.cases > 0 && !stop())
    results = under_laws(kernel, request, decisions, families, stop, progress, complete);
  if (results.empty() && request.cases > 0 && !stop()) {
    const bool gradient = measured.problem == ProblemKind::backward;
    throw UsageError("laws: of " + std::string(gradient ? "forward problems" : "gradients") +
                     ", nothing is asked of this problem");
  }
  if (results.empty() && request.cases > 0) results = unasked_laws(kernel, request);
  tell_lost(kernel, results);
  root["partial"] = cut || stop.stopped();
  root["lost"] = !kernel.lost().empty();
  root["interrupted"] = kernel.ended();
  if (request.replay.empty()) add_left_out(root, families, records, complete, request);
  for (Json& list : {std::ref(root["laws"]), std::ref(root["families"])}) list = Json::array();
  for (const PropertyResult& result : results) root["laws"].push_back(law_result(result, request.program));
  const std::vector<CallFault> faults = call_faults(results);
  for (const CallFault& fault : faults) {
    for (Json& law : root["laws"]) {
      if (std::ranges::count(fault.laws, law["law"].get<std::string>()) > 0) law["same_as"] = results[fault.first].law;
    }
  }
  for (const FamilyRecord& record : records) {
    Json family{{"family", record.family},
                {"cases", counts(record.verdicts)},
                {"refused", record.refused},
                {"finding", record.finding},
                {"outputs", Json::object()}};
    for (const Part part : parts(measured.problem))
      family["outputs"][std::string(name(part))] = statistics(record.outputs[static_cast<std::size_t>(part)]);
    if (record.asked() || record.complete) root["families"].push_back(std::move(family));
  }
  std::optional<Conclusion> alone;
  const auto had_no_case = [](const PropertyResult& result) { return result.executed() == 0; };
  if (std::ranges::all_of(results, had_no_case) && !records.empty()) {
    for (const FamilyRecord& record : records) decisions.offer(record.family, record.taken());
    alone = decisions.conclude(kernel.declaration());
  }
  add_conclusion(root, alone, results, request);
  root["causes"] = request.replay.empty() ? diagnosed(kernel, request, records, results, stop) : Json::array();
  if (kernel.ended()) root["undecided"].insert(root["undecided"].begin(), "interrupted: this is a part of the run");
  if (!kernel.ended() && kernel.lost().empty()) add_unasked(root, results, families.size());
  root["junit"] = junit_text(told_once(results, faults), request.program, kernel.declaration().id, whole(root));
  return root;
}

}  // namespace

std::vector<const Family*> families_named(ProblemKind problem, const std::vector<std::string>& globs) {
  std::vector<std::string_view> names;
  for (const Family& family : families()) names.push_back(family.name);
  std::vector<const Family*> chosen;
  for (const std::size_t i : select_names(globs, names, "family")) {
    if (families()[i].serves(problem)) chosen.push_back(&families()[i]);
  }
  return chosen;
}

void check(const Json& request, const Python& python) {
  CallableKernel kernel(request, python);
  python.answer(run(kernel, Request(request)));
}

}  // namespace flashproof::python
