#include "reports/gradients/json.h"
#include "kernels/broken/fault.h"

namespace flashproof {

using namespace json_parts;

namespace {

Json record_json(const GradientRecord& r, const GradientReport& report) {
  const auto elements = sum(sum(r.dq.verdicts, r.dk.verdicts), r.dv.verdicts);
  const auto failing = sum(sum(r.dq.failures, r.dk.failures), r.dv.failures);
  Json json{{"kernel", text(r.kernel->id)},
            {"problem", "attention_backward"},
            {"form", text(name(r.kernel->form))},
            {"format", text(info(r.format).name)},
            {"executor", text(name(r.executor))},
            {"math", text(name(r.kernel->math))},
            {"family", r.family},
            {"cases", r.cases},
            {"verdict", text(name(r.verdict()))},
            {"counts", {{"cases", kinds(r.by_case)}, {"elements", kinds(elements)}}},
            {"failures", {{"cases", failures(r.failures_by_case)}, {"elements", failures(failing)}}},
            {"max_ratio", r.max_ratio() < 0 ? Json() : number(r.max_ratio())},
            {"terms", r.worst ? terms(r.worst->element.bound) : Json()},
            {"domain", domain(r.domain)},
            {"figures", {{"dq", figures(r.dq)}, {"dk", figures(r.dk)}, {"dv", figures(r.dv)}}}};
  Json law_counts = Json::object();
  for (std::size_t i = 0; i < r.laws.size(); ++i) {
    law_counts[std::string(judging_gradient_laws()[i].name)] = kinds(r.laws[i]);
  }
  json["laws"] = law_counts;
  json["witness"] = Json();
  if (!r.worst) return json;
  json["witness"] = witness(*r.worst, worst_case_line(*report.plan, r));
  for (const GradientFinding& f : report.findings) {
    if (f.record == &r && !f.witness.empty()) json["witness"]["file"] = f.witness;
  }
  return json;
}

}  // namespace

Json gradients_json(const GradientReport& report) {
  Json list = Json::array();
  for (const GradientRecord& r : report.result.records) list.push_back(record_json(r, report));
  return list;
}

Json backward_kernels_json() {
  Json list = Json::array();
  for (const BackwardKernel& k : backward_kernels()) {
    if (k.fault != nullptr) continue;  // list faults
    Json formats = Json::array(), executors = Json::array({"cpu"});
    for (const Format f : k.formats) formats.push_back(text(info(f).name));
    if (k.has_cuda) executors.push_back("cuda");
    list.push_back({{"id", text(k.id)},
                    {"problem", "attention_backward"},
                    {"form", text(name(k.form))},
                    {"formats", formats},
                    {"executors", executors},
                    {"math", k.has_native ? Json::array({"det", "native"}) : Json::array({"det"})},
                    {"contract",
                     {{"isolates_hidden", k.contract.isolates_hidden},
                      {"deterministic", k.contract.deterministic},
                      {"overflow", k.contract.overflow == Overflow::ieee ? "ieee" : "saturate"}}}});
  }
  return list;
}

Json gradient_laws_json() {
  Json list = Json::array();
  for (const GradientLaw& law : gradient_laws()) {
    Json rejects = Json::array();
    for (const std::string_view id : law.must_reject) rejects.push_back(text(id));
    list.push_back({{"name", text(law.name)}, {"summary", text(law.summary)}, {"must_reject", rejects}});
  }
  return list;
}

}  // namespace flashproof
