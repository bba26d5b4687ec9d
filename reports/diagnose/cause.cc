#include "reports/diagnose/cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "reference/problem/error.h"
#include "reports/diagnose/choose.h"
#include "reports/diagnose/conditions.h"
#include "reports/diagnose/finite_copy.h"
#include "reports/diagnose/fit.h"
#include "reports/diagnose/law_causes.h"
#include "reports/diagnose/traits.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

/// Some 180 hypotheses are held against the same output. A wrong one takes a failing number for right by chance with
/// probability 2^-bits (fit.h); 20 bits in all, and 2 numbers at least, leave less than one in 5,000 for all of them together.
constexpr double kEnoughBits = 20;
constexpr std::uint64_t kEnoughElements = 2;
/// A hypothesis that explains by a wider bound has to do so for as many numbers as this, in most of the failing cases, and with
/// errors that fill its bound to this share: a bound that is much too wide takes anything.
constexpr std::uint64_t kEnoughWidened = 12;
constexpr double kMostCases = 0.7, kFilled = 1.0 / 8;
/// What a larger defect leaves behind looks like many things: of fewer than this share of the failing cases nothing is said with
/// confidence.
constexpr double kConfidentShare = 0.25;

struct Looked {
  std::deque<Observation> failing, passing;
};

/// Sends rows of observations to the learner.
class Units {
 public:
  Units(const Kernel& kernel) : kernel_(kernel) {}

  void add(const Observation& seen, const RowOfPart& at, bool failing, double column) {
    Unit unit{number(seen), failing, row(seen, at)};
    unit.values.push_back(column);
    units_.push_back(std::move(unit));
  }
  std::size_t size() const { return units_.size(); }
  std::optional<Condition> condition(const std::string& noun) const {
    return separating(traits(kernel_.problem), units_, noun);
  }

 private:
  struct Reader {
    std::uint32_t number;
    TraitReader traits;
    std::map<std::pair<Part, std::int64_t>, std::vector<double>> rows = {};
  };
  Reader& reader(const Observation& seen) {
    const auto found = readers_.find(&seen);
    if (found != readers_.end()) return found->second;
    const auto n = static_cast<std::uint32_t>(readers_.size());
    return readers_.emplace(&seen, Reader{n, TraitReader(kernel_, seen.subject().problem)}).first->second;
  }
  std::uint32_t number(const Observation& seen) { return reader(seen).number; }
  const std::vector<double>& row(const Observation& seen, const RowOfPart& at) {
    Reader& r = reader(seen);
    const auto [found, made] = r.rows.try_emplace({at.part, at.row});
    if (made) found->second = r.traits.row(at.part, at.row);
    return found->second;
  }

  const Kernel& kernel_;
  std::map<const Observation*, Reader> readers_;
  std::vector<Unit> units_;
};

constexpr double kNoColumn = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kMostRows = 160;  // of one case, for a condition

/// Every n-th of so many, at most kMostRows of them.
std::int64_t stride_of(std::int64_t rows) { return std::max<std::int64_t>(1, (rows + kMostRows - 1) / kMostRows); }

// Hypotheses ----------------------------------------------------------------------------------------------------------

struct Candidate {
  const Hypothesis* hypothesis = nullptr;
  std::vector<std::optional<Fit>> fits;  // of each failing case; nothing: it does not explain it
  std::uint64_t elements = 0, numbers = 0;
  double bits = 0, fills = 0;
  std::size_t refuted = 0;  // rows, of failing and, where it was asked, of passing cases
  bool asked_passing = false;

