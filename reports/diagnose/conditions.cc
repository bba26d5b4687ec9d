#include "reports/diagnose/conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace flashproof {
namespace {

/// True of every failing unit, by construction.
struct Predicate {
  std::size_t trait = 0;
  std::string text;
  std::vector<bool> survivors;  // of the passing units: which of them it holds for, too
  std::size_t surviving = 0;
  bool negated = false;  // of a yes/no trait
};

constexpr double kModuli[] = {2, 4, 8, 16, 32, 64, 128, 256};

std::string number(double x) { return fmt::format("{:.6g}", x); }

class Learner {
 public:
  Learner(const std::vector<Trait>& traits, const std::vector<Unit>& units) : traits_(traits) {
    for (const Unit& unit : units) (unit.failing ? failing_ : passing_).push_back(&unit);
    for (std::size_t f = 0; f < traits.size(); ++f) {
      alternatives_.push_back(alternatives(f));
      add_trait(f);
    }
  }

  std::optional<Condition> learn(const std::string& noun) const {
    if (failing_.empty() || passing_.empty()) return std::nullopt;
    for (const Predicate& p : predicates_) {
      if (p.surviving == 0 && telling({p.trait})) return condition({&p}, noun);
    }
    for (std::size_t a = 0; a < predicates_.size(); ++a) {
      for (std::size_t b = a + 1; b < predicates_.size(); ++b) {
        const Predicate &first = predicates_[a], &second = predicates_[b];
        if (first.surviving == 0 || second.surviving == 0 || meet(first, second)) continue;
        if (telling({first.trait, second.trait})) return condition({&first, &second}, noun);
      }
    }
    return either(noun);
  }

 private:
  /// A predicate that no passing unit fulfils, and the failing ones that it covers.
  struct Rule {
    std::size_t trait = 0;
    std::string text;
    std::vector<bool> covers;
    std::size_t covered = 0;
  };
  template <class Holds>
  void add_rule(std::vector<Rule>& rules, std::size_t trait, Holds holds, bool from) const {
    Rule rule{trait, {}, std::vector<bool>(failing_.size()), 0};
    double edge = from ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < failing_.size(); ++i) {
      const double x = failing_[i]->values[trait];
      if (std::isnan(x) || !holds(x)) continue;
      rule.covers[i] = true;
      ++rule.covered;
      edge = from ? std::min(edge, x) : std::max(edge, x);
    }
    if (rule.covered == 0) return;
    const bool yes_no = traits_[trait].kind == Trait::Kind::yes_no;
    rule.text = yes_no ? traits_[trait].phrase
                       : fmt::format("{} is {} or {}", traits_[trait].phrase, number(edge), from ? "more" : "less");
    rules.push_back(std::move(rule));
  }

  /// Two rules one of which holds for every failing unit.
  std::optional<Condition> either(const std::string& noun) const {
    std::vector<Rule> rules;
    for (std::size_t f = 0; f < traits_.size(); ++f) {
      double least = std::numeric_limits<double>::infinity(), most = -least;
      for (const Unit* unit : passing_) {
        const double x = unit->values[f];
        if (!std::isnan(x)) least = std::min(least, x), most = std::max(most, x);
      }
      if (least > most) continue;
      add_rule(rules, f, [=](double x) { return x > most; }, true);
      if (traits_[f].kind != Trait::Kind::yes_no) add_rule(rules, f, [=](double x) { return x < least; }, false);
    }
    for (std::size_t a = 0; a < rules.size(); ++a) {
      for (std::size_t b = a + 1; b < rules.size(); ++b) {
        bool all = true;
        for (std::size_t i = 0; all && i < failing_.size(); ++i) all = rules[a].covers[i] || rules[b].covers[i];
        if (!all || !telling({rules[a].trait, rules[b].trait})) continue;
        Condition c;
        c.id = traits_[rules[a].trait].id;
        if (rules[b].trait != rules[a].trait) c.id += "+" + traits_[rules[b].trait].id;
        say(c, rules[a].text + " or " + rules[b].text, noun);
        return c;
      }
    }
    return std::nullopt;
  }

  /// How many predicates of this trait could have been chosen, whatever the labels are.
  double alternatives(std::size_t trait) const {
    if (traits_[trait].kind == Trait::Kind::yes_no) return 2;
    std::set<double> values;
    for (const auto* units : {&failing_, &passing_})
      for (const Unit* unit : *units)
        if (!std::isnan(unit->values[trait])) values.insert(unit->values[trait]);
    const auto n = static_cast<double>(values.size());
    double all = 2 * n;  // of a threshold its place and its side
    if (traits_[trait].kind == Trait::Kind::count) {
      all += n;                                                              // "is x"
      for (const double modulus : kModuli) all += 2 * std::min(modulus, n);  // of each residue: it is, it is not
    }
    return std::max(all, 1.0);
  }

