#include "reports/suggest/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "properties/laws/law.h"
#include "reference/bound/declare/arithmetic_json.h"
#include "reference/error/semantics/declared_terms.h"
#include "reference/error/semantics/semantics_json.h"
#include "reference/problem/fields.h"
#include "reference/system/error.h"
#include "reports/suggest/candidates.h"
#include "reports/suggest/special_rows.h"

namespace flashproof {
namespace {

using Said = std::vector<CaseSaid>;

constexpr std::size_t kFirstCases = 40;  // under which most arithmetics are ruled out
constexpr std::size_t kWidthCases = 24;  // by which they are put in order
constexpr std::size_t kAtOnce = 8;       // that are asked about all cases together

std::size_t failures(const Said& said) {
  return static_cast<std::size_t>(
      std::ranges::count_if(said, [](const CaseSaid& one) { return one.verdict.failed(); }));
}

std::int64_t size_of(const Case& one) {
  std::int64_t sum = 0;
  std::visit([&](const auto& p) { for_each_tensor(p, [&](const Field&, const Tensor& t) { sum += t.elements(); }); },
             one.problem);
  return sum;
}

/// Nothing said of rows without numbers.
Semantics without_special_rows(Semantics semantics) {
  semantics.empty_o = EmptyOutput::any;
  semantics.empty_lse = semantics.nan_lse = semantics.inf_lse = LseValue::any;
  semantics.nan_o = NanOutput::any;
  return semantics;
}

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

/// Not one with a field changed.
bool is_preset(const ArithmeticCandidate& candidate) { return candidate.json.front() == '"'; }

/// Of an arithmetic that explained every output.
struct Refutation {
  Case refuting;
  Verdict verdict;
};

class Search {
 public:
  Search(const Kernel& kernel, std::span<const Case> cases, const AskCases& ask)
      : kernel_(kernel), all_(cases.begin(), cases.end()), ask_(ask) {
    std::ranges::move(special_row_cases(kernel, cases), std::back_inserter(all_));
  }

  Suggestion run() {
    leave_out_refused();
    if (!result_.unexplained.empty()) return std::move(result_);
    choose_base();
    choose_rows();
    choose_arithmetic();
    return std::move(result_);
  }

 private:
  Kernel candidate(const Semantics& semantics, const Arithmetic& arithmetic) const {
    Kernel kernel = kernel_;
    kernel.contract.semantics = semantics;
    kernel.arithmetic = arithmetic;
    return kernel;
  }
  std::vector<Said> judge(std::span<const Kernel> candidates, std::span<const Case> cases) const {
    return ask_(candidates, cases, AskedLaws::judging);
  }
  Arithmetic parsed(const std::string& text) const {
    return parse_arithmetic(text, kernel_.problem, kernel_.formats[0]);
  }

  void leave_out_refused() {
    const Said said = judge(std::vector{candidate(without_special_rows({}), parsed("unknown"))}, all_).front();
    // What does not come back is explained by no declaration.
    const auto broken = [](const CaseSaid& one) { return one.verdict.failure == Failure::error; };
    if (std::ranges::any_of(said, broken)) {
      result_.semantics = "{}";
      result_.arithmetic = "\"unknown\"";
      result_.cases = all_.size();
      for (std::size_t i = 0; i < all_.size(); ++i) {
        if (broken(said[i])) result_.unexplained.push_back({all_[i].spec, said[i].verdict});
      }
      return;
    }
    std::vector<Case> taken;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const std::string& family = all_[i].spec.family;
      const bool drawn = !all_[i].spec.keys.contains(kPlanted),
                 refused = said[i].verdict.kind == VerdictKind::unsupported;
      const bool described = kernel_.unsupported(all_[i].problem).empty();
      if (drawn) tried_[family] = tried_[family] || described;
      if (drawn && refused && described) ++refused_[family];
      if (!refused) taken.push_back(std::move(all_[i]));
    }
    all_ = std::move(taken);
    if (all_.empty()) throw UsageError("no case: the kernel takes none that was drawn");
    result_.cases = all_.size();
    kinds_.reserve(all_.size());
    for (const Case& one : all_) kinds_.push_back(row_kinds(one.problem));
  }