  bool explains(std::size_t i) const { return fits[i].has_value(); }
  std::size_t cases(const std::vector<bool>& open) const {
    std::size_t n = 0;
    for (std::size_t i = 0; i < fits.size(); ++i) n += open[i] && explains(i) ? 1 : 0;
    return n;
  }
  void add_up(const std::vector<bool>& open) {
    elements = numbers = 0, bits = fills = 0;
    for (std::size_t i = 0; i < fits.size(); ++i) {
      if (!open[i] || !explains(i)) continue;
      elements += fits[i]->elements, bits += fits[i]->bits;
      numbers += fits[i]->numbers, fills = std::max(fills, fits[i]->fills);
    }
  }
  bool widens() const { return hypothesis->widens; }
  bool enough(const std::vector<bool>& open) const {
    if (!widens()) return elements >= kEnoughElements && bits >= kEnoughBits;
    return numbers >= kEnoughWidened && fills >= kFilled &&
           static_cast<double>(cases(open)) >= kMostCases * static_cast<double>(fits.size());
  }
  /// How it does on cases that pass; asked of the few that may be told.
  void ask_passing(const Looked& looked) {
    if (std::exchange(asked_passing, true) || widens()) return;
    for (const Observation& seen : looked.passing) refuted += fit(*hypothesis, seen).refuted.size();
  }
};

std::vector<Candidate> candidates(const Kernel& kernel, const Looked& looked) {
  std::vector<Candidate> list;
  for (const Hypothesis& h : hypotheses(kernel.problem)) {
    Candidate c;
    c.hypothesis = &h;
    bool any = false;
    for (const Observation& seen : looked.failing) {
      Fit f = fit(h, seen);
      any |= f.explains;
      c.fits.push_back(f.explains ? std::optional(std::move(f)) : std::nullopt);
    }
    if (!any) continue;
    for (const auto& f : c.fits) c.refuted += f ? f->refuted.size() : 0;
    list.push_back(std::move(c));
  }
  return list;
}

/// Where a hypothesis holds and where it would make a difference and does not.
std::string condition_of(const Kernel& kernel, const Candidate& c, const Looked& looked, std::size_t& refuted) {
  Units units(kernel);
  const auto add = [&](const Observation& seen, const std::vector<RowOfPart>& rows, bool failing) {
    const auto n = static_cast<std::int64_t>(rows.size());
    for (std::int64_t i = 0; i < n; i += stride_of(n))
      units.add(seen, rows[static_cast<std::size_t>(i)], failing, kNoColumn);
  };
  refuted = 0;
  for (std::size_t i = 0; i < looked.failing.size(); ++i) {
    if (!c.fits[i]) continue;
    add(looked.failing[i], c.fits[i]->explained, true);
    add(looked.failing[i], c.fits[i]->refuted, false);
    refuted += c.fits[i]->refuted.size();
  }
  for (const Observation& seen : looked.passing) {
    const Fit f = fit(*c.hypothesis, seen);
    add(seen, f.refuted, false);
    refuted += f.refuted.size();
  }
  if (refuted == 0) return "";
  const auto found = units.condition("rows");
  return found ? found->sentence : fmt::format("in some rows: in {} others it would show and does not", refuted);
}

/// Of two that explain the same cases.
bool better(const Candidate& a, const Candidate& b, const std::vector<bool>& open) {
  if (a.cases(open) != b.cases(open)) return a.cases(open) > b.cases(open);
  if (a.widens() != b.widens()) return b.widens();
  if (a.widens()) return a.fills > b.fills;  // the narrowest that does it
  if ((a.refuted == 0) != (b.refuted == 0)) return a.refuted == 0;
  return a.hypothesis->complexity < b.hypothesis->complexity;
}

