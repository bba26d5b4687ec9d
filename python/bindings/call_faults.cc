#include "python/bindings/call_faults.h"

#include <algorithm>

#include "properties/laws/law.h"
#include "reference/system/text.h"

namespace flashproof::python {
namespace {

std::string name_of(const PropertyResult& result) {
  return result.failure ? call_fault_name(result.failure->verdict) : std::string();
}

std::string listed(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

}  // namespace

std::vector<CallFault> call_faults(std::span<const PropertyResult> results) {
  std::vector<CallFault> faults;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string name = name_of(results[i]);
    if (name.empty()) continue;
    const auto same = std::ranges::find_if(faults, [&](const CallFault& f) {
      return results[f.first].kernel == results[i].kernel && name_of(results[f.first]) == name;
    });
    CallFault& fault = same == faults.end() ? faults.emplace_back(CallFault{.first = i}) : *same;
    fault.laws.push_back(results[i].law);
  }
  return faults;
}

std::vector<PropertyResult> told_once(std::span<const PropertyResult> results, std::span<const CallFault> faults) {
  std::vector<PropertyResult> told(results.begin(), results.end());
  for (const CallFault& fault : faults) {
    PropertyResult& first = told[fault.first];
    if (fault.laws.size() > 1) first.failure->verdict.detail += " (met by the laws " + listed(fault.laws) + ")";
    for (PropertyResult& result : told) {
      const bool same =
          &result != &first && result.kernel == first.kernel && std::ranges::count(fault.laws, result.law) > 0;
      if (!same) continue;
      result.counts = {};
      result.does_not_apply = "not judged: it met the fault that " + std::string(first.law) +
                              " tells of: " + printable(result.failure->verdict.detail, 200);
      result.failure.reset();
    }
  }
  return told;
}

}  // namespace flashproof::python
