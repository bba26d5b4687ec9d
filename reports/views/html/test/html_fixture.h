// A small report for the tests of the page: a hardened kernel that passes, a published one that fails.
#pragma once

#include <cmath>
#include <string>

#include "reports/record/test/made_report.h"
#include "reports/views/html/html.h"

namespace flashproof {

inline ErrorStats page_stats(double max_ratio) {
  ErrorStats s = made_stats(max_ratio, 2.5, {{kExact, 10}, {0, 50}, {1, 4}});
  s.ratio_octaves = {};
  s.ratio_octaves[56 - 3] = 60;
  s.ratio_octaves[56 - 1] = 4;
  return s;
}

inline Record page_record(const std::string& kernel, const std::string& family, Failure failure = Failure::none) {
  Record r = made_record(kernel, family);
  for (const Part part : parts(r.kernel->problem)) r[part] = page_stats(part == Part::lse ? 0.2 : 0.43);
  r.profile.length[4] = r.profile.magnitude[4] = r.profile.merges[4] = {3, 0.25, 1.5};
  r.laws["within_bound"] = r.by_case;
  if (failure == Failure::none) return r;
  fail_seeds(r, failure, {2, 3});
  r[parts(r.kernel->problem)[0]].max_ratio = r.worst->element.ratio = INFINITY;
  r.worst->verdict.detail = "o[7] is off";
  r.worst->heat = {"o", 2, 4, 1, 1, {"01X.", "NNIF"}};
  return r;
}

inline Report page_report() {
  Report report = made_report();
  report.result.records = {page_record("softmax.safe.hardened", "normal"),
                           page_record("softmax.naive.published", "huge", Failure::class_mismatch)};
  return report;
}

}  // namespace flashproof