/// Takes explained cases out of `open`.
std::vector<Cause> by_hypotheses(const Kernel& kernel, const Looked& looked, std::vector<bool>& open) {
  std::vector<Candidate> list = candidates(kernel, looked);
  std::vector<Cause> causes;
  for (;;) {
    std::size_t most = 0;
    for (Candidate& c : list) {
      c.add_up(open);
      if (c.enough(open)) most = std::max(most, c.cases(open));
    }
    const Candidate* best = nullptr;
    for (Candidate& c : list) {
      if (!c.enough(open) || c.cases(open) < std::max<std::size_t>(most, 1)) continue;
      c.ask_passing(looked);
      if (best == nullptr || better(c, *best, open)) best = &c;
    }
    if (best == nullptr) return causes;
    Cause cause;
    cause.id = best->hypothesis->id;
    cause.sentence = best->hypothesis->sentence;
    cause.cases = best->cases(open);
    cause.elements = best->elements;
    cause.confident = static_cast<double>(cause.cases) >= kConfidentShare * static_cast<double>(open.size());
    for (const Candidate& c : list) {
      if (c.hypothesis->id == cause.id || c.widens() != best->widens() || !c.enough(open)) continue;
      bool same = true;
      for (std::size_t i = 0; i < open.size(); ++i) same = same && (!open[i] || !best->explains(i) || c.explains(i));
      const bool equal = best->widens() ? 2 * c.fills >= best->fills
                                        : (c.refuted == 0) == (best->refuted == 0) &&
                                              c.hypothesis->complexity == best->hypothesis->complexity;
      if (!same || !equal || std::ranges::find(cause.others, c.hypothesis->id) != cause.others.end()) continue;
      if (cause.others.empty()) cause.other_sentence = c.hypothesis->sentence;
      cause.others.push_back(c.hypothesis->id);
    }
    if (cause.others.size() > 1) cause.confident = false;  // that is no diagnosis
    std::size_t refuted = 0;
    cause.condition = best->widens() ? "" : condition_of(kernel, *best, looked, refuted);
    for (std::size_t i = open.size(); i-- > 0;) {
      if (!open[i] || !best->explains(i)) continue;
      cause.witness = to_string(looked.failing[i].subject().spec);
      open[i] = false;
    }
    causes.push_back(std::move(cause));
  }
}

// Symptoms ------------------------------------------------------------------------------------------------------------

/// NaN and infinity come of the same mistakes; which of the two a row shows says little.
Symptom group_of(Symptom s) { return s == Symptom::infinite ? Symptom::nan : s; }

/// From the gravest, as far as saying what happened goes.
constexpr std::array kSymptomOrder = {Symptom::unwritten,        Symptom::nan,    Symptom::laundered,
                                      Symptom::finite_for_empty, Symptom::number, Symptom::empty};

struct RowSymptom {
  RowOfPart at;
  Symptom worst = Symptom::none;
  std::uint64_t elements = 0;  // failing ones
  bool mixed = false;          // some columns fail, others pass
  std::uint8_t right = 0;      // Class bits of what passes: a row shows what it could have failed by

  /// Whether a row that passes could have shown the symptom.
  bool could_show(Symptom symptom) const {
    if (symptom == Symptom::laundered) return (right & kNaN) != 0;
    if (symptom == Symptom::finite_for_empty) return (right & kNegInf) != 0;
    return (right & (symptom == Symptom::nan ? kFinite | kNegInf : kFinite)) != 0;
  }
};

/// Is the row given as one that sees nothing: every column 0, or lse = -inf?
bool all_zero(const Observation& seen, Part part, std::int64_t row) {
  if (part == Part::o && seen.symptom(Part::lse, row) == Symptom::empty) return true;
  const Tensor& tensor = seen.output()[part];
  const std::int64_t width = seen.width(part);
  for (std::int64_t c = 0; c < width; ++c)
    if (decode(tensor.format, tensor.bits(row * width + c)) != 0) return false;
  return true;
}

RowSymptom symptom_of(const Observation& seen, Part part, std::int64_t row) {
  RowSymptom r{.at = {part, row}};
  std::uint64_t failing = 0, passing = 0;
  const auto take = [&](Part of, std::int64_t index) {
    const VerdictKind kind = seen.kind(of, index);
    const Symptom s = group_of(seen.symptom(of, index));
    if (kind == VerdictKind::pass) r.right |= class_of(decode(seen.output()[of].format, seen.output()[of].bits(index)));
    if (of != Part::lse) (kind == VerdictKind::fail ? failing : passing) += 1;
    if (kind != VerdictKind::fail) return;
    ++r.elements;
    const auto place = [](Symptom x) { return std::ranges::find(kSymptomOrder, x) - kSymptomOrder.begin(); };
    if (r.worst == Symptom::none || place(s) < place(r.worst)) r.worst = s;
  };
  if (part == Part::o) take(Part::lse, row);
  const std::int64_t width = seen.width(part);
  for (std::int64_t c = 0; c < width; ++c) take(part, row * width + c);
  r.mixed = failing > 0 && passing > 0;
  if (r.worst == Symptom::empty && !all_zero(seen, part, row))
    r.worst = Symptom::number;  // a small number that underflows
  return r;
}

