// The comparison for programs: schema flashproof.compare/1.
#include <nlohmann/json.hpp>

#include <cmath>

#include "reports/compare/outcome.h"
#include "reports/compare/toml_reader.h"

namespace flashproof::compare {
namespace {

using Out = nlohmann::ordered_json;

Out number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Out measured(double value) { return value == -1 ? Out() : number(value); }

Out key_json(const Key& key) {
  return {{"kernel", key.kernel},
          {"format", key.format},
          {"executor", key.executor},
          {"math", key.math},
          {"family", key.family}};
}

Out counts(const ClassCounts& classes) {
  Out json = Out::object();
  for (std::size_t i = 0; i < kCaseClasses; ++i) {
    if (classes[i] > 0) json[std::string(name(static_cast<CaseClass>(i)))] = classes[i];
  }
  return json;
}

Out octave_json(int octave) {
  const double lower = octave == kExact || octave == kLowestOctave ? 0 : std::ldexp(1.0, octave);
  if (octave == kExact) return {{"from", 0}, {"below", 0}};
  return {{"from", lower}, {"below", octave == kHighestOctave ? Out("inf") : Out(std::ldexp(1.0, octave + 1))}};
}

Out figures(const std::map<std::string, TensorFigures>& all) {
  Out json = Out::object();
  for (const auto& [tensor, f] : all) {
    Out one{{"elements", f.elements},           {"finite_elements", f.finite_elements},
            {"max_ratio", number(f.max_ratio)}, {"max_ulp", number(f.max_ulp)},
            {"rmse", number(f.rmse)},           {"mean_abs", number(f.mean_abs)}};
    if (f.octaves.elements() > 0) {
      const Between mean = mean_ulp(f.octaves);
      one["mean_ulp"] = {{"from", number(mean.lower)}, {"below", number(mean.upper)}};
      one["ulp"] = {{"p50", octave_json(f.octaves.quantile(0.5))},
                    {"p90", octave_json(f.octaves.quantile(0.9))},
                    {"p99", octave_json(f.octaves.quantile(0.99))}};
    }
    one["bias"] = {{"mean", number(f.bias)}, {"limit", number(f.bias_limit)}, {"biased", f.biased}};
    json[tensor] = one;
  }
  return json;
}

Out witness(const RecordOf& r) {
  const WorstCase* w = r.witness();
  if (w == nullptr) return {};
  const ElementFinding& e = w->element;
  return {{"case", r.case_line},
          {"verdict", to_string(Verdict{w->verdict.kind, w->verdict.failure, {}})},
          {"tensor", e.tensor},
          {"index", e.index},
          {"computed", number(e.computed)},
          {"exact", number(e.exact)},
          {"error", number(e.error)},
          {"ratio", measured(e.ratio)},
          {"replay", r.replay}};
}

Out side(const RecordOf& r) {
  return {{"cases", r.record->cases},
          {"classes", counts(r.classes)},
          {"max_ratio", measured(r.max_ratio)},
          {"figures", figures(r.figures)},
          {"witness", witness(r)}};
}

Out class_json(const ClassChange& change) {
  if (!change.any()) return {};
  Out moves = Out::array();
  for (const ClassMove& m : change.moves) {
    moves.push_back({{"from", std::string(name(m.from))},
                     {"to", std::string(name(m.to))},
                     {"cases", m.cases},
                     {"first_seed", m.first}});
  }
  return {{"worse", change.worse},
          {"better", change.better},
          {"from", std::string(name(change.from))},
          {"to", std::string(name(change.to))},
          {"cases", change.cases},
          {"moves", moves}};
}

Out record(const RecordChange& r) {
  Out json = key_json(r.key());
  json["same_cases"] = r.same_cases;
  json["class_change"] = class_json(r.classes);
  json["error"] = r.same_cases ? Out(std::string(word(r.error))) : Out();
  if (!r.same_cases) json["failing_p"] = number(r.more_failures_p);
  json["base"] = side(*r.base);
  json["head"] = side(*r.head);
  return json;
}

Out speed_json(const Speed& speed) {
  Out list = Out::array();
  for (const SpeedChange& s : speed.changes) {
    const RatioInterval& i = s.interval;
    list.push_back({{"name", s.name},
                    {"base_seconds", number(s.base_median)},
                    {"head_seconds", number(s.head_median)},
                    {"base_count", s.base_count},
                    {"head_count", s.head_count},
                    {"paired", s.paired},
                    {"ratio", number(i.ratio)},
                    {"lower", i.possible ? number(i.lower) : Out()},
                    {"upper", i.possible ? number(i.upper) : Out()},
                    {"verdict", s.text()}});
  }
  return {{"how", speed.how()},
          {"benchmarks", list},
          {"only_base", speed.only_base},
          {"only_head", speed.only_head},
          {"not_run", speed.not_run}};
}

Out numbers(const std::vector<double>& list) {
  Out json = Out::array();
  for (const double x : list) json.push_back(number(x));
  return json;
}

Out sign_json(const SignTest& t) { return {{"worse", t.worse}, {"better", t.better}, {"equal", t.equal}, {"p", t.p}}; }

Out paired_json(const Paired& paired) {
  Out groups = Out::array(), cases = Out::array();
  for (const PairedGroup& g : paired.groups) {
    Out json = key_json(g.key);
    json.erase("family");
    json["cases"] = g.cases;
    for (std::size_t i = 0; i < g.tests.size(); ++i) json["tests"][paired.metrics[i]] = sign_json(g.tests[i]);
    groups.push_back(json);
  }
  for (const PairedCase& c : paired.cases) {
    cases.push_back({{"case", c.case_line},
                     {"executor", c.key.executor},
                     {"math", c.key.math},
                     {"base", std::string(name(c.base))},
                     {"head", std::string(name(c.head))},
                     {"base_figures", numbers(c.base_figures)},
                     {"head_figures", numbers(c.head_figures)}});
  }
  return {
      {"base", paired.base}, {"head", paired.head}, {"metrics", paired.metrics}, {"groups", groups}, {"cases", cases}};
}

Out gate_json(const GateResult& gate) {
  Out reasons = Out::array(), expired = Out::array(), unused = Out::array();
  for (const Reason& r : gate.reasons) {
    reasons.push_back({{"id", r.id},
                       {"text", r.text},
                       {"replay", r.replay},
                       {"waived", r.waiver != nullptr ? Out(r.waiver->reason) : Out()}});
  }
  for (const Waiver* w : gate.expired)
    expired.push_back({{"id", w->id}, {"place", w->place}, {"expires", to_string(w->expires)}});
  for (const Waiver* w : gate.unused) unused.push_back({{"id", w->id}, {"place", w->place}});
  return {{"passes", gate.passes()},
          {"checked", gate.checked},
          {"reasons", reasons},
          {"expired", expired},
          {"unused", unused}};
}

}  // namespace

std::string json_of(const Outcome& o) {
  const Comparison& c = o.comparison;
  Out json{{"schema", "flashproof.compare/1"}, {"base", o.base_label},      {"head", o.head_label},
           {"summary", summary_line(o)},       {"caveats", caveats(o)},     {"records", c.records.size()},
           {"changed", Out::array()},          {"only_base", Out::array()}, {"only_head", Out::array()}};
  for (const RecordChange* r : c.by_class()) json["changed"].push_back(record(*r));
  for (const RecordChange* r : c.by_error()) json["changed"].push_back(record(*r));
  for (const RecordChange& r : c.records) {
    if (!r.same_cases) json["changed"].push_back(record(r));
  }
  for (const Key& key : c.only_base) json["only_base"].push_back(key_json(key));
  for (const Key& key : c.only_head) json["only_head"].push_back(key_json(key));
  json["paired"] = o.paired ? paired_json(*o.paired) : Out();
  json["speed"] = o.speed ? speed_json(*o.speed) : Out();
  json["gate"] = o.gate ? gate_json(*o.gate) : Out();
  return json.dump(2, ' ', true, Out::error_handler_t::replace) + "\n";
}

}  // namespace flashproof::compare
