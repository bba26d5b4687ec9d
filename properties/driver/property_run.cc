#include "properties/driver/property_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "properties/driver/check_declarations.h"
#include "properties/driver/draws.h"
#include "properties/driver/now_running.h"
#include "properties/driver/property_files.h"
#include "properties/generators/family.h"
#include "properties/generators/glob.h"
#include "properties/laws/law.h"
#include "properties/laws/run_power.h"
#include "properties/shrink/brief.h"
#include "properties/shrink/shrink.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/shown_text.h"
#include "reference/system/text.h"

namespace flashproof {

void forget(const std::filesystem::path& path) {
  replaceable_file(path);  // refuses a folder or a device
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (!error) std::filesystem::remove(path, error);
  if (error) throw InfrastructureError(quote(path.string()) + ": " + error.message());
}

std::uint64_t PropertyResult::executed() const {
  std::uint64_t sum = 0;
  for (std::size_t kind = 0; kind < kVerdictKinds; ++kind) {
    if (static_cast<VerdictKind>(kind) != VerdictKind::unsupported) sum += counts[kind];
  }
  return sum;
}

std::uint64_t PropertyResult::decided() const {
  return counts[static_cast<std::size_t>(VerdictKind::pass)] + counts[static_cast<std::size_t>(VerdictKind::fail)];
}

std::string call_fault_name(const Verdict& verdict) {
  const std::string& text = verdict.detail;
  std::size_t end = text.find(':');
  if (verdict.failure != Failure::error || end == std::string::npos || end > text.find(' ')) return {};
  if (text.starts_with("raised:") || text.starts_with("gpu_error:")) end = text.find(':', end + 1);
  return text.substr(0, end);
}

namespace {

/// Where the witness of this kernel and law goes; the folder is there.
std::filesystem::path witness_path(const PropertyOptions& options, const PropertyResult& result) {
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error) throw InfrastructureError("--out " + quote(options.out.string()) + ": " + error.message());
  return options.out / (std::string(result.kernel) + "." + std::string(result.law) + ".safetensors");
}

/// Of a law that promises what it asks, whose every case was left undecided. A law that judges and says nothing of the cases
/// that the kernel took has no bound for them: nothing was asked.
void require_promise(PropertyResult& result, bool promised, bool judges) {
  const bool was_asked = result.executed() > 0 || (judges && result.taken > 0);
  if (promised && was_asked && result.decided() == 0) result.undecided = "it decided no case";
}

/// Whether a run that was stopped says of this law no more than that it was not asked. One that promises nothing may have nothing
/// to say of this kernel: that is so where most of the families had a case of it.
bool left_unasked(const PropertyResult& result, const Law& law, const Contract& contract, std::size_t families) {
  if (result.failure || result.executed() > 0) return false;
  if (result.by_family.empty()) return true;
  if (law.promised == nullptr) return 2 * result.by_family.size() < families;
  return law.promised(contract) && result.by_family.size() < families;
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

/// Whose turn a law is (PropertyOptions::turns): of the kernels of a problem, one after the other, each family asks another one. Not
/// more turns than kernels, so that every law meets every family.
struct Turn {
  std::size_t number = 0, of = 1;
};

/// One kernel under several laws.
class KernelRun {
 public:
  KernelRun(const Kernel& kernel, Turn turn, std::span<const Question> questions, const PropertyOptions& options,
            std::span<PropertyResult> results)
      : kernel_(kernel),
        turn_(turn),
        questions_(questions),
        options_(options),
        results_(results),
        decisions_(options.before) {}

  bool stopped() const { return options_.stop && options_.stop(); }
  std::uint64_t cases() const { return cases_; }

  /// Cases are drawn until a law fails; that one is shrunk, and the others follow without that law.
  /// `most`: of the family, with those of earlier calls.
  /// `family`: its place in the run.
  void draw(const Draws& draws, std::size_t family, std::uint64_t most) {
    family_ = family;
    if (kernel_.foreign && !draws.family.empty()) taken_.try_emplace(std::string(draws.family), false);
    for (;;) {
      failing_.clear();
      const auto found = next(draws, most);
      if (!found) return;
      keep(failing_.front(), found->drawn, found->simplest);
      // The others that failed on the same draw.
      for (std::size_t i = 1; i < failing_.size(); ++i) {
        const auto still = [&](const Problem& problem) {
          return fails_again(failing_[i], {found->drawn.spec, problem});
        };
        keep(failing_[i], found->drawn, {found->drawn.spec, minimise(found->drawn.problem, still, draws.shrinks)});
      }
    }
  }

  /// After the last family: what the whole run says of the declaration, and which promises were left untested.
  void conclude() {
    for (const auto& [family, taken] : taken_) decisions_.offer(family, taken);
    const Conclusion conclusion = decisions_.conclude(kernel_);
    for (std::size_t i = 0; i < questions_.size(); ++i) {
      const auto& [law, asked] = questions_[i];
      const bool promised = asked && law->promised != nullptr && law->promised(kernel_.contract);
      require_promise(results_[i], promised, law->judge != nullptr);
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

  /// After all else, of a run that was stopped.
  void mark_unasked(std::size_t families) {
    for (std::size_t i = 0; i < questions_.size(); ++i) {
      PropertyResult& result = results_[i];
      result.unasked = left_unasked(result, *questions_[i].law, kernel_.contract, families);
      if (result.unasked && result.undecided.empty()) result.undecided = kLeftUnasked;
    }
  }

  /// The cases of its problem and nothing else; nothing is shrunk.
  void replay(std::span<const Case> cases) {
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
    if (PropertyResult* result = as_a_whole()) tell(decisions_.conclude(kernel_), *result);
  }

 private:
  struct Failing {
    std::size_t law;
    Verdict verdict;  // of the simplest case so far
  };

  /// None where the user ends the run while a case is drawn: whether the kernel takes it is asked of the kernel, too.
  std::optional<FoundCase> next(const Draws& draws, std::uint64_t most) {
    try {
      return draws.next([this](const Case& c) { return fails(c); }, most);
    } catch (const Interrupted&) {
      return std::nullopt;
    }
  }

  /// The first of the laws that were asked and said something tells what the run says as a whole; null where none did.
  PropertyResult* as_a_whole() {
    PropertyResult* first = nullptr;
    for (std::size_t i = 0; i < questions_.size(); ++i) {
      if (!questions_[i].asked) continue;
      if (results_[i].executed() > 0) return &results_[i];
      if (first == nullptr && questions_[i].law->judge != nullptr) first = &results_[i];
    }
    return first;
  }

  /// What makes no pass of a run in which no law failed that was asked.
  static void tell(const Conclusion& conclusion, PropertyResult& result) {
    if (!conclusion.unasked.empty()) result.undecided = conclusion.unasked.front();
    if (!conclusion.contradiction || result.failure) return;
    const auto& [verdict, cases] = *conclusion.contradiction;
    if (find_law(result.law)->judge == nullptr) {
      if (result.undecided.empty()) result.undecided = verdict.detail;
      return;
    }
    result.failure = {cases.back(), verdict, {}, {}, cases};
  }

  /// Drawn: asks every law that has not failed yet, and counts, until the run is to stop. Shrunk: asks the first that failed.
  bool fails(const Case& c) {
    if (!failing_.empty()) return fails_again(failing_.front(), c);
    try {
      return fails_as_drawn(c);
    } catch (const Interrupted&) {
      return !failing_.empty();
    }
  }

  bool fails_as_drawn(const Case& c) {
    ++cases_;
    const std::string& family = c.spec.family;
    Trial trial(kernel_, c);
    const bool taken = trial.refusal(c.problem).empty();
    for (std::size_t law = 0; law < questions_.size(); ++law) {
      PropertyResult& result = results_[law];
      if (result.failure || !is_its_turn(law)) continue;
      if (law > 0 && stopped()) break;  // all laws of one large case may take as long as the rest of the run
      now_running(kernel_.id, questions_[law].law->name, to_string(c.spec));
      Verdict verdict = ask(*questions_[law].law, trial);
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
      if (verdict.failed()) failing_.push_back({law, std::move(verdict)});
    }
    if (taken && kernel_.foreign) {
      taken_[family] = true;
      if (!trial.returns()) decisions_.refuse(family);
    }
    if (trial.alternatives_seen().asked != 0) decisions_.add(c.spec, trial.alternatives_seen(), trial.powers());
    return !failing_.empty();
  }

  bool is_its_turn(std::size_t law) const {
    constexpr std::uint64_t kDecided = 3;  // whatever the turns: a kernel that takes few cases is asked every law
    return questions_[law].law->judge != nullptr || results_[law].decided() < kDecided ||
           (law + family_ + turn_.number) % turn_.of == 0;
  }

  /// In the same way: a case that fails in another is another finding. A run that is to stop looks for no simpler one.
  bool fails_again(Failing& failing, const Case& c) {
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

  void keep(const Failing& failing, const Case& drawn, const Case& simplest) {
    PropertyResult& result = results_[failing.law];
    std::string witness = keep_witness(options_, simplest, result, failing.verdict);
    const bool is_simpler = !witness.empty() && simplest.problem != drawn.problem;
    std::string shrunk = is_simpler ? brief(simplest.problem) : "";
    result.failure = {drawn.spec, failing.verdict, std::move(witness), std::move(shrunk)};
  }

  const Kernel& kernel_;
  Turn turn_;
  std::span<const Question> questions_;
  const PropertyOptions& options_;
  std::span<PropertyResult> results_;
  std::size_t family_ = 0;  // that is drawn from, its place in the run
  RunDecisions decisions_;
  std::uint64_t cases_ = 0;
  std::map<std::string, bool> taken_;  // of a foreign kernel, by family
  std::vector<Failing> failing_;       // on the last draw; RapidCheck shrinks for the first
};

Case replayed(const std::string& text) {
  if (text.ends_with(".safetensors")) return read_witness(text).content;
  return make_case(parse_case_spec(text));
}

template <class T>
std::vector<const T*> select(std::span<const T> all, std::string_view T::* name, std::span<const std::string> globs,
                             std::string_view what) {
  std::vector<std::string_view> names;
  for (const T& one : all) names.push_back(one.*name);
  std::vector<const T*> chosen;
  for (const std::size_t i : select_names(globs, names, what)) chosen.push_back(&all[i]);
  return chosen;
}

/// What is asked of the kernels of a problem, and with what. No question: nothing, whatever the judging laws would say.
struct Plan {
  std::vector<Question> questions;
  std::vector<const Family*> families;

  Plan(ProblemKind problem, std::span<const Law* const> asked, std::span<const Family* const> chosen,
       const PropertyOptions& options) {
    if (std::ranges::none_of(asked, [&](const Law* law) { return law->is_of(problem); })) return;
    questions = flashproof::questions(problem, asked);
    if (options.judged_elsewhere) std::erase_if(questions, [](const Question& one) { return !one.asked; });
    for (const Family* family : chosen) {
      if (options.replay.empty() && family->serves(problem)) families.push_back(family);
    }
  }
};

/// Of one kernel; none where it had no case.
std::vector<PropertyResult> run_kernel(const KernelDeclaration& declaration, Turn turn, const Plan& plan,
                                       std::span<const Case> replay, const PropertyOptions& options,
                                       const std::function<void()>& family_ends) {
  std::vector<PropertyResult> its;
  for (const Question& one : plan.questions) {
    its.push_back({.kernel = declaration.id, .law = one.law->name});
    if (one.asked && replay.empty() && !options.out.empty()) forget(witness_path(options, its.back()));
  }
  const Kernel kernel = options.kernel_of != nullptr ? options.kernel_of(declaration) : Kernel{declaration};
  KernelRun run(kernel, turn, plan.questions, options, its);
  if (!replay.empty()) run.replay(replay);
  // Of a kernel that may be slow all families have their first case before any has its second, as in measure().
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  const std::vector<Draws> all = draws_of(kernel, plan.families, options);
  for (const std::uint64_t most : {std::uint64_t{1}, kAll}) {
    if (most != kAll && !kernel.foreign) continue;
    for (std::size_t family = 0; family < all.size(); ++family) {
      if (!replay.empty() || run.stopped()) continue;
      run.draw(all[family], family, most);
      if (most == kAll) family_ends();
    }
  }
  if (run.cases() == 0 && !run.stopped()) return {};
  if (replay.empty()) run.conclude();  // of a run that was stopped, too: what it had not decided is no pass
  if (run.stopped()) run.mark_unasked(plan.families.size());
  std::vector<PropertyResult> results;
  for (std::size_t i = 0; i < its.size(); ++i) {
    if (plan.questions[i].asked) results.push_back(std::move(its[i]));
  }
  return results;
}

}  // namespace

std::vector<PropertyResult> run_properties(std::span<const KernelDeclaration> kernels, const PropertyOptions& options) {
  check_declarations(kernels);
  const auto tested = select(kernels, &KernelDeclaration::id, options.kernels, "kernel");
  const auto asked = select_laws(options.laws);
  const auto chosen = select(families(), &Family::name, options.families, "family");
  std::vector<Case> replay;
  replay.reserve(options.replay.size());
  for (const std::string& text : options.replay) replay.push_back(replayed(text));
  std::vector<Plan> plans;
  for (const ProblemKind problem : kProblemKinds) plans.emplace_back(problem, asked, chosen, options);
  const auto plan_of = [&](const KernelDeclaration& kernel) -> const Plan& {
    return plans[static_cast<std::size_t>(kernel.problem)];
  };
  std::uint64_t total = 0, done = 0;
  for (const KernelDeclaration* kernel : tested) {
    const Plan& plan = plan_of(*kernel);
    if (!plan.questions.empty()) total += draws_of(Kernel{*kernel}, plan.families, options).size();
  }
  const auto family_ends = [&] {
    if (options.progress) options.progress(++done, total);
  };
  std::vector<PropertyResult> results;
  bool law = false, family = false;
  std::array<std::size_t, std::size(kProblemKinds)> seen{};
  for (const KernelDeclaration* kernel : tested) {
    if (options.stop && options.stop()) return results;
    const auto of_problem =
        std::ranges::count(tested, kernel->problem, [](const KernelDeclaration* k) { return k->problem; });
    const Turn turn{seen[static_cast<std::size_t>(kernel->problem)]++,
                    std::min<std::size_t>(options.turns, static_cast<std::size_t>(of_problem))};
    const Plan& plan = plan_of(*kernel);
    law = law || !plan.questions.empty();
    if (plan.questions.empty() || (replay.empty() && plan.families.empty())) continue;
    family = true;
    for (PropertyResult& result : run_kernel(*kernel, turn, plan, replay, options, family_ends)) {
      results.push_back(std::move(result));
    }
  }
  const bool stopped = options.stop && options.stop();
  if (!results.empty() || !law || stopped) return results;
  if (family && replay.empty()) throw UsageError("no chosen family has a case with a gradient");
  throw UsageError("no chosen kernel is of the problem that was asked for");
}

}  // namespace flashproof