  /// Base and alignment, under `unknown`, or where that explains less than all under what is wider.
  void choose_base() {
    std::vector<Semantics> bases = {without_special_rows({})};
    const auto add = [&](std::string_view name) {
      if (!field(name).of(kernel_.problem)) return;
      for (std::size_t i = 0, n = bases.size(); i < n; ++i) {
        bases.push_back(bases[i]);
        field(name).set(bases.back(), 1);
      }
    };
    if (kernel_.problem == ProblemKind::merge || returned(kernel_.contract, Part::lse)) add("lse_base");
    if (takes_masks()) add("diagonal");
    working_ = parsed("unknown");
    std::vector<Kernel> list;
    list.reserve(bases.size());
    for (const Semantics& base : bases) list.push_back(candidate(base, working_));
    const std::vector<Said> said = judge(list, all_);
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
    std::vector<ArithmeticCandidate> wider = arithmetic_candidates(kernel_.problem, kernel_.formats[0]);
    std::erase_if(wider, [](const ArithmeticCandidate& c) { return c.json.find("unknown") == std::string::npos; });
    list.reserve(wider.size());
    for (const ArithmeticCandidate& one : wider) list.push_back(candidate(base_, one.arithmetic));
    std::vector<Said> said = judge(list, all_);
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
      if (bases[i] == other && failures(said[i]) == 0)
        result_.notes.push_back(fmt::format("{}: no case shows it", name));
    }
  }

  bool takes_masks() const {
    if (kernel_.problem != ProblemKind::attention) return false;
    return std::ranges::any_of(all_, [](const Case& one) {
      const auto& p = std::get<AttentionProblem>(one.problem);
      return (p.causal || p.window_left >= 0 || p.window_right >= 0) && !p.counts_distances();
    });
  }

