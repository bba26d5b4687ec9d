#include "reports/diagnose/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/run.h"
#include "reference/error/assumption.h"
#include "reference/problem/error.h"
#include "reference/problem/text.h"
#include "reports/diagnose/counterfactual.h"
#include "reports/diagnose/origin.h"
#include "reports/run/evaluate.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

std::int64_t index_of(const Evaluation& e, const ElementChoice& choice) {
  return choice.part == Part::o ? choice.row * e.truth.width + choice.column : choice.row;
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
  if (!e.domain.holds() || evaluation.truth.tier[static_cast<std::size_t>(e.row)] == Tier::symbolic) return;
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

/// Every precondition of the row, the one nearest to failing first.
void domain_lines_of(const Element& e, const Evaluation& evaluation, std::string& out) {
  std::vector<Precondition> list = preconditions(evaluation.subject.problem, evaluation.kernel.arithmetic, e.row);
  std::erase_if(list, [](const Precondition& p) { return *p.name == '\0'; });
  if (list.empty()) {
    out += line("domain", "nothing to require of this row");
    return;
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Precondition& a, const Precondition& b) { return a.load() > b.load(); });
  out += line("domain", fmt::format("{} of {} preconditions of this row fail; nearest to failing first",
                                    std::count_if(list.begin(), list.end(), [](const auto& p) { return !p.holds(); }),
                                    list.size()));
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
      improvements(evaluation.subject.problem, evaluation.kernel.arithmetic, e.part, index, e.bound.total(), &tried);
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

ElementChoice parse_element(std::string_view text, std::int64_t rows, std::int64_t width) {
  const auto wrong = [&](const std::string& what) {
    return UsageError(fmt::format("--element {}: {}", quote(text), what));
  };
  const std::string legal =
      fmt::format("must be o:ROW,COLUMN with rows 0..{} and columns 0..{}, or lse:ROW", rows - 1, width - 1);
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) throw wrong(legal);
  const std::string_view tensor = text.substr(0, colon);
  const auto numbers = parse_counts(text.substr(colon + 1));
  if ((tensor != "o" && tensor != "lse") || !numbers || numbers->size() != (tensor == "o" ? 2U : 1U))
    throw wrong(legal);
  const ElementChoice choice{tensor == "o" ? Part::o : Part::lse, (*numbers)[0], tensor == "o" ? (*numbers)[1] : 0};
  if (choice.row >= rows || (choice.part == Part::o && choice.column >= width)) throw wrong(legal);
  return choice;
}

ElementChoice worst_element(const Evaluation& e) {
  const ErrorStats &o = e.judgement.o, &lse = e.judgement.lse;
  if (o.elements + lse.elements == 0) throw UsageError("--case: it has no output element to explain");
  const bool measured = o.witness.ratio != -1 || lse.witness.ratio != -1;
  if (measured) {
    const bool in_lse = worse_ratio(lse.witness.ratio, o.witness.ratio);
    const auto index = static_cast<std::int64_t>(in_lse ? lse.witness.index : o.witness.index);
    if (in_lse) return {Part::lse, index, 0};
    return {Part::o, index / e.truth.width, index % e.truth.width};
  }
  for (const Part part : {Part::o, Part::lse}) {
    for (std::int64_t i = 0; i < count(e.truth, part); ++i) {
      const Element element = e.element(part, i);
      if (decide(element, e.kernel.contract).failed()) return {part, element.row, element.column};
    }
  }
  return {o.elements > 0 ? Part::o : Part::lse, 0, 0};
}

std::string_view paid_for(std::string_view term, Part part, ProblemKind problem) {
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
  out +=
      e.part == Part::o ? fmt::format("o[row {}, column {}]\n", e.row, e.column) : fmt::format("lse[row {}]\n", e.row);
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
