// The arithmetic: candidates in the order of how wide their bounds are. The first under which every case is explained and a run would pass.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "properties/laws/law.h"
#include "reference/error/semantics/semantics_json.h"
#include "reference/problem/fields.h"
#include "reports/suggest/candidates.h"
#include "reports/suggest/search.h"
#include "reports/suggest/special_rows.h"

namespace flashproof {
namespace {

constexpr std::size_t kFirstCases = 40;  // under which most arithmetics are ruled out
constexpr std::size_t kWidthCases = 24;  // by which they are put in order
constexpr std::size_t kAtOnce = 8;       // that are asked about all cases together

std::int64_t size_of(const Case& one) {
  std::int64_t sum = 0;
  std::visit([&](const auto& p) { for_each_tensor(p, [&](const Field&, const Tensor& t) { sum += t.elements(); }); },
             one.problem);
  return sum;
}

/// Not one with a field changed.
bool is_preset(const ArithmeticCandidate& candidate) { return candidate.json.front() == '"'; }

/// Of an arithmetic that explained every output.
struct Refutation {
  Case refuting;
  Verdict verdict;
};

class ArithmeticSearch {
 public:
  ArithmeticSearch(const Search& search, const ChosenSemantics& chosen, Suggestion& result)
      : search_(search), chosen_(chosen), result_(result) {}

  void run() {
    std::vector<ArithmeticCandidate> list = arithmetic_candidates(search_.kernel.problem, search_.kernel.formats[0]);
    sort_by_width(list, std::span(search_.cases).first(std::min(search_.cases.size(), kWidthCases)));
    const std::size_t step = std::max<std::size_t>(1, search_.cases.size() / kFirstCases);
    std::vector<Case> first;
    for (std::size_t i = 0; i < search_.cases.size(); i += step) first.push_back(search_.cases[i]);
    std::vector<Kernel> kernels;
    kernels.reserve(list.size());
    for (const ArithmeticCandidate& one : list) kernels.push_back(search_.candidate(chosen_.semantics, one.arithmetic));
    const std::vector<Said> quick = search_.judge(kernels, first);
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (failures(quick[i]) == 0) left.push_back(i);
    }
    for (std::size_t begin = 0; begin < left.size() && !result_.found; begin += kAtOnce) {
      const std::size_t end = std::min(left.size(), begin + kAtOnce);
      std::vector<Kernel> some;
      for (std::size_t i = begin; i < end; ++i) some.push_back(kernels[left[i]]);
      const std::vector<Said> said = search_.judge(some, search_.cases);
      for (std::size_t i = 0; i < some.size() && !result_.found; ++i) consider(some[i], list[left[begin + i]], said[i]);
    }
    result_.semantics = semantics_json(chosen_.semantics, search_.kernel.problem);
    if (!result_.found && result_.arithmetic.empty()) tell_nearest(list, quick);
  }

 private:
  void consider(const Kernel& kernel, const ArithmeticCandidate& declared, const Said& said) {
    // A wide bound explains much of what is wrong: the nearest is one that a kernel is known to have.
    const bool nearer =
        is_preset(declared) && (result_.arithmetic.empty() || failures(said) < result_.unexplained.size());
    if (failures(said) == 0) {
      RunDecisions decisions;
      for (const auto& [family, described] : search_.offered) decisions.offer(family, described);
      for (const auto& [family, cases] : search_.refused) decisions.refuse(family, cases);
      for (std::size_t i = 0; i < said.size(); ++i) {
        if (search_.cases[i].spec.keys.contains(kPlanted)) continue;  // no draw of the family
        if (!said[i].powers.empty()) decisions.add(search_.cases[i].spec, said[i].seen, said[i].powers);
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
    const Said said = search_.ask(std::span(&kernel, 1), search_.cases, AskedLaws::all).front();
    for (std::size_t i = 0; i < said.size(); ++i) {
      if (!said[i].verdict.failed() || fails_whatever_is_declared(i, said[i].verdict)) continue;
      refutations_.push_back({search_.cases[i], said[i].verdict});
      return true;
    }
    return false;
  }

  bool fails(const Kernel& kernel, const Case& one) const {
    return search_.ask(std::span(&kernel, 1), std::span(&one, 1), AskedLaws::all).front().front().verdict.failed();
  }

  /// A promise that the kernel breaks, or what no bound excuses.
  bool fails_whatever_is_declared(std::size_t i, const Verdict& verdict) {
    const auto [at, is_new] = fails_whatever_.try_emplace(i, false);
    if (!is_new) return at->second;
    at->second = fails(search_.candidate(chosen_.semantics, chosen_.arithmetic), search_.cases[i]);
    if (at->second)
      result_.notes.push_back(
          fmt::format("{} fails whatever is declared: {}", to_string(search_.cases[i].spec), verdict.detail));
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
    tell_unexplained(
        search_.judge(std::vector{search_.candidate(chosen_.semantics, list[best].arithmetic)}, search_.cases).front());
  }

  void tell_unexplained(const Said& said) {
    std::vector<std::pair<std::int64_t, std::size_t>> order;
    for (std::size_t i = 0; i < said.size(); ++i) {
      if (said[i].verdict.failed()) order.emplace_back(size_of(search_.cases[i]), i);
    }
    std::ranges::sort(order);
    result_.unexplained.clear();
    for (const auto& [size, i] : order) result_.unexplained.push_back({search_.cases[i].spec, said[i].verdict});
  }

  const Search& search_;
  const ChosenSemantics& chosen_;
  Suggestion& result_;
  std::vector<Refutation> refutations_;
  std::map<std::size_t, bool> fails_whatever_;  // of the cases, by index: fails_whatever_is_declared()
};

}  // namespace

void choose_arithmetic(const Search& search, const ChosenSemantics& chosen, Suggestion& result) {
  ArithmeticSearch(search, chosen, result).run();
}

}  // namespace flashproof
