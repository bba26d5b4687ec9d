// The semantics: base of lse and alignment of the mask first, then what rows without numbers give, field by field.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reference/error/semantics/declared_terms.h"
#include "reference/error/semantics/semantics_json.h"
#include "reports/suggest/candidates.h"
#include "reports/suggest/search.h"
#include "reports/suggest/special_rows.h"

namespace flashproof {
namespace {

const SemanticsField& field(std::string_view name) {
  return *std::ranges::find(semantics_fields(), name, &SemanticsField::name);
}

/// A field about rows of these kinds, and its values, narrowest first; `any` is left out.
struct RowField {
  std::string_view name;
  std::vector<RowKind> of;
};
const std::vector<RowField>& row_fields() {
  static const std::vector<RowField> kList = {{"empty_o", {RowKind::empty}},
                                              {"empty_lse", {RowKind::empty}},
                                              {"nan_o", {RowKind::infinite, RowKind::nan}},
                                              {"nan_lse", {RowKind::nan}},
                                              {"inf_lse", {RowKind::infinite}}};
  return kList;
}

class SemanticsSearch {
 public:
  SemanticsSearch(const Search& search, std::vector<std::string>& notes) : search_(search), notes_(notes) {
    kinds_.reserve(search.cases.size());
    for (const Case& one : search.cases) kinds_.push_back(row_kinds(one.problem));
  }

  ChosenSemantics run() {
    choose_base();
    choose_rows();
    return {semantics_, working_};
  }

 private:
  /// Base and alignment, under `unknown`, or where that explains less than all under what is wider.
  void choose_base() {
    std::vector<Semantics> bases = {without_special_rows({})};
    const auto add = [&](std::string_view name) {
      if (!field(name).of(search_.kernel.problem)) return;
      for (std::size_t i = 0, n = bases.size(); i < n; ++i) {
        bases.push_back(bases[i]);
        field(name).set(bases.back(), 1);
      }
    };
    if (search_.kernel.problem == ProblemKind::merge || returned(search_.kernel.contract, Part::lse)) add("lse_base");
    if (takes_masks()) add("diagonal");
    working_ = search_.parsed("unknown");
    std::vector<Kernel> list;
    list.reserve(bases.size());
    for (const Semantics& base : bases) list.push_back(search_.candidate(base, working_));
    const std::vector<Said> said = search_.judge(list, search_.cases);
    const auto best = std::ranges::min_element(said, {}, failures) - said.begin();
    base_ = bases[static_cast<std::size_t>(best)];
    Said of_base = said[static_cast<std::size_t>(best)];
    if (bases.size() > (takes_masks() ? 2U : 1U)) note_unseen("lse_base", said, bases);
    if (takes_masks()) note_unseen("diagonal", said, bases);
    if (failures(of_base) > 0) widen(of_base);
    fails_anyway_.reserve(of_base.size());
    for (const CaseSaid& one : of_base) fails_anyway_.push_back(one.verdict.failed());
  }

  void widen(Said& of_base) {
    std::vector<Kernel> list;
    std::vector<ArithmeticCandidate> wider = arithmetic_candidates(search_.kernel.problem, search_.kernel.formats[0]);
    std::erase_if(wider, [](const ArithmeticCandidate& c) { return c.json.find("unknown") == std::string::npos; });
    list.reserve(wider.size());
    for (const ArithmeticCandidate& one : wider) list.push_back(search_.candidate(base_, one.arithmetic));
    std::vector<Said> said = search_.judge(list, search_.cases);
    const auto best = std::ranges::min_element(said, {}, failures) - said.begin();
    if (failures(said[static_cast<std::size_t>(best)]) >= failures(of_base)) return;
    of_base = std::move(said[static_cast<std::size_t>(best)]);
    working_ = wider[static_cast<std::size_t>(best)].arithmetic;
  }

  /// A mask that no case tells apart.
  void note_unseen(std::string_view name, const std::vector<Said>& said, const std::vector<Semantics>& bases) {
    const SemanticsField& of = field(name);
    for (std::size_t i = 0; i < bases.size(); ++i) {
      Semantics other = base_;
      of.set(other, of.get(base_) == 0 ? 1 : 0);
      if (bases[i] == other && failures(said[i]) == 0) notes_.push_back(fmt::format("{}: no case shows it", name));
    }
  }