  std::vector<Case> cases_with(const std::vector<RowKind>& kinds) const {
    std::vector<Case> list;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const bool has =
          std::ranges::any_of(kinds, [&](RowKind kind) { return std::ranges::count(kinds_[i], kind) > 0; });
      if (has && !fails_anyway_[i]) list.push_back(all_[i]);
    }
    return list;
  }

  void choose_rows() {
    semantics_ = base_;
    if (kernel_.problem == ProblemKind::merge) choose_infinite_states();
    const Semantics rest = semantics_;
    for (const RowField& one : row_fields()) choose_row_field(one, rest);
  }

  /// Rows of +inf are right under the one reading or the other.
  void choose_infinite_states() {
    const std::vector<Case> cases = cases_with({RowKind::infinite});
    if (cases.empty()) {
      result_.notes.emplace_back("inf_state: no case shows it");
      return;
    }
    Semantics nan = semantics_, empty = semantics_;
    nan.nan_o = empty.nan_o = NanOutput::nan;
    empty.inf_state = InfiniteState::empty;
    const std::vector<Said> said = judge(std::vector{candidate(nan, working_), candidate(empty, working_)}, cases);
    if (failures(said[0]) > 0 && failures(said[1]) == 0) {
      semantics_.inf_state = base_.inf_state = InfiniteState::empty;
      for (std::size_t i = 0; i < all_.size(); ++i) kinds_[i] = row_kinds(as_declared(all_[i].problem, semantics_));
    }
  }

  void choose_row_field(const RowField& one, const Semantics& rest) {
    const SemanticsField& of = field(one.name);
    // The reference's value stands where no case says anything.
    const std::size_t usual = of.get(Semantics{});
    if (!returned(kernel_.contract, one.name.ends_with("_lse") ? Part::lse : Part::o)) return of.set(semantics_, usual);
    const std::vector<Case> cases = cases_with(one.of);
    if (cases.empty()) {
      of.set(semantics_, usual);
      return result_.notes.push_back(fmt::format("{}: no case shows it", one.name));
    }
    std::vector<std::size_t> values = {usual};
    for (std::size_t value = 0; value < of.legal.size(); ++value) {
      const bool tried = value != usual && of.legal[value] != "any" && is_legal(of, value, kernel_.problem);
      if (tried) values.push_back(value);
    }
    std::vector<Kernel> list;
    for (const std::size_t value : values) {
      Semantics with = rest;
      of.set(with, value);
      list.push_back(candidate(with, working_));
    }
    const std::vector<Said> said = judge(list, cases);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (failures(said[i]) == 0) return of.set(semantics_, values[i]);
    }
    const auto best = std::ranges::min_element(said, {}, failures) - said.begin();
    result_.notes.push_back(fmt::format("{}: no value explains it, \"{}\" {} of {} cases", one.name,
                                        of.legal[values[static_cast<std::size_t>(best)]],
                                        cases.size() - failures(said[static_cast<std::size_t>(best)]), cases.size()));
  }

  /// An arithmetic under which every case of some is explained, and the run would pass.
  void choose_arithmetic() {
    std::vector<ArithmeticCandidate> list = arithmetic_candidates(kernel_.problem, kernel_.formats[0]);
    sort_by_width(list, std::span(all_).first(std::min(all_.size(), kWidthCases)));
    const std::size_t step = std::max<std::size_t>(1, all_.size() / kFirstCases);
    std::vector<Case> first;
    for (std::size_t i = 0; i < all_.size(); i += step) first.push_back(all_[i]);
    std::vector<Kernel> kernels;
    kernels.reserve(list.size());
    for (const ArithmeticCandidate& one : list) kernels.push_back(candidate(semantics_, one.arithmetic));
    const std::vector<Said> quick = judge(kernels, first);
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (failures(quick[i]) == 0) left.push_back(i);
    }
    for (std::size_t begin = 0; begin < left.size() && !result_.found; begin += kAtOnce) {
      const std::size_t end = std::min(left.size(), begin + kAtOnce);
      std::vector<Kernel> some;
      for (std::size_t i = begin; i < end; ++i) some.push_back(kernels[left[i]]);
      const std::vector<Said> said = judge(some, all_);
      for (std::size_t i = 0; i < some.size() && !result_.found; ++i) consider(some[i], list[left[begin + i]], said[i]);
    }
    result_.semantics = semantics_json(semantics_, kernel_.problem);
    if (!result_.found && result_.arithmetic.empty()) tell_nearest(list, quick);
  }

  void consider(const Kernel& kernel, const ArithmeticCandidate& declared, const Said& said) {
    // A wide bound explains much of what is wrong: the nearest is one that a kernel is known to have.
    const bool nearer =
        is_preset(declared) && (result_.arithmetic.empty() || failures(said) < result_.unexplained.size());
    if (failures(said) == 0) {
      RunDecisions decisions;
      for (const auto& [family, described] : tried_) decisions.offer(family, described);
      for (const auto& [family, cases] : refused_) decisions.refuse(family, cases);
      for (std::size_t i = 0; i < said.size(); ++i) {
        if (all_[i].spec.keys.contains(kPlanted)) continue;  // no draw of the family
        if (!said[i].powers.empty()) decisions.add(all_[i].spec, said[i].seen, said[i].powers);
      }
      const Conclusion conclusion = decisions.conclude(kernel);
      std::string why = conclusion.contradiction        ? conclusion.contradiction->verdict.detail
                        : !conclusion.narrow.empty()    ? conclusion.narrow
                        : !conclusion.undecided.empty() ? conclusion.undecided.front()
                                                        : "";
      if (why.empty() && refuted(kernel)) {
        if (!result_.arithmetic.empty()) return;
        result_.arithmetic = declared.json;
        result_.unexplained = {{refutations_.back().refuting.spec, refutations_.back().verdict}};
        return;
      }
      if (why.empty()) {
        result_.found = true;
        result_.unexplained.clear();
        result_.alternative = conclusion.suggestion;
        result_.undecided.clear();
      } else if (!result_.undecided.empty()) {
        return;
      } else {
        result_.undecided = std::move(why);
      }
    } else if (!nearer || !result_.undecided.empty()) {
      return;
    }
    result_.arithmetic = declared.json;
    tell_unexplained(said);
  }

  /// By a law that relates runs, which passes the case under the open declaration. First the cases on which others were.
  bool refuted(const Kernel& kernel) {
    if (std::ranges::any_of(refutations_, [&](const Refutation& one) { return fails(kernel, one.refuting); }))
      return true;
    const Said said = ask_(std::span(&kernel, 1), all_, AskedLaws::all).front();
    for (std::size_t i = 0; i < said.size(); ++i) {
      if (!said[i].verdict.failed() || fails_whatever_is_declared(i, said[i].verdict)) continue;
      refutations_.push_back({all_[i], said[i].verdict});
      return true;
    }
    return false;
  }

  bool fails(const Kernel& kernel, const Case& one) const {
    return ask_(std::span(&kernel, 1), std::span(&one, 1), AskedLaws::all).front().front().verdict.failed();
  }

  /// A promise that the kernel breaks, or what no bound excuses.
  bool fails_whatever_is_declared(std::size_t i, const Verdict& verdict) {
    const auto [at, is_new] = fails_whatever_.try_emplace(i, false);
    if (!is_new) return at->second;
    at->second = fails(candidate(semantics_, working_), all_[i]);
    if (at->second)
      result_.notes.push_back(
          fmt::format("{} fails whatever is declared: {}", to_string(all_[i].spec), verdict.detail));
    return at->second;
  }

  /// Where every arithmetic fails the first cases already.
  void tell_nearest(const std::vector<ArithmeticCandidate>& list, const std::vector<Said>& quick) {
    std::size_t best = list.size();
    for (std::size_t i = 0; i < list.size(); ++i) {
      const bool better = best == list.size() || failures(quick[i]) < failures(quick[best]);
      if (is_preset(list[i]) && better) best = i;
    }
    result_.arithmetic = list[best].json;
    tell_unexplained(judge(std::vector{candidate(semantics_, list[best].arithmetic)}, all_).front());
  }

  void tell_unexplained(const Said& said) {
    std::vector<std::pair<std::int64_t, std::size_t>> order;
    for (std::size_t i = 0; i < said.size(); ++i) {
      if (said[i].verdict.failed()) order.emplace_back(size_of(all_[i]), i);
    }
    std::ranges::sort(order);
    result_.unexplained.clear();
    for (const auto& [size, i] : order) result_.unexplained.push_back({all_[i].spec, said[i].verdict});
  }

  const Kernel& kernel_;
  std::vector<Case> all_;
  const AskCases& ask_;
  std::vector<std::vector<RowKind>> kinds_;  // of all_
  std::vector<bool> fails_anyway_;           // the same
  Semantics base_, semantics_;
  Arithmetic working_;
  std::map<std::string, bool> tried_;             // families, and whether the description takes a case
  std::map<std::string, std::uint64_t> refused_;  // cases of them that the call refused
  std::vector<Refutation> refutations_;
  std::map<std::size_t, bool> fails_whatever_;  // of all_, by index: fails_whatever_is_declared()
  Suggestion result_;
};

}  // namespace