/// Columns of a row that is mixed: which fail with the symptom. All of them are units of their own.
void add_columns(Units& units, const Observation& seen, const RowOfPart& at, Symptom symptom) {
  const std::int64_t width = seen.width(at.part);
  const auto* merge = std::get_if<MergeProblem>(&seen.subject().problem);
  const std::int64_t block = merge != nullptr ? merge->o.shape[2] : width;  // concat: columns of one state
  for (std::int64_t c = 0; c < width; ++c) {
    const std::int64_t index = at.row * width + c;
    const bool fails = seen.kind(at.part, index) == VerdictKind::fail;
    if (fails && group_of(seen.symptom(at.part, index)) != symptom) continue;
    if (fails || seen.kind(at.part, index) == VerdictKind::pass)
      units.add(seen, at, fails, static_cast<double>(c % block));
  }
}

class Symptoms {
 public:
  Symptoms(const Kernel& kernel, const Looked& looked) : kernel_(kernel), looked_(looked) {
    for (const auto* cases : {&looked.failing, &looked.passing})
      for (const Observation& seen : *cases) {
        if (!seen.error().empty()) continue;
        for (const Part part : seen.parts()) {
          if (part == Part::lse) continue;
          for (std::int64_t row = 0; row < seen.rows(part); ++row) rows_[&seen].push_back(symptom_of(seen, part, row));
        }
      }
  }

  static bool shows(const Observation& seen, Symptom symptom) {
    for (const Part part : seen.parts())
      for (std::int64_t i = 0; i < seen.rows(part) * seen.width(part); ++i)
        if (group_of(seen.symptom(part, i)) == symptom) return true;
    return false;
  }

  /// `open`: the failing cases that nothing explains yet.
  std::vector<Cause> causes(const std::vector<bool>& open) {
    std::vector<Cause> list;
    for (const Symptom symptom : kSymptomOrder) {
      if (auto cause = cause_of(symptom, open)) list.push_back(std::move(*cause));
    }
    return list;
  }

 private:
  std::optional<Cause> cause_of(Symptom symptom, const std::vector<bool>& open) {
    Cause cause;
    bool mixed = false;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (!open[i]) continue;
      bool shown = false;
      for (const RowSymptom& r : rows_[&looked_.failing[i]]) {
        if (r.worst != symptom) continue;
        shown = true;
        mixed |= r.mixed;
        cause.elements += r.elements;
      }
      if (!shown) continue;
      ++cause.cases;
      if (cause.witness.empty()) cause.witness = to_string(looked_.failing[i].subject().spec);
    }
    if (cause.cases == 0) return std::nullopt;
    cause.id = name(symptom);
    cause.sentence = sentence(symptom);
    // What is not written is a matter of columns first, where a row is written in part.
    const bool by_column = mixed && symptom == Symptom::unwritten;
    auto condition = condition_of(symptom, open, by_column);
    if (!condition && mixed) condition = condition_of(symptom, open, !by_column);
    // That a row sees nothing is what the symptom says already.
    if (symptom == Symptom::finite_for_empty && condition && condition->id.find("no_visible_key") == 0)
      condition.reset();
    if (condition) {
      cause.id += ":" + condition->id;
      cause.condition = condition->sentence;
      cause.confident = true;
    }
    // These two say what happened by themselves.
    cause.confident |= symptom == Symptom::unwritten || symptom == Symptom::finite_for_empty;
    return cause;
  }

  std::optional<Condition> condition_of(Symptom symptom, const std::vector<bool>& open, bool mixed) {
    Units units(kernel_);
    const auto add = [&](const Observation& seen, bool failing_case) {
      const auto& rows = rows_[&seen];
      std::int64_t failing = 0, passing = 0;
      for (const RowSymptom& r : rows) (r.worst == symptom ? failing : passing) += 1;
      const std::int64_t each_failing = stride_of(failing * (mixed ? 8 : 1)),
                         each_passing = stride_of(passing * (mixed ? 8 : 1));
      std::int64_t nf = 0, np = 0;
      for (const RowSymptom& r : rows) {
        const bool fails = r.worst == symptom;
        if (!fails && (r.worst != Symptom::none || !r.could_show(symptom))) continue;
        if (fails && !failing_case) continue;
        const bool taken = fails ? nf++ % each_failing == 0 : np++ % each_passing == 0;
        if (!taken) continue;
        if (mixed)
          add_columns(units, seen, r.at, symptom);
        else
          units.add(seen, r.at, fails, kNoColumn);
      }
    };
    for (std::size_t i = 0; i < looked_.failing.size(); ++i) add(looked_.failing[i], open[i]);
    for (const Observation& seen : looked_.passing) add(seen, false);
    return units.condition(mixed ? "elements" : "rows");
  }

  const Kernel& kernel_;
  const Looked& looked_;
  std::map<const Observation*, std::vector<RowSymptom>> rows_;
};

