#include "reports/gradients/json.h"
#include "kernels/broken/fault.h"

namespace flashproof {

using namespace json_parts;

namespace {

Json record_json(const GradientRecord& r) {
  const auto elements = sum(sum(r.dq.verdicts, r.dk.verdicts), r.dv.verdicts);
  const auto failing = sum(sum(r.dq.failures, r.dk.failures), r.dv.failures);
  Json json = head(r, "attention_backward");
  json["counts"] = {{"cases", kinds(r.by_case)}, {"elements", kinds(elements)}};
  json["failures"] = {{"cases", failures(r.failures_by_case)}, {"elements", failures(failing)}};
  json["max_ratio"] = r.max_ratio() < 0 ? Json() : number(r.max_ratio());
  json["terms"] = r.worst ? terms(r.worst->element.bound) : Json();
  json["domain"] = domain(r.domain);
  json["figures"] = {{"dq", figures(r.dq)}, {"dk", figures(r.dk)}, {"dv", figures(r.dv)}};
  add_tail(json, r);
  return json;
}

}  // namespace

Json gradients_json(const GradientReport& report) {
  Json list = Json::array();
  for (const GradientRecord& r : report.result.records) list.push_back(record_json(r));
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
