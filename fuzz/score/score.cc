#include "fuzz/score/score.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "fuzz/score/screen.h"
#include "kernels/simt/cpu/schedule.h"
#include "properties/laws/support/compare.h"
#include "reference/oracle/oracle.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

/// Of two failures the more severe stays; what is known of an element goes with its failure.
void fail(Score& score, std::string what, Verdict verdict) {
  if (score.failed() && !outweighs(verdict, score.verdict)) return;
  score.term.clear();
  score.ratio = -1;
  score.what = std::move(what);
  score.verdict = std::move(verdict);
}

/// What a law says beside what was found before it.
void add(Score& score, std::string_view law, Verdict verdict) {
  if (!verdict.failed()) return;
  std::string what = std::string(law) + ":" + std::string(name(verdict.failure));
  fail(score, std::move(what), std::move(verdict));
}

/// Runs `body`; what the executor found, and a bound that contradicts itself, are failures of their own. A case that the
/// kernel does not take leaves Score::ran false.
template <class Body>
Score guarded(Body body) {
  Score score;
  try {
    body(score);
  } catch (const UsageError& refused) {
    if (!score.ran) return score;  // the kernel does not take the case
    // Not of the case: the kernel had run, so the truth or the bound of a valid problem was refused.
    fail(score, "harness", {VerdictKind::fail, Failure::error, refused.what()});
  } catch (const simt::Fault& fault) {
    fail(score, "error", {VerdictKind::fail, Failure::error, fault.what()});
  } catch (const KernelFault& fault) {
    fail(score, "error", {VerdictKind::fail, Failure::error, fault.what()});
  } catch (const std::logic_error& broken) {
    fail(score, "harness", {VerdictKind::fail, Failure::error, broken.what()});
  }
  score.ran = score.ran || score.failed();  // what the executor found, it found in a run
  return score;
}

/// judge.h climbs until an element is decided; this one only as far as the options say. A row that has begun to climb may go on: o and lse of a
/// row ask for the same balls.
NextTier limited(Oracle& oracle, const ScoreOptions& options, std::set<std::int64_t>& climbed) {
  return [&oracle, &climbed, &options](std::int64_t row, int level) -> const RowBalls* {
    const bool may = climbed.size() < options.most_rows || climbed.contains(row);
    if (level > options.highest_level || !may) return nullptr;
    climbed.insert(row);
    return oracle.row(row, level);
  };
}

void explain(Score& score, const Output& output, const Truth& truth, const Bound& bound, const Judgement& judgement,
             const Contract& contract) {
  for (const Part part : {Part::o, Part::lse}) {
    for (std::int64_t i = 0; i < count(truth, part); ++i) {
      const Element e = judged_element(output, truth, bound, judgement, part, i);
      const Decision decision = decide(e, contract);
      if (!decision.failed() || decision.failure != judgement.worst.failure) continue;
      const double ratio = class_of(e.computed) == kFinite && (e.truth.classes & kFinite) != 0
                               ? term_ratio(e, bound_with_rounding(e.format, e.truth, e.bound))
                               : -1;
      if (!score.term.empty() && ratio <= score.ratio) continue;
      score.ratio = ratio;
      score.term = ratio >= 0 ? name(largest_term(e)) : name(part);
      score.verdict.detail = describe(e);
    }
  }
}

void put_bests(Score& score, const TermBests& bests) {
  for (std::size_t term = 0; term < kTerms; ++term) {
    const TermBest& best = bests[term];
    if (best.share > 0) {
      score.terms.push_back({name(static_cast<Term>(term)), best.ratio, best.row, best.column, best.share});
    }
  }
}

void ask_judging_laws(Score& score, const Kernel& kernel, const Case& subject, const Output& output, const Bound& bound,
                      const ScoreOptions& options) {
  CaseTruth own(subject);
  Oracle& oracle = (options.truth != nullptr ? *options.truth : own).oracle();
  const Truth& truth = oracle.truth();
  std::set<std::int64_t> climbed;
  const auto [judgement, found] = screen(output, truth, bound, kernel.contract, limited(oracle, options, climbed));
  score.climbed = climbed.size();
  if (judgement.worst.failed()) {
    fail(score, std::string(name(judgement.worst.failure)), judgement.worst);
    explain(score, output, truth, bound, judgement, kernel.contract);
  }
  if (options.bests) return put_bests(score, term_bests(output, truth, bound, judgement, kernel.contract));
  const Evaluation evaluation{kernel, subject, output, truth, bound, judgement};
  for (const Law& law : judging_laws()) {
    if (!judgement.worst.failed()) add(score, law.name, law.judge(evaluation));
  }
  for (std::size_t term = 0; term < kTerms; ++term) {
    const Peak& peak = found[term];
    if (peak.ratio >= 0) score.terms.push_back({name(static_cast<Term>(term)), peak.ratio, peak.row, peak.column});
  }
}

}  // namespace

