#include "reports/diagnose/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "kernels/run/run.h"
#include "reference/error/assumption.h"
#include "reference/system/error.h"
#include "reference/system/text.h"
#include "reports/diagnose/hypotheses/counterfactual.h"
#include "reports/diagnose/origin.h"
#include "reports/run/evaluate.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

std::int64_t index_of(const Evaluation& e, const ElementChoice& choice) {
  return choice.row * e.truth.width_of(choice.part) + choice.column;
}

/// "o[row 3, column 1]", "lse[row 3]"
std::string element_name(const ElementChoice& e) {
  const std::string column = e.part == Part::lse ? "" : fmt::format(", column {}", e.column);
  return fmt::format("{}[row {}{}]", name(e.part), e.row, column);
}

std::string line(std::string_view label, const std::string& text) { return fmt::format("  {:<12}{}\n", label, text); }

double share(double part, double total) {
  return std::isinf(total) ? (std::isinf(part) ? 100 : 0) : 100 * part / total;
}

void value_lines(const Element& e, const Decision& decision, const Evaluation& evaluation, std::string& out) {
  const bool finite_truth = (e.truth.classes & kFinite) != 0;
  out += line("exact", finite_truth ? fmt::format("{:.17g}, known to {:.2g}", e.truth.hi, e.truth.radius)
                                    : "not a finite number: the special values among the inputs decide");
  out += line("computed", fmt::format("{} (0x{:0{}x} in {})", long_number(e.computed), e.bits, info(e.format).bits / 4,
                                      info(e.format).name));
  if (e.bits == poison_bits(e.format))
    out += line("", "never written: these are the bits that outputs hold before a run");
  if (finite_truth && class_of(e.computed) == kFinite && class_of(e.truth.radius) == kFinite) {
    const double error = signed_error(e.computed, e.truth);
    const double allowed = bound_with_rounding(e.format, e.truth, e.bound);
    out +=
        line("error", fmt::format("{:.4g}, {} of what is allowed: {:.4g} of bound and {:.4g} for the rounding into {}",
                                  error, short_number(error == 0 ? 0 : std::fabs(error) / allowed), e.bound.total(),
                                  allowed - e.bound.total(), info(e.format).name));
  }
  out += line("verdict", to_string(decision.verdict()) +
                             (*decision.why == '\0' ? std::string() : fmt::format(": {}", decision.why)));
  if (evaluation.kernel.contract.refuses_beyond_range) {
    out += line("contract", "refuses rows beyond the range of its un-stabilised form: NaN, never a wrong number");
  }
  const std::vector<Tier>& tiers = evaluation.truth.tier;  // of a gradient none
  if (!e.domain.holds() || tiers.empty() || tiers[static_cast<std::size_t>(e.row)] == Tier::symbolic) return;
  if (decision.kind == VerdictKind::vacuous) {
    out += line(
        "",
        fmt::format("the values lie within {:.4g} of each other, and half of that is what a bound must beat", e.range));
  }
}

void bound_lines(const Element& e, ProblemKind problem, std::string& out) {
  const ElementBound& b = e.bound;
  const std::array<std::pair<std::string_view, double>, 4> terms = {
      {{"weights", b.weights}, {"numerator", b.numerator}, {"denominator", b.denominator}, {"output", b.output}}};
  const std::string_view dominating = dominating_term(b);
  out += line("bound", fmt::format("{:.4g}, the sum of", b.total()));
  for (const auto& [name, value] : terms) {
    out += fmt::format("    {:<12}{:<10.4g}{:>4.0f} %{}\n", name, value, b.total() > 0 ? share(value, b.total()) : 0.0,
                       name == dominating ? "  dominates" : "");
  }
  if (b.total() > 0)
    out += fmt::format("  The {} part pays for {}.\n", dominating, paid_for(dominating, e.part, problem));
}

