#include "properties/driver/kernel_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "properties/driver/now_running.h"
#include "properties/shrink/brief.h"
#include "properties/shrink/shrink.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/error.h"
#include "reference/system/shown_text.h"
#include "reference/system/text.h"

namespace flashproof {

std::filesystem::path witness_path(const PropertyOptions& options, const PropertyResult& result) {
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error) throw InfrastructureError("--out " + quote(options.out.string()) + ": " + error.message());
  return options.out / (std::string(result.kernel) + "." + std::string(result.law) + ".safetensors");
}

namespace {

/// Of a law whose promise the kernel makes. A law that judges and says nothing of the cases that the kernel took has no bound for them:
/// nothing was asked. Families that were chosen need not hold what a relating law asks about.
void require_promise(PropertyResult& result, bool judges, bool all_families) {
  const bool was_asked = result.executed() > 0 || (result.taken > 0 && (judges || all_families));
  if (was_asked && result.decided() == 0) {
    result.undecided = "it decided no case";
  } else if (std::string why = undecided_promise(result.law, result.power); all_families && !why.empty()) {
    result.undecided = std::move(why);
  }
}

/// The truth does not tell whether such a case is right.
void require_conclusive(PropertyResult& result) {
  const std::uint64_t open = result.counts[static_cast<std::size_t>(VerdictKind::inconclusive)];
  if (open > 0) result.undecided = fmt::format("{} of its cases {} inconclusive", open, open == 1 ? "is" : "are");
}

/// Whether a run that was stopped says of this law no more than that it was not asked. One that promises nothing may have nothing
/// to say of this kernel: that is so where most of the families had a case of it.
bool left_unasked(const PropertyResult& result, const Law& law, const Kernel& kernel, std::size_t families) {
  if (result.failure || result.executed() > 0) return false;
  if (result.by_family.empty()) return true;
  if (law.is_promised(kernel.problem, kernel.contract)) return result.by_family.size() < families;
  return law.promised == nullptr && 2 * result.by_family.size() < families;
}

std::string keep_witness(const PropertyOptions& options, const Case& c, const PropertyResult& result,
                         const Verdict& verdict) {
  if (options.out.empty()) return {};
  const std::filesystem::path path = witness_path(options, result);
  write_witness(
      path,
      {c, {{"kernel", std::string(result.kernel)}, {"law", std::string(result.law)}, {"verdict", to_string(verdict)}}});
  return path.string();
}

/// The options that draw the same cases again.
std::string same_draws(const PropertyOptions& options) {
  std::string text = fmt::format("--seed {} --cases {}", options.seed, options.cases);
  for (const std::string& family : options.families) text += " --family " + shell_word(family);
  return text;
}

}  // namespace

void KernelLaws::draw(const Draws& draws, std::size_t family, std::uint64_t most) {
  family_ = family;
  if (kernel_.foreign && !draws.family.empty()) taken_.try_emplace(std::string(draws.family), false);
  for (;;) {
    failing_.clear();
    const auto found = next(draws, most);
    if (!found) return;
    keep(failing_.front(), found->drawn, found->simplest);
    // The others that failed on the same draw.
    for (std::size_t i = 1; i < failing_.size(); ++i) {
      const auto still = [&](const Problem& problem) { return fails_again(failing_[i], {found->drawn.spec, problem}); };
      keep(failing_[i], found->drawn, {found->drawn.spec, minimise(found->drawn.problem, still, draws.shrinks)});
    }
  }
}

void KernelLaws::conclude() {
  for (const auto& [family, taken] : taken_) decisions_.offer(family, taken);
  const Conclusion conclusion = decisions_.conclude(kernel_);
  for (std::size_t i = 0; i < questions_.size(); ++i) {
    const auto& [law, asked] = questions_[i];
    PropertyResult& result = results_[i];
    if (const auto at = conclusion.by_law.find(law->name); at != conclusion.by_law.end()) result.power = at->second;
    if (!asked) continue;
    require_conclusive(result);
    if (result.refused_by_law > result.decided())
      result.undecided = refused_law_text(law->name, result.refused_by_law, result.executed());
    if (law->is_promised(kernel_.problem, kernel_.contract))
      require_promise(result, law->judge != nullptr, options_.families.empty());
  }
  PropertyResult* result = as_a_whole();
  if (result == nullptr) return;
  result->power = conclusion.power;
  result->open = conclusion.open;
  result->suggestion = conclusion.suggestion;
  if (!conclusion.undecided.empty()) result->undecided = conclusion.undecided.front();
  tell(conclusion, *result);
  if (!result->failure && !conclusion.narrow.empty()) {
    PropertyFailure& failure = result->failure.emplace();
    failure.spec = conclusion.lost;
    failure.verdict = {VerdictKind::fail, Failure::error, "declaration: " + conclusion.narrow};
    failure.run = same_draws(options_);
  }
}

void KernelLaws::mark_unasked(std::size_t families) {
  for (std::size_t i = 0; i < questions_.size(); ++i) {
    PropertyResult& result = results_[i];
    result.unasked = left_unasked(result, *questions_[i].law, kernel_, families);
    if (result.unasked && result.undecided.empty()) result.undecided = kLeftUnasked;
  }
}