CaseSaid ask_case(const Kernel& candidate, const Case& subject, AskedLaws laws) {
  CaseSaid said;
  Trial trial(candidate, subject);
  bool first = true;
  for (const Law& law : judging_laws()) {
    Verdict verdict = ask(law, trial);
    if (first || outweighs(verdict, said.verdict)) said.verdict = std::move(verdict);
    first = false;
    if (said.verdict.kind == VerdictKind::unsupported) return said;
  }
  if (said.verdict.failure == Failure::error) return said;
  said.seen = trial.alternatives_seen();
  said.powers = trial.powers();
  if (laws == AskedLaws::judging) return said;
  for (const Law* law : laws_of(candidate.problem)) {
    Verdict verdict = law->judge == nullptr ? ask(*law, trial) : said.verdict;
    if (verdict.failed() && outweighs(verdict, said.verdict)) said.verdict = std::move(verdict);
  }
  return said;
}

Suggestion suggest(const Kernel& kernel, std::span<const Case> cases, const AskCases& ask) {
  if (kernel.problem == ProblemKind::backward) {
    throw UsageError("suggest: a gradient declares no semantics, legal: kernels of forward problems");
  }
  if (cases.empty()) throw UsageError("suggest: no case, the description takes none of those drawn");
  return Search(kernel, cases, ask).run();
}

}  // namespace flashproof