/// NaN and infinities in the inputs hide what a kernel does: with ordinary numbers in their place it is right, or wrong by numbers
/// that a hypothesis explains.
std::vector<Cause> by_cleaning(const Kernel& kernel, const Looked& looked, std::vector<bool>& open, Executor executor) {
  static constexpr struct {
    Cleaned cleaned;
    std::string_view id, what;
  } kLeaks[] = {{Cleaned::values, "leak.values", "v of a key, or o of a state, that does not count"},
                {Cleaned::keys, "leak.keys", "k of a key that does not count"},
                {Cleaned::both, "leak.both", "k and v of keys that do not count"}};
  std::vector<Cause> causes;
  Looked again;
  std::vector<std::size_t> of;
  RunOptions options;
  options.executor = executor;
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (!open[i] || !Symptoms::shows(looked.failing[i], Symptom::nan)) continue;
    for (const auto& leak : kLeaks) {
      auto copy = finite_copy(looked.failing[i].subject(), leak.cleaned);
      if (!copy) continue;
      again.failing.emplace_back(kernel, std::move(*copy), options);
      if (again.failing.back().failed()) {
        if (leak.cleaned == Cleaned::both)
          of.push_back(i);
        else
          again.failing.pop_back();
        continue;
      }
      again.failing.pop_back();
      auto cause = std::ranges::find(causes, leak.id, &Cause::id);
      if (cause == causes.end()) {
        causes.push_back(
            {.id = std::string(leak.id),
             .sentence = fmt::format(
                 "NaN or infinity in {} reaches the output: with ordinary numbers there it is right", leak.what),
             .witness = to_string(looked.failing[i].subject().spec),
             .confident = true});
        cause = causes.end() - 1;
      }
      ++cause->cases;
      cause->elements += looked.failing[i].failing();
      open[i] = false;
      break;
    }
  }
  if (again.failing.empty()) return causes;
  std::vector<bool> wrong(again.failing.size(), true);
  for (Cause& cause : by_hypotheses(kernel, again, wrong)) {
    cause.condition = "shown with ordinary numbers in place of NaN and infinity" +
                      (cause.condition.empty() ? "" : "; " + cause.condition);
    causes.push_back(std::move(cause));
  }
  for (std::size_t n = 0; n < of.size(); ++n) open[of[n]] = open[of[n]] && wrong[n];
  return causes;
}