void KernelLaws::replay(std::span<const Case> cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (kind_of(cases[i].problem) != kernel_.problem) continue;
    const auto* gradient = std::get_if<BackwardProblem>(&cases[i].problem);
    if (kernel_.own_forward && gradient->mode == BackwardMode::stage) throw UsageError(std::string(kNoStage));
    failing_.clear();
    fails(cases[i]);
    for (const Failing& failing : failing_) {
      results_[failing.law].failure = {cases[i].spec, failing.verdict, options_.replay[i], {}};
    }
  }
  for (PropertyResult& one : results_) require_conclusive(one);
  PropertyResult* result = as_a_whole();
  if (result == nullptr) return;
  const Conclusion conclusion = decisions_.conclude(kernel_);
  tell(conclusion, *result);
  if (!conclusion.judged && result->taken > 0 && result->undecided.empty()) result->undecided = kJudgedNothing;
}

std::optional<FoundCase> KernelLaws::next(const Draws& draws, std::uint64_t most) {
  try {
    return draws.next([this](const Case& c) { return fails(c); }, most);
  } catch (const Interrupted&) {
    return std::nullopt;
  }
}

PropertyResult* KernelLaws::as_a_whole() {
  PropertyResult* first = nullptr;
  for (std::size_t i = 0; i < questions_.size(); ++i) {
    if (!questions_[i].asked) continue;
    if (results_[i].executed() > 0) return &results_[i];
    if (first == nullptr && questions_[i].law->judge != nullptr) first = &results_[i];
  }
  return first;
}

void KernelLaws::tell(const Conclusion& conclusion, PropertyResult& result) {
  if (!conclusion.unasked.empty()) result.undecided = conclusion.unasked.front();
  // Where a case by itself is wrong, nothing explains every case: that is no finding of its own.
  const auto judged_wrong = [](const PropertyResult& r) { return r.failure && find_law(r.law)->judge != nullptr; };
  const bool told = !conclusion.unasked.empty() || std::ranges::any_of(results_, judged_wrong);
  if (!conclusion.contradiction || result.failure || told) return;
  const auto& [verdict, cases] = *conclusion.contradiction;
  if (find_law(result.law)->judge == nullptr) {
    if (result.undecided.empty()) result.undecided = verdict.detail;
    return;
  }
  result.failure = {cases.back(), verdict, {}, {}, cases};
}

bool KernelLaws::fails(const Case& c) {
  if (!failing_.empty()) return fails_again(failing_.front(), c);
  try {
    return fails_as_drawn(c);
  } catch (const Interrupted&) {
    return !failing_.empty();
  }
}

bool KernelLaws::fails_as_drawn(const Case& c) {
  ++cases_;
  const std::string& family = c.spec.family;
  Trial trial(kernel_, c);
  const bool taken = trial.refusal(c.problem).empty();
  std::vector<std::string_view> said;
  for (std::size_t law = 0; law < questions_.size(); ++law) {
    PropertyResult& result = results_[law];
    if (result.failure || !is_its_turn(law)) continue;
    if (law > 0 && stopped()) break;  // all laws of one large case may take as long as the rest of the run
    now_running(kernel_.id, questions_[law].law->name, to_string(c.spec));
    Verdict verdict = ask(*questions_[law].law, trial, extent(law));
    if (!questions_[law].asked) {
      if (taken) decisions_.unasked(result.law, c.spec, verdict);
      continue;
    }
    if (taken) {
      ++result.taken;
      if (verdict.kind == VerdictKind::unsupported) result.does_not_apply = verdict.detail;
    }
    ++result.counts[static_cast<std::size_t>(verdict.kind)];
    ++result.by_family[family][static_cast<std::size_t>(verdict.kind)];
    if (verdict.detail.starts_with(kRefusedByLaw)) ++result.refused_by_law;
    if (verdict.kind == VerdictKind::pass || verdict.failed()) said.push_back(result.law);
    if (verdict.failed()) failing_.push_back({law, std::move(verdict)});
  }
  if (taken && kernel_.foreign) {
    taken_[family] = true;
    if (!trial.returns()) decisions_.refuse(family);
  }
  if (const AlternativesSeen& seen = trial.alternatives_seen(); seen.asked != 0) {
    const std::map<std::size_t, Power> powers = trial.powers();
    decisions_.add(c.spec, seen, powers);
    for (const std::string_view law : said) decisions_.said(law, c.spec, seen, powers);
  }
  return !failing_.empty();
}

bool KernelLaws::is_its_turn(std::size_t law) const {
  constexpr std::uint64_t kDecided = 3;  // whatever the turns: a kernel that takes few cases is asked every law
  return questions_[law].law->judge != nullptr || results_[law].decided() < kDecided ||
         (law + family_ + turn_.number) % turn_.of == 0;
}

Extent KernelLaws::extent(std::size_t law) const {
  return !options_.replay.empty() || results_[law].decided() == 0 ? Extent::any : Extent::usual;
}

bool KernelLaws::fails_again(Failing& failing, const Case& c) {
  if (stopped()) return false;
  now_running(kernel_.id, questions_[failing.law].law->name, to_string(c.spec));
  Trial trial(kernel_, c);
  Verdict verdict;
  try {
    verdict = ask(*questions_[failing.law].law, trial);
  } catch (const Interrupted&) {
    return false;
  }
  if (!verdict.failed() || verdict.failure != failing.verdict.failure) return false;
  if (call_fault_name(verdict) != call_fault_name(failing.verdict)) return false;
  failing.verdict = std::move(verdict);
  return true;
}

void KernelLaws::keep(const Failing& failing, const Case& drawn, const Case& simplest) {
  PropertyResult& result = results_[failing.law];
  std::string witness = keep_witness(options_, simplest, result, failing.verdict);
  const bool is_simpler = !witness.empty() && simplest.problem != drawn.problem;
  std::string shrunk = is_simpler ? brief(simplest.problem) : "";
  result.failure = {drawn.spec, failing.verdict, std::move(witness), std::move(shrunk)};
}

}  // namespace flashproof
