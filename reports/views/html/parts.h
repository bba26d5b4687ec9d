// The parts of the page that are there with scripting off, too, and the data that the script reads. All pure functions.
#pragma once

#include <string>
#include <vector>

#include "reports/views/html/view.h"

namespace flashproof::html {

/// A kernel that fails on a family, its formats together: a row of the tables of findings, which the matrix leads to.
struct Finding {
  const Record* worst = nullptr;
  std::string formats;  // "f32, bf16"
  std::uint64_t fails = 0, cases = 0;
  std::size_t anchor = 0;  // id="f<anchor>"
};
/// Hardened, then published; seeded faults are meant to fail and are not here.
std::vector<Finding> find_findings(const View& view);

/// Banner, verdict, counts, findings in hardened kernels, environment.
std::string summary(const View& view, const std::vector<Finding>& findings);
/// One table per problem: kernels down, families across.
std::string matrices(const View& view, const std::vector<Finding>& findings);
/// One row per kernel, format, executor and math, families together.
std::string kernel_table(const View& view);
/// Where published kernels fail.
std::string published_findings(const std::vector<Finding>& findings);
std::string investigations(const View& view);
/// Seeded faults and laws; "" if the report has none.
std::string kill_table(const View& view);
/// "" if the report has none.
std::string bench_table(const View& view);
/// The plots of all hardened kernels as SVG, for who reads without scripting.
std::string static_plots(const View& view);

/// What the page's script reads, as JSON that is safe inside a <script> element: no '<', no '&', ASCII only.
std::string condensed(const View& view);

}  // namespace flashproof::html