/// What the executor stopped the kernel for.
std::vector<Cause> by_errors(const Looked& looked, std::vector<bool>& open) {
  std::vector<Cause> causes;
  for (std::size_t i = 0; i < looked.failing.size(); ++i) {
    const Observation& seen = looked.failing[i];
    if (seen.error().empty()) continue;
    open[i] = false;
    if (causes.empty()) {
      causes.push_back({.id = "error",
                        .sentence = "the kernel is stopped: " + one_line(seen.error()),
                        .witness = to_string(seen.subject().spec),
                        .confident = true});
    }
    ++causes[0].cases;
  }
  return causes;
}

/// `passing`: where those go that do not fail when they are run again; null: they stay.
void look(const Kernel& kernel, std::deque<Case> cases, Executor executor, std::deque<Observation>& to,
          std::deque<Observation>* passing = nullptr) {
  RunOptions options;
  options.executor = executor;
  for (Case& c : cases) {
    try {
      const Observation& seen = to.emplace_back(kernel, std::move(c), options);
      if (passing == nullptr || seen.failed()) continue;
      passing->emplace_back(kernel, seen.subject(), seen.output());
      to.pop_back();
    } catch (const UsageError&) {  // refused when it was called
    }
  }
}

/// Few failing cases tell little: the next seeds of the same recipes, for as long as there are too few that fail.
void look_at_neighbours(const Kernel& kernel, Executor executor, Looked& looked) {
  constexpr std::uint64_t kSeeds = 48;
  constexpr std::size_t kFew = 4;
  const std::size_t given = looked.failing.size();
  if (given == 0 || given >= kFew) return;
  for (std::uint64_t step = 1; step <= kSeeds / given && looked.failing.size() < kMostFailing; ++step) {
    for (std::size_t i = 0; i < given; ++i) {
      CaseSpec spec = looked.failing[i].subject().spec;
      spec.seed += step;
      look(kernel, choose_cases(kernel, std::span(&spec, 1), 1), executor, looked.failing, &looked.passing);
    }
  }
}

}  // namespace

std::vector<Cause> diagnose(const Kernel& kernel, std::span<const CaseSpec> failing, std::span<const CaseSpec> passing,
                            Executor executor) {
  Looked looked;
  look(kernel, choose_cases(kernel, failing, kMostFailing), executor, looked.failing, &looked.passing);
  look(kernel, choose_cases(kernel, passing, kMostPassing), executor, looked.passing);
  look_at_neighbours(kernel, executor, looked);
  std::vector<bool> open;
  for (const Observation& seen : looked.failing) open.push_back(seen.failed());

  std::vector<Cause> causes = by_errors(looked, open);
  for (Cause& cause : by_hypotheses(kernel, looked, open)) causes.push_back(std::move(cause));
  for (Cause& cause : by_cleaning(kernel, looked, open, executor)) causes.push_back(std::move(cause));
  std::uint64_t explained = 0;
  for (const Cause& cause : causes) explained += cause.cases;
  for (Cause& cause : Symptoms(kernel, looked).causes(open)) {
    // What is left beside causes that explain most may be the same mistakes, seen through an overflow.
    if (2 * explained >= open.size() && explained > 0 && cause.id.find("unwritten") != 0) cause.confident = false;
    causes.push_back(std::move(cause));
  }
  for (Cause& cause : causes) {
    cause.failing_cases = looked.failing.size();
    cause.confident =
        cause.confident && static_cast<double>(cause.cases) >= kConfidentShare * static_cast<double>(open.size());
  }
  const bool confident = std::ranges::any_of(causes, &Cause::confident);
  if (!confident) {
    // Where nothing fails, larger cases say more of batches and offsets than the smallest ones.
    if (looked.failing.empty())
      look(kernel, choose_cases(kernel, passing, kMostPassing, true), executor, looked.passing);
    for (Cause& cause : by_laws(kernel, looked.failing, looked.passing, executor)) {
      cause.failing_cases = looked.failing.size();
      causes.push_back(std::move(cause));
    }
  }
  std::ranges::stable_sort(causes, [](const Cause& a, const Cause& b) {
    return a.confident != b.confident ? a.confident : a.cases > b.cases;
  });
  return causes;
}

}  // namespace flashproof
