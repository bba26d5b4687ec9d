// What the tests of reports share.
#pragma once

#include <limits>

#include "kernels/broken/fault.h"
#include "properties/laws/law.h"
#include "reports/record/report.h"

namespace flashproof {

/// A report of three kernels, made by hand, with names that try to break the tables.
struct ReportFixture {
  Kernel hardened, published, broken;
  SeededFault fault;
  Plan plan;
  Report report;

  ReportFixture() {
    hardened.id = "softmax.odd|name.hardened";
    published.id = "softmax.odd.published";
    broken.id = "softmax.broken.no_guard";
    published.form = Form::published;
    hardened.form = Form::hardened;
    broken.form = Form::broken;
    hardened.problem = published.problem = broken.problem = ProblemKind::softmax;
    fault.defect = "drops | the guard";
    broken.fault = &fault;
    plan.kernels = {&broken, &hardened, &published};
    plan.executors = {Executor::cpu};
    plan.cases = {{CaseSpec{ProblemKind::softmax, "normal", 5, {{"format", "f32"}}}, Format::f32, {}}};
    report.plan = &plan;
    report.runs.resize(1);
    report.runs[0].environment.command_line = "flashproof report --kernel a|b`c";
    report.runs[0].environment.seed = 5;
    report.result.records.reserve(16);  // findings point to them, and a test may add some
    for (const Kernel* kernel : plan.kernels) {
      CaseResult result;
      result.verdict =
          kernel == &hardened ? Verdict{} : Verdict{VerdictKind::fail, Failure::class_mismatch, "<b> | NaN"};
      ElementFinding e;
      e.tensor = "o";
      e.computed = std::numeric_limits<double>::quiet_NaN();
      e.exact = -std::numeric_limits<double>::infinity();
      e.error = std::numeric_limits<double>::infinity();
      e.ratio = kernel == &hardened ? 0.5 : std::numeric_limits<double>::infinity();
      e.bound = {1e-7, 0, 0, std::numeric_limits<double>::infinity()};
      result.elements.push_back(e);
      result.laws = {result.verdict};
      result.o.elements = 4;
      result.o.max_ratio = result.o.max_budget = e.ratio;
      result.seed = 5;
      Record record;
      record.kernel = kernel;
      record.family = "odd_family";
      record.add(result);
      if (kernel == &published) record.worst->file = "out/with space.safetensors";
      report.result.records.push_back(record);
    }
    report.findings = {{&report.result.records[2], "softmax:normal:5", "out/with space.safetensors"},
                       {&report.result.records[0], "softmax:normal:5", ""}};
  }
};

}  // namespace flashproof
