// The words that text and Markdown share.
#include <fmt/format.h>

#include <cmath>

#include "reports/compare/outcome.h"
#include "reports/views/terminal/text.h"

namespace flashproof::compare {
namespace {

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Three digits, or as many as it takes to tell the two apart.
std::pair<std::string, std::string> told_apart(double a, double b) {
  std::string x, y;
  for (int digits = 3; x == y && digits <= 17; digits += 2) {
    x = fmt::format("{:.{}g}", a, digits);
    y = fmt::format("{:.{}g}", b, digits);
  }
  return {x, y};
}

std::string count_of(std::size_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

}  // namespace

std::string_view word(Direction direction) {
  return direction == Direction::worse ? "worse" : direction == Direction::better ? "better" : "same";
}

std::string change_text(double base, double head) {
  const auto measured = [](double x) { return x == -1 ? std::string("not measured") : fmt::format("{:.3g}", x); };
  if (same(base, head)) return measured(base);
  if (base == -1 || head == -1) return measured(base) + " -> " + measured(head);
  const auto [from, to] = told_apart(base, head);
  if (!(base > 0) || !std::isfinite(base) || !std::isfinite(head)) return from + " -> " + to;
  const double percent = 100 * (head / base - 1);
  if (std::fabs(percent) >= 1000) return fmt::format("{} -> {} (x {})", from, to, short_number(head / base));
  return std::fabs(percent) < 100 ? fmt::format("{} -> {} ({:+.2g} %)", from, to, percent)
                                  : fmt::format("{} -> {} ({:+.0f} %)", from, to, percent);
}

std::string quantiles_text(const TensorFigures& base, const TensorFigures& head) {
  if (base.octaves.elements() == 0 || head.octaves.elements() == 0) return "no element measured";
  std::string text;
  for (const auto& [name, q] : {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}}) {
    const int from = base.octaves.quantile(q), to = head.octaves.quantile(q);
    text += fmt::format("{} {}{}, ", name, octave_text(from), from == to ? "" : " -> " + octave_text(to));
  }
  return text + "max " + change_text(base.max_ulp, head.max_ulp);
}

std::string bias_text(const TensorFigures& base, const TensorFigures& head) {
  const auto one = [](const TensorFigures& f) {
    return fmt::format("{:.3g} (limit {:.3g}{})", f.bias, f.bias_limit, f.biased ? ", BIASED" : "");
  };
  if (same(base.bias, head.bias) && base.biased == head.biased) return one(head);
  return one(base) + " -> " + one(head);
}

std::string tensor_line(const std::string& tensor, const TensorFigures& base, const TensorFigures& head) {
  std::string text = fmt::format("{}: ulp {}; RMSE {}; mean |error| {}", tensor, quantiles_text(base, head),
                                 change_text(base.rmse, head.rmse), change_text(base.mean_abs, head.mean_abs));
  if (base.octaves.elements() > 0 && head.octaves.elements() > 0) {
    const Between from = mean_ulp(base.octaves), to = mean_ulp(head.octaves);
    text += fmt::format("; mean ulp {:.2g}..{:.2g}", from.lower, from.upper);
    if (!(base.octaves == head.octaves)) text += fmt::format(" -> {:.2g}..{:.2g}", to.lower, to.upper);
  }
  return text + "; bias " + bias_text(base, head);
}

std::string witness_text(const WorstCase& witness) {
  std::string verdict = to_string(Verdict{witness.verdict.kind, witness.verdict.failure, {}});
  const ElementFinding& e = witness.element;
  if (e.tensor.empty()) return verdict;
  std::string text = fmt::format("{} at {}[{}]: computed {}, exact {}, error {:.3g}", verdict, e.tensor, e.index,
                                 long_number(e.computed), long_number(e.exact), e.error);
  if (e.ratio > 0 && std::isfinite(e.ratio) && std::isfinite(e.error)) {
    text += fmt::format(", {:.3g} of its bound {:.3g}", e.ratio, e.error / e.ratio);
  }
  return text;
}

std::string sign_text(const SignTest& t) {
  const std::uint64_t decided = t.worse + t.better;
  std::string text = fmt::format("worse in {} cases, better in {}, equal in {}", t.worse, t.better, t.equal);
  if (decided == 0) return text + ": no difference";
  return text + fmt::format(": {} (p {} {})",
                            t.p < kLevel ? (t.worse > t.better ? "worse" : "better") : "no direction shown",
                            t.p < 1e-12 ? "<" : "=", t.p < 1e-12 ? "1e-12" : fmt::format("{:.2g}", t.p));
}

std::string summary_line(const Outcome& outcome) {
  const Comparison& c = outcome.comparison;
  if (c.base == nullptr) return outcome.scope.empty() ? "speeds alone" : "the two programs compute the same";
  std::size_t worse = 0, better = 0, error_worse = 0, error_better = 0, mixed = 0;
  for (const RecordChange* r : c.by_class()) ++(r->classes.worse ? worse : better);
  for (const RecordChange* r : c.by_error()) {
    ++(r->error == Direction::worse ? error_worse : r->error == Direction::better ? error_better : mixed);
  }
  std::string text = fmt::format("{} of {} (kernel x format x executor x math x family)", c.changed(),
                                 count_of(c.records.size(), "record"));
  if (c.changed() == 0) {
    text += ": no change";
  } else {
    text += fmt::format(" differ: class worse {}, class better {}, error worse {}, error better {}", worse, better,
                        error_worse, error_better);
    if (mixed > 0) text += fmt::format(", other figures {}", mixed);
    if (c.other_cases > 0) text += fmt::format(", of other cases {}", c.other_cases);
  }
  if (!c.only_base.empty()) text += fmt::format("; only in BASE {}", c.only_base.size());
  if (!c.only_head.empty()) text += fmt::format("; only in HEAD {}", c.only_head.size());
  return text;
}

std::vector<std::string> caveats(const Outcome& outcome) {
  const Comparison& c = outcome.comparison;
  std::vector<std::string> list;
  if (!c.partial.empty()) list.push_back("PARTIAL: " + c.partial);
  if (c.other_cases > 0) {
    list.push_back(
        fmt::format("DIFFERENT CASES in {} of {} records (other seeds, tier or number of cases): their figures stand "
                    "beside each other and no change is claimed, but for how often they fail (Fisher's exact test).",
                    c.other_cases, c.records.size()));
  }
  return list;
}

}  // namespace flashproof::compare