double Score::worst() const {
  double worst = -1;
  for (const TermRatio& t : terms) worst = std::max(worst, t.ratio);
  return worst;
}

std::size_t term_slot(std::string_view term) {
  for (std::size_t i = 0; i < kForwardTerms; ++i) {
    if (name(static_cast<Term>(i)) == term) return i;
  }
  for (std::size_t i = 0; i < std::size(kGradientParts); ++i) {
    if (name(kGradientParts[i]) == term) return kForwardTerms + i;
  }
  throw std::logic_error("no such term: " + std::string(term));
}

namespace {

/// Every law of gradients; the trial takes its case.
void ask_gradient_laws(Score& score, Trial& trial, bool bests) {
  const Trial::Judged& by = trial.judged().front();
  score.ran = true;
  if (by.judgement.worst.failed()) fail(score, std::string(name(by.judgement.worst.failure)), by.judgement.worst);
  if (bests) {
    return put_bests(score, term_bests(trial.output(), trial.truth(), by.bound, by.judgement, trial.contract()));
  }
  for (const Law& law : judging_laws()) {
    if (by.judgement.worst.failed()) break;
    add(score, law.name,
        law.judge({trial.kernel(), trial.subject(), trial.output(), trial.truth(), by.bound, by.judgement}));
  }
  for (const Part part : kGradientParts) {
    const ErrorWitness& w = by.judgement[part].witness;
    if (!std::isfinite(w.ratio) || w.ratio < 0) continue;
    const auto width = trial.truth().width_of(part), index = static_cast<std::int64_t>(w.index);
    score.terms.push_back({name(part), w.ratio, index / width, index % width});
  }
  for (const Law* law : laws_of(ProblemKind::backward)) {
    if (law->judge == nullptr) add(score, law->name, ask(*law, trial));
  }
}

}  // namespace

Score score(const Kernel& kernel, const Case& subject, const ScoreOptions& options) {
  return guarded([&](Score& score) {
    Trial trial(kernel, subject, options.truth, options.run);
    if (!trial.refusal(subject.problem).empty()) return;
    if (kernel.problem == ProblemKind::backward) return ask_gradient_laws(score, trial, options.bests);
    const Bound bound = compute_bound(subject.problem, kernel.arithmetic);
    const Output& output = trial.output();
    score.ran = true;
    ask_judging_laws(score, kernel, subject, output, bound, options);
    if (options.law != nullptr) add(score, options.law->name, ask(*options.law, trial));
  });
}

Score score_output(const Kernel& kernel, const Case& subject, const Output& output) {
  return guarded([&](Score& score) {
    const Bound bound = compute_bound(subject.problem, kernel.arithmetic);
    score.ran = true;
    ask_judging_laws(score, kernel, subject, output, bound, {});
  });
}

Score score_pair(const Kernel& a, const Kernel& b, const Case& subject, const RunOptions& options) {
  return guarded([&](Score& score) {
    Trial first(a, subject, nullptr, options), second(b, subject, nullptr, options);
    if (!first.refusal(subject.problem).empty() || !second.refusal(subject.problem).empty()) return;
    const Output& x = first.output();
    const Output& y = second.output();
    score.ran = true;
    const Reading one(x, first.bound(), a.contract), other(y, second.bound(), b.contract);
    Comparison tally;
    tally.same(one, other, std::string(a.id) + " against " + std::string(b.id));
    const Verdict verdict = tally.verdict("nothing to compare");
    if (verdict.failed()) fail(score, "differ:" + std::string(name(verdict.failure)), verdict);
    for (const Part part : {Part::o, Part::lse}) {
      TermRatio worst{part == Part::o ? name(Term::o_output) : name(Term::lse_output), -1};
      for (std::int64_t row = 0; row < one.rows(); ++row) {
        for (std::int64_t column = 0; column < (part == Part::o ? one.width() : 1); ++column) {
          if (one.standing(part, row, column) != Standing::number ||
              other.standing(part, row, column) != Standing::number)
            continue;
          const Measured m = one.at(part, row, column) - other.at(part, row, column);
          const double ratio = m.radius > 0 && std::isfinite(m.radius) ? std::fabs(m.value) / m.radius : -1;
          if (ratio > worst.ratio) worst = {worst.term, ratio, row, column};
        }
      }
      // The two bounds add up, so that no single term of one of them is to blame.
      if (worst.ratio >= 0) score.terms.push_back(worst);
    }
  });
}

}  // namespace flashproof