void probable_lines(const Element& e, const Decision& decision, const Arithmetic& arithmetic, std::string& out) {
  const ElementBound& b = e.bound;
  const double probable = probable_bound(b);
  if (!(probable < b.total())) {
    out += line("probable", "no less than the bound: chance is not known to help here");
    return;
  }
  std::string text = fmt::format("{:.4g} (drift {:.3g})", probable, b.drift);
  const bool finite = (e.truth.classes & kFinite) != 0 && class_of(e.computed) == kFinite;
  if (decision.investigate) {
    const double error = std::fabs(signed_error(e.computed, e.truth));
    text += fmt::format("; the error lies above it: investigate. Most likely broken: {}",
                        likely_broken(arithmetic, b, error).text);
  } else if (finite && decision.kind == VerdictKind::pass) {
    text += "; the error does not lie above it";
  }
  out += line("probable", text);
}

/// Every precondition of the row, the one nearest to failing first; of a gradient's row the bound keeps that one alone.
void domain_lines_of(const Element& e, const Evaluation& evaluation, std::string& out) {
  const bool gradient = evaluation.kernel.problem == ProblemKind::backward;
  std::vector<Precondition> list = gradient
                                       ? std::vector{e.domain.nearest}
                                       : preconditions(evaluation.subject.problem, evaluation.kernel.arithmetic, e.row);
  std::erase_if(list, [](const Precondition& p) { return *p.name == '\0'; });
  if (list.empty()) {
    out += line("domain", "nothing to require of this row");
    return;
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Precondition& a, const Precondition& b) { return a.load() > b.load(); });
  const auto failing = std::count_if(list.begin(), list.end(), [](const auto& p) { return !p.holds(); });
  out +=
      line("domain", gradient ? "of the preconditions of this row the one nearest to failing; the others are not kept"
                              : fmt::format("{} of {} preconditions of this row fail; nearest to failing first",
                                            failing, list.size()));
  for (const Precondition& p : list) {
    out += fmt::format("    {:<12}{}: {:.4g}, limit {:.4g}{}\n",
                       p.holds() ? short_number(p.load()) : short_number(p.load()) + " FAILS", p.name, p.value, p.limit,
                       p.holds() || p.excuses ? ""
                       : evaluation.kernel.contract.refuses_beyond_range
                           ? "; of this form alone: the kernel's contract is to answer NaN, which is out of domain"
                           : "; of this form alone, which excuses nothing");
  }
}

void improvement_lines(const Element& e, const Evaluation& evaluation, std::int64_t index, std::string& out) {
  if (!(e.bound.total() > 0)) return;
  int tried = 0;
  const std::vector<Improvement> list =
      improvements(evaluation.subject, evaluation.kernel, e.part, index, e.bound.total(), &tried);
  if (list.empty()) {
    out += line("lower it", fmt::format("none of the {} changes tried lowers the bound by 5 %", tried));
    return;
  }
  out += line("lower it", "the bound would be smaller by the factor, with");
  for (const Improvement& i : list) {
    out += fmt::format("    {:<12}{}\n", short_number(i.factor), i.text);
  }
}

}  // namespace

ElementChoice parse_element(std::string_view text, const Problem& problem) {
  std::string legal;
  const std::size_t colon = text.find(':');
  const auto numbers = colon == std::string_view::npos ? std::nullopt : parse_counts(text.substr(colon + 1));
  for (const Part part : parts(kind_of(problem))) {
    std::vector<std::int64_t> shape = output_shape(problem, part);
    const std::int64_t columns = part == Part::lse ? 1 : shape.back();
    if (part != Part::lse) shape.pop_back();
    const std::int64_t rows = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies{});
    legal += fmt::format("{}{}:ROW{} with rows 0..{}", legal.empty() ? "" : ", or ", name(part),
                         part == Part::lse ? "" : ",COLUMN", rows - 1);
    if (part != Part::lse) legal += fmt::format(" and columns 0..{}", columns - 1);
    if (!numbers || text.substr(0, colon) != name(part) || numbers->size() != (part == Part::lse ? 1U : 2U)) continue;
    const ElementChoice choice{part, (*numbers)[0], part == Part::lse ? 0 : (*numbers)[1]};
    if (choice.row < rows && choice.column < columns) return choice;
  }
  throw UsageError(fmt::format("--element {}: must be {}", quote(text), legal));
}