  bool takes_masks() const {
    if (search_.kernel.problem != ProblemKind::attention) return false;
    return std::ranges::any_of(search_.cases, [](const Case& one) {
      const auto& p = std::get<AttentionProblem>(one.problem);
      return (p.causal || p.window_left >= 0 || p.window_right >= 0) && !p.counts_distances();
    });
  }

  std::vector<Case> cases_with(const std::vector<RowKind>& kinds) const {
    std::vector<Case> list;
    for (std::size_t i = 0; i < search_.cases.size(); ++i) {
      const bool has =
          std::ranges::any_of(kinds, [&](RowKind kind) { return std::ranges::count(kinds_[i], kind) > 0; });
      if (has && !fails_anyway_[i]) list.push_back(search_.cases[i]);
    }
    return list;
  }

  void choose_rows() {
    semantics_ = base_;
    if (search_.kernel.problem == ProblemKind::merge) choose_infinite_states();
    const Semantics rest = semantics_;
    for (const RowField& one : row_fields()) choose_row_field(one, rest);
  }

  /// Rows of +inf are right under the one reading or the other.
  void choose_infinite_states() {
    const std::vector<Case> cases = cases_with({RowKind::infinite});
    if (cases.empty()) {
      notes_.emplace_back("inf_state: no case shows it");
      return;
    }
    Semantics nan = semantics_, empty = semantics_;
    nan.nan_o = empty.nan_o = NanOutput::nan;
    empty.inf_state = InfiniteState::empty;
    const std::vector<Said> said =
        search_.judge(std::vector{search_.candidate(nan, working_), search_.candidate(empty, working_)}, cases);
    if (failures(said[0]) > 0 && failures(said[1]) == 0) {
      semantics_.inf_state = base_.inf_state = InfiniteState::empty;
      for (std::size_t i = 0; i < search_.cases.size(); ++i)
        kinds_[i] = row_kinds(as_declared(search_.cases[i].problem, semantics_));
    }
  }

  void choose_row_field(const RowField& one, const Semantics& rest) {
    const SemanticsField& of = field(one.name);
    // The reference's value stands where no case says anything.
    const std::size_t usual = of.get(Semantics{});
    if (!returned(search_.kernel.contract, one.name.ends_with("_lse") ? Part::lse : Part::o))
      return of.set(semantics_, usual);
    const std::vector<Case> cases = cases_with(one.of);
    if (cases.empty()) {
      of.set(semantics_, usual);
      return notes_.push_back(fmt::format("{}: no case shows it", one.name));
    }
    std::vector<std::size_t> values = {usual};
    for (std::size_t value = 0; value < of.legal.size(); ++value) {
      const bool tried = value != usual && of.legal[value] != "any" && is_legal(of, value, search_.kernel.problem);
      if (tried) values.push_back(value);
    }
    std::vector<Kernel> list;
    for (const std::size_t value : values) {
      Semantics with = rest;
      of.set(with, value);
      list.push_back(search_.candidate(with, working_));
    }
    const std::vector<Said> said = search_.judge(list, cases);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (failures(said[i]) == 0) return of.set(semantics_, values[i]);
    }
    const auto best = std::ranges::min_element(said, {}, failures) - said.begin();
    notes_.push_back(fmt::format("{}: no value explains it, \"{}\" {} of {} cases", one.name,
                                 of.legal[values[static_cast<std::size_t>(best)]],
                                 cases.size() - failures(said[static_cast<std::size_t>(best)]), cases.size()));
  }

  const Search& search_;
  std::vector<std::string>& notes_;
  std::vector<std::vector<RowKind>> kinds_;  // of each case
  std::vector<bool> fails_anyway_;           // the same
  Semantics base_, semantics_;
  Arithmetic working_;
};

}  // namespace

Semantics without_special_rows(Semantics semantics) {
  semantics.empty_o = EmptyOutput::any;
  semantics.empty_lse = semantics.nan_lse = semantics.inf_lse = LseValue::any;
  semantics.nan_o = NanOutput::any;
  return semantics;
}

ChosenSemantics choose_semantics(const Search& search, std::vector<std::string>& notes) {
  return SemanticsSearch(search, notes).run();
}

}  // namespace flashproof
