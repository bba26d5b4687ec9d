// Everything that a comparison has to say, and the four forms in which it says it. All are pure functions.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "reports/compare/comparison.h"
#include "reports/compare/gate.h"
#include "reports/compare/pair.h"
#include "reports/compare/speed/speed.h"
#include "reports/views/terminal/verdict_block.h"

namespace flashproof::compare {

struct Outcome {
  Comparison comparison;
  std::optional<Paired> paired;
  std::optional<Speed> speed;
  std::optional<GateResult> gate;
  std::chrono::year_month_day today;

  std::string base_label, head_label;
  std::string scope;  // which kernels were not run, and why; empty: what was asked for was run
};

/// The verdict in a screen: what got worse or better, kernel by kernel, the most harmful first; then what is in one of the two alone,
/// speed and the gate.
VerdictBlock block_of(const Outcome& outcome);
/// All of it for a terminal: ASCII alone. Lists end after kShown entries and say how many follow.
std::string text_of(const Outcome& outcome);
inline constexpr std::size_t kShown = 20;
/// GitHub-flavoured, at most kMarkdownLimit (report.h) bytes: tables that are too long end early and say so.
std::string markdown_of(const Outcome& outcome);
/// Schema flashproof.compare/1, everything.
std::string json_of(const Outcome& outcome);

// What text and Markdown share.
/// "3 of 412 records changed: ...", one line.
std::string summary_line(const Outcome& outcome);
/// "", or why there are no changes to tell: other cases, a partial report.
std::vector<std::string> caveats(const Outcome& outcome);
/// "0.31 -> 0.42 (+35 %)", or "0.31" where it stands.
std::string change_text(double base, double head);
/// Of p50, p90, p99 and the maximum, in ulp: "p50 [0.25, 0.5), p90 [0.5, 1) -> [1, 2), ...".
std::string quantiles_text(const TensorFigures& base, const TensorFigures& head);
/// "mean error -0.01 (limit 0.2) -> 0.4 (limit 0.2), biased".
std::string bias_text(const TensorFigures& base, const TensorFigures& head);
/// "computed 1.5, exact 1, error 0.5 of bound 0.1 (5.0 of it) at o[7]".
std::string witness_text(const WorstCase& witness);
/// "err more in 30 cases, less in 12, equal in 6: p = 0.008".
std::string sign_text(const SignTest& test);
std::string tensor_line(const std::string& tensor, const TensorFigures& base, const TensorFigures& head);
std::string_view word(Direction direction);

}  // namespace flashproof::compare