ElementChoice worst_element(const Evaluation& e) {
  const auto at = [&](Part part, std::int64_t index) -> ElementChoice {
    const std::int64_t width = e.truth.width_of(part);
    return {part, index / width, index % width};
  };
  const auto all = parts(e.kernel.problem);
  std::optional<Part> worst;
  for (const Part part : all) {
    if (e.judgement[part].witness.ratio == -1) continue;
    if (!worst || worse_ratio(e.judgement[part].witness.ratio, e.judgement[*worst].witness.ratio)) worst = part;
  }
  if (worst) return at(*worst, static_cast<std::int64_t>(e.judgement[*worst].witness.index));
  for (const Part part : all) {
    for (std::int64_t i = 0; i < count(e.truth, part); ++i) {
      if (decide(e.element(part, i), e.kernel.contract).failed()) return at(part, i);
    }
  }
  for (const Part part : all) {
    if (e.judgement[part].elements > 0) return at(part, 0);
  }
  throw UsageError("--case: it has no output element to explain");
}

namespace {

std::string_view paid_for_gradient(std::string_view term, Part part) {
  if (term == "weights") {
    return "the recomputed P: rounded scores and exponents, the exponential, and in gradient mode the error of the "
           "forward pass's lse";
  }
  if (term == "denominator") return "D, the sum of dO o, in gradient mode with the error of the forward pass's o";
  if (term == "output") return "the scaled sum in f32 before a narrower format, and results that are flushed";
  return part == Part::dv   ? "P in its storage format and the sum over queries"
         : part == Part::dk ? "dP, the products and storage of dS, and the sum over queries"
                            : "dP, the products and storage of dS, and the sum over keys";
}

}  // namespace

std::string_view paid_for(std::string_view term, Part part, ProblemKind problem) {
  if (problem == ProblemKind::backward) return paid_for_gradient(term, part);
  const bool merge = problem == ProblemKind::merge, lse = part == Part::lse;
  if (term == "weights") {
    if (merge) return "rounded lse at the joins and rounded exponentials: they shift weight between the states";
    if (lse) return "rounded scores and exponents, the exponentials, and weights too small for a normal number";
    return problem == ProblemKind::softmax ? "rounded exponents and exponentials in the sum of weights"
                                           : "rounded scores and exponents and the exponentials: they shift weight "
                                             "between the keys, which costs as "
                                             "much as their values differ";
  }
  if (term == "numerator") {
    if (problem == ProblemKind::softmax) return "this element's own exponent and exponential";
    return merge ? "the products and sums of weight times output, at every join"
                 : "rounded P, the products and the running sum of P v, and its rescales";
  }
  if (term == "denominator") {
    return merge ? "the rounded weights of a join, which need not add up to 1"
                 : "the additions and rescales of the sum of weights";
  }
  return lse ? "the logarithm" : "the ending: reciprocal or quotient, and the f32 result before a narrower format";
}

std::string explain_text(const Evaluation& evaluation, Executor executor, const ElementChoice& choice) {
  const std::int64_t index = index_of(evaluation, choice);
  const Element e = evaluation.element(choice.part, index);
  const Decision decision = decide(e, evaluation.kernel.contract);
  std::string out = fmt::format("{} on {}, {}\n", evaluation.kernel.id, place(evaluation.kernel, executor),
                                one_line(to_string(evaluation.subject.spec)));
  out += element_name(choice) + "\n";
  value_lines(e, decision, evaluation, out);
  if (decision.failed() && class_of(e.computed) != kFinite && e.bits != poison_bits(e.format)) {
    if (const std::string origin = origin_of(evaluation, e, executor); !origin.empty())
      out += line("came from", origin);
  }
  if ((e.truth.classes & kFinite) == 0) {
    out += "  No bound applies: only the class of the answer is judged.\n";
    return out;
  }
  bound_lines(e, kind_of(evaluation.subject.problem), out);
  if (e.bound.total() > 0) probable_lines(e, decision, evaluation.kernel.arithmetic, out);
  domain_lines_of(e, evaluation, out);
  improvement_lines(e, evaluation, index, out);
  return out;
}

}  // namespace flashproof
