// report.json and `list --json`.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "kernels/broken/fault.h"
#include "kernels/source.h"
#include "properties/generators/family.h"
#include "properties/laws/law.h"
#include "reference/system/error.h"
#include "reports/record/json_parts.h"
#include "reports/record/packed_text.h"
#include "reports/record/report.h"

namespace flashproof {
namespace {

using namespace json_parts;

Json investigate(const Investigation& i) {
  Json json{{"kernel", text(i.record->kernel->id)},
            {"format", text(info(i.record->format).name)},
            {"executor", text(name(i.record->executor))},
            {"math", text(name(i.record->kernel->math))},
            {"family", i.record->family},
            {"tensor", text(name(i.part))},
            {"what", i.bias ? "biased" : "above_probable"},
            {"elements", i.elements},
            {"of", i.of},
            {"ratio", number(i.ratio)}};
  if (!i.bias) {
    json["case"] = i.case_line;
    json["index"] = i.witness.index;
    json["error"] = number(i.witness.error);
    json["probable"] = number(i.witness.bound.probable);
    json["bound"] = number(i.witness.bound.total());
    json["assumption"] = {{"key", text(i.assumption.key)}, {"text", text(i.assumption.text)}};
  }
  return json;
}

Json record_json(const Record& r) {
  KindCounts elements{};
  FailureCounts failing{};
  Json tensors = Json::object();
  for (const Part part : parts(r.kernel->problem)) {
    elements = sum(elements, r[part].verdicts);
    failing = sum(failing, r[part].failures);
    tensors[std::string(name(part))] = figures(r[part]);
  }
  Json json = head(r, name(r.kernel->problem));
  json["counts"] = {{"cases", kinds(r.by_case)}, {"elements", kinds(elements)}};
  json["failures"] = {{"cases", failures(r.failures_by_case)}, {"elements", failures(failing)}};
  json["max_ratio"] = r.max_ratio() < 0 ? Json() : number(r.max_ratio());
  json["terms"] = r.worst ? terms(r.worst->element.bound) : Json();
  json["domain"] = domain(r.domain);
  if (r.kernel->problem != ProblemKind::backward) json["refined"] = r.refined;
  json["figures"] = std::move(tensors);
  add_tail(json, r);
  return json;
}

/// What one reads of a record; its figures to four digits.
Json summary(const Record& r) {
  double decided = 1, ulp = -1;
  for (const PowerCounts& counts : r.power.parts) {
    if (counts.elements() > 0) decided = std::min(decided, counts.share());
  }
  for (const Part part : parts(r.kernel->problem)) ulp = worse(ulp, r[part].max_resolved_ulp);
  Json json{{"kernel", text(r.kernel->id)},
            {"format", text(info(r.format).name)},
            {"executor", text(name(r.executor))},
            {"math", text(name(r.kernel->math))},
            {"family", r.family},
            {"verdict", text(name(r.verdict()))},
            {"cases", r.cases},
            {"decided", r.worst ? number(rounded(decided, 4)) : Json()},
            {"max_ratio", r.max_ratio() < 0 ? Json() : number(rounded(r.max_ratio(), 4))},
            {"max_ulp", ulp < 0 ? Json() : number(rounded(ulp, 4))}};
  if (r.verdict() == VerdictKind::pass) return json;
  if (r.count(VerdictKind::fail) > 0) json["failures"] = failures(r.failures_by_case);
  if (r.worst) json["worst"] = worst_case_line(r);
  return json;
}

/// What merges a record: all that does not follow from the rest.
Json kept(const Record& r) {
  Json json = record_json(r);
  for (auto& figures : json["figures"]) figures = Json{{"state", figures["state"]}};
  for (auto& part : json["power"]) part.erase("share");
  for (auto& precondition : json["domain"]["preconditions"]) {
    for (const char* row : {"worst_outside", "nearest_inside"}) {
      if (precondition.contains(row)) precondition[row].erase("load");
    }
  }
  if (json["terms"].is_object()) json["terms"].erase("share");
  json.erase("max_ratio");
  if (json["witness"].is_object()) json["witness"].erase("replay");
  return json;
}

Json run_json(const Run& run) {
  const Environment& e = run.environment;
  const RunTiming& t = run.timing;
  return {{"compiler", e.compiler},
          {"cuda_compiler", e.cuda_compiler},
          {"flags", e.flags},
          {"revision", e.revision},
          {"cpu", e.cpu},
          {"gpu", e.gpu},
          {"seed", e.seed},
          {"tier", e.tier},
          {"executors", e.executors},
          {"command_line", e.command_line},
          {"math", e.math},
          {"profile", e.profile.empty() ? Json() : Json(e.profile)},
          {"partial", run.partial.empty() ? Json() : Json(run.partial)},
          {"cases", run.cases},
          {"kernel_runs", run.kernel_runs},
          {"date", e.date},
          {"timing",
           {{"jobs", t.jobs},
            {"wall_seconds", t.wall},
            {"case_seconds", t.cases},
            {"truth_seconds", t.truth},
            {"bound_seconds", t.bound},
            {"run_seconds", t.run},
            {"judge_seconds", t.judge}}}};
}

/// A list with one entry per line: a report has thousands, and two of them can be compared line by line.
std::string lines(const Json& list) {
  std::string out = "[";
  for (std::size_t i = 0; i < list.size(); ++i) out += (i == 0 ? "\n" : ",\n") + dump_line(list[i]);
  return out + (list.empty() ? "]" : "\n]");
}

Json kernels_json() {
  Json list = Json::array();
  for (const Kernel& k : kernels()) {
    if (k.fault != nullptr) continue;  // list faults
    Json formats = Json::array(), executors = Json::array({"cpu"});
    for (const Format f : k.formats) formats.push_back(text(info(f).name));
    if (k.has_cuda) executors.push_back("cuda");
    list.push_back({{"id", text(k.id)},
                    {"source", text(source_of(k.id))},
                    {"problem", text(name(k.problem))},
                    {"form", text(name(k.form))},
                    {"formats", formats},
                    {"executors", executors},
                    {"math", Json::array({"det", "native"})},
                    {"contract",
                     {{"isolates_hidden", k.contract.isolates_hidden},
                      {"deterministic", k.contract.deterministic},
                      {"batch_invariant", k.contract.batch_invariant},
                      {"refuses_beyond_range", k.contract.refuses_beyond_range},
                      {"overflow", k.contract.overflow == Overflow::ieee ? "ieee" : "saturate"}}}});
  }
  return list;
}

Json sentences(const std::vector<Undecided>& list) {
  Json json = Json::array();
  for (const Undecided& one : list) json.push_back({{"kernel", text(one.kernel)}, {"why", text(one.why)}});
  return json;
}

Json cause_json(const std::string& kernel, const Cause& c) {
  return {{"kernel", text(kernel)},
          {"id", text(c.id)},
          {"sentence", text(c.sentence)},
          {"condition", text(c.condition)},
          {"others", c.others},
          {"other_sentence", text(c.other_sentence)},
          {"cases", c.cases},
          {"failing_cases", c.failing_cases},
          {"elements", c.elements},
          {"witness", text(c.witness)},
          {"confident", c.confident}};
}

}  // namespace

std::string json_text(const Report& report, Spelled spelled) {
  Json runs = Json::array(), records = Json::array(), odd = Json::array(), causes = Json::array();
  for (const Run& run : report.runs) runs.push_back(run_json(run));
  std::string state;
  for (const Record& r : report.result.records) {
    records.push_back(spelled == Spelled::out ? record_json(r) : summary(r));
    if (spelled == Spelled::packed) state += dump_line(kept(r)) + "\n";
  }
  if (spelled == Spelled::packed) state = fmt::format(",\n\"state\": \"{}\"", packed_text(state));
  for (const Investigation& i : investigations(report)) odd.push_back(investigate(i));
  for (const auto& [kernel, list] : report.causes) {
    for (const Cause& cause : list) causes.push_back(cause_json(kernel, cause));
  }
  const auto attached = [](const std::string& text) { return text.empty() ? "null" : dump_line(Json::parse(text)); };
  return fmt::format(
      "{{\n\"schema\": \"{}\",\n\"runs\": {},\n\"records\": {},\n\"investigate\": {},\n\"causes\": {},\n\"undecided\": "
      "{},\n\"narrow\": {},\n\"faults\": {},\n\"bench\": {}{}\n}}\n",
      spelled == Spelled::out ? kSpelledOutSchema : kReportSchema, lines(runs), lines(records), lines(odd),
      lines(causes), lines(sentences(report.undecided)), lines(sentences(report.narrow)), attached(report.faults),
      attached(report.bench), state);
}

std::size_t measured_digest(const Record& record) {
  Json json = record_json(record);
  for (const char* other : {"kernel", "form", "defect", "ledger"}) json.erase(other);
  for (auto& tensor : json["figures"]) tensor.erase("state");
  if (json["witness"].is_object()) {
    json["witness"].erase("file");
    json["witness"].erase("replay");
  }
  return std::hash<std::string>{}(dump_line(json));
}

std::string run_line(const Run& run) { return dump_line(run_json(run)); }

std::string list_json(std::string_view what) {
  if (what == "kernels") return dump(kernels_json());
  Json list = Json::array();
  if (what == "families") {
    for (const Family& f : families()) {
      Json problems = Json::array();
      for (const ProblemKind p : f.problems) problems.push_back(text(name(p)));
      list.push_back({{"name", text(f.name)}, {"problems", problems}, {"summary", text(f.summary)}});
    }
  } else if (what == "laws") {
    for (const Law& law : laws()) {
      Json rejects = Json::array(), problems = Json::array();
      for (const std::string_view id : law.must_reject) rejects.push_back(text(id));
      for (const ProblemKind p : kProblemKinds) {
        if (law.is_of(p)) problems.push_back(text(name(p)));
      }
      list.push_back(
          {{"name", text(law.name)}, {"problems", problems}, {"summary", text(law.summary)}, {"must_reject", rejects}});
    }
  } else if (what == "faults") {
    for (const SeededFault& f : seeded_faults()) {
      list.push_back({{"id", text(f.id)},
                      {"number", text(f.number)},
                      {"kernel", text(f.kernel)},
                      {"defect", text(f.defect)},
                      {"from", text(f.source)},
                      {"gross", f.gross}});
    }
  }
  return dump(list);
}

}  // namespace flashproof
