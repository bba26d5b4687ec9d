#include "reports/suggest/candidates.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "reference/bound/bound.h"
#include "reference/bound/declare/arithmetic_json.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

using Json = nlohmann::ordered_json;

/// What a kernel may do less well than its preset, one at a time.
std::vector<Json> changes() {
  std::vector<Json> list = {{{"underflow", "flush"}}};
  for (const char* format : {"f16", "bf16", "e4m3fn"}) list.push_back({{"weights", {{"format", format}}}});
  for (const char* format : {"f16", "bf16"}) {
    list.push_back({{"lse_format", format}});
    list.push_back({{"query", format}});
  }
  for (const int bits : {20, 17, 14, 11}) list.push_back({{"exp_error", std::ldexp(1.0, -bits)}});
  // A sum in 16 bits: one product per step, and as many bits of it.
  for (const int bits : {10, 7}) {
    const Json unit = {{"unit", {{"k", 1}, {"f", bits}, {"ofb", bits}}}};
    list.push_back({{"dot", unit}});
    list.push_back({{"values", unit}});
    list.push_back({{"dot", unit}, {"values", unit}});
  }
  return list;
}

/// Of every element that has a finite bound.
double mean_log2(const Bound& bound, double& elements) {
  double sum = 0;
  for (const auto* part : {&bound.o, &bound.lse}) {
    for (const ElementBound& e : *part) {
      const double total = e.total();
      if (!(total > 0) || !std::isfinite(total)) continue;
      sum += std::log2(total);
      elements += 1;
    }
  }
  return sum;
}

}  // namespace

std::vector<ArithmeticCandidate> arithmetic_candidates(ProblemKind problem, Format format) {
  std::vector<ArithmeticCandidate> list;
  const auto add = [&](const Json& json) {
    const std::string text = json.is_string() ? json.get<std::string>() : json.dump();
    try {
      const Arithmetic arithmetic = parse_arithmetic(text, problem, format);
      const auto same = [&](const ArithmeticCandidate& c) { return c.arithmetic == arithmetic; };
      if (std::ranges::none_of(list, same)) list.push_back({json.dump(), arithmetic});
    } catch (const UsageError&) {  // contradicts the preset, or changes nothing that this problem has
    }
  };
  std::vector<std::string> names;
  for (const ArithmeticPreset& preset : arithmetic_presets(problem)) {
    if (preset_takes(preset.name, problem, format)) names.emplace_back(preset.name);
  }
  for (const std::string& name : names) add(Json(name));
  for (const std::string& name : names) {
    for (const Json& change : changes()) {
      // Of one that is known all but flushing would make another kernel of it.
      if (name != "unknown" && !change.contains("underflow")) continue;
      Json json = {{"preset", name}};
      json.update(change);
      add(json);
    }
  }
  return list;
}

void sort_by_width(std::vector<ArithmeticCandidate>& list, std::span<const Case> cases) {
  for (ArithmeticCandidate& candidate : list) {
    double sum = 0, elements = 0;
    std::size_t bounded = 0;
    for (const Case& one : cases) {
      try {
        sum += mean_log2(compute_bound(one.problem, candidate.arithmetic), elements);
        ++bounded;
      } catch (const UsageError&) {
      } catch (const std::invalid_argument&) {  // no bound for this problem
      }
    }
    candidate.width = 2 * bounded < cases.size() || elements == 0 ? HUGE_VAL : sum / elements;
  }
  std::ranges::stable_sort(list, {}, &ArithmeticCandidate::width);
}

}  // namespace flashproof