  /// False: it holds for every passing unit, too.
  template <class Holds>
  bool add(std::size_t trait, std::string text, Holds holds) {
    Predicate p{trait, std::move(text), std::vector<bool>(passing_.size()), 0};
    for (std::size_t i = 0; i < passing_.size(); ++i) {
      const double x = passing_[i]->values[trait];
      p.survivors[i] = !std::isnan(x) && holds(x);
      p.surviving += p.survivors[i] ? 1 : 0;
    }
    if (p.surviving == passing_.size()) return false;
    predicates_.push_back(std::move(p));
    return true;
  }

  void add_trait(std::size_t f) {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const Unit* unit : failing_) {
      const double x = unit->values[f];
      if (std::isnan(x)) return;
      least = std::min(least, x), most = std::max(most, x);
    }
    if (failing_.empty()) return;
    const std::string& phrase = traits_[f].phrase;
    if (traits_[f].kind == Trait::Kind::yes_no) {
      if (least != most) return;
      const bool negated = least == 0;
      if (add(f, (negated ? "it is not the case that " : "") + phrase, [=](double x) { return x == least; }))
        predicates_.back().negated = negated;
      return;
    }
    const auto from = [=](double x) { return x >= least; };
    const auto up_to = [=](double x) { return x <= most; };
    if (least == most && traits_[f].kind == Trait::Kind::count)
      add(f, fmt::format("{} is {}", phrase, number(least)), [=](double x) { return x == least; });
    add(f, fmt::format("{} is {} or more", phrase, number(least)), from);
    add(f, fmt::format("{} is {} or less", phrase, number(most)), up_to);
    if (traits_[f].kind == Trait::Kind::count) add_residues(f, phrase);
  }

  void add_residues(std::size_t f, const std::string& phrase) {
    for (const double n : kModuli) {
      const double first = std::fmod(failing_[0]->values[f], n);
      bool same = true, none = true;
      for (const Unit* unit : failing_) {
        const double r = std::fmod(unit->values[f], n);
        same = same && r == first;
        none = none && r != 0;
      }
      if (same)
        add(f, fmt::format("{} mod {} = {}", phrase, n, first), [=](double x) { return std::fmod(x, n) == first; });
      if (none) add(f, fmt::format("{} mod {} is not 0", phrase, n), [=](double x) { return std::fmod(x, n) != 0; });
    }
  }

  static bool meet(const Predicate& a, const Predicate& b) {
    for (std::size_t i = 0; i < a.survivors.size(); ++i)
      if (a.survivors[i] && b.survivors[i]) return true;
    return false;
  }

  static double log2_ways(double n, double m) {
    return (std::lgamma(n + m + 1) - std::lgamma(n + 1) - std::lgamma(m + 1)) / std::log(2.0);
  }

  /// Which cases fail, and in each of them which of its different units.
  bool telling(const std::vector<std::size_t>& traits) const {
    using Values = std::pair<double, double>;
    std::map<std::uint32_t, std::pair<std::set<Values>, std::set<Values>>> cases;
    const auto take = [&](const std::vector<const Unit*>& units, bool failing) {
      for (const Unit* unit : units) {
        auto& [fails, passes] = cases[unit->case_number];
        (failing ? fails : passes).emplace(unit->values[traits.front()], unit->values[traits.back()]);
      }
    };
    take(failing_, true);
    take(passing_, false);
    double failing_cases = 0, ways = 0;
    for (const auto& [number, sides] : cases) {
      if (sides.first.empty()) continue;
      ++failing_cases;
      ways += log2_ways(static_cast<double>(sides.first.size()), static_cast<double>(sides.second.size()));
    }
    ways += log2_ways(failing_cases, static_cast<double>(cases.size()) - failing_cases);
    double chosen_of = traits.size() == 2 ? -1 : 0;  // the order of two does not count
    for (const std::size_t f : traits) chosen_of += std::log2(static_cast<double>(traits_.size()) * alternatives_[f]);
    return ways >= chosen_of + std::log2(100.0);
  }

  Condition condition(const std::vector<const Predicate*>& held, const std::string& noun) const {
    Condition c;
    std::string text;
    for (const Predicate* p : held) c.id += (c.id.empty() ? "" : "+") + traits_[p->trait].id;
    for (const bool negated : {false, true}) {  // "it is not the case that A and B" would be of both
      for (const Predicate* p : held)
        if (p->negated == negated) text += (text.empty() ? "" : " and ") + p->text;
    }
    say(c, text, noun);
    return c;
  }
  void say(Condition& c, const std::string& text, const std::string& noun) const {
    c.failing = failing_.size(), c.passing = passing_.size();
    c.sentence = fmt::format("only where {} ({} of {} failing {}, 0 of {} passing)", text, c.failing, c.failing, noun,
                             c.passing);
  }

  const std::vector<Trait>& traits_;
  std::vector<const Unit*> failing_, passing_;
  std::vector<Predicate> predicates_;
  std::vector<double> alternatives_;  // by trait
};

}  // namespace

std::optional<Condition> separating(const std::vector<Trait>& traits, const std::vector<Unit>& units,
                                    const std::string& noun) {
  return Learner(traits, units).learn(noun);
}

}  // namespace flashproof
