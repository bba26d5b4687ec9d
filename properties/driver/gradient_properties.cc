#include "properties/driver/gradient_properties.h"

#include <algorithm>
#include <utility>

#include "properties/driver/gradient_draws.h"
#include "properties/driver/now_running.h"
#include "properties/generators/family.h"
#include "properties/generators/glob.h"
#include "properties/generators/gradient_case.h"
#include "properties/laws/law.h"
#include "properties/shrink/brief.h"
#include "properties/shrink/gradients.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

constexpr int kShrinks = 120;  // a candidate costs the truth of a forward problem

/// One kernel under several laws.
class GradientRun {
 public:
  GradientRun(const Kernel& kernel, std::span<const Question> laws, const PropertyOptions& options)
      : kernel_(kernel), laws_(laws), options_(options) {
    for (const Question& one : laws_) {
      results_.push_back({.kernel = kernel.id, .law = one.law->name});
      if (one.asked && options.replay.empty() && !options.out.empty()) forget(witness_path(options, results_.back()));
    }
  }

  bool stopped() const { return options_.stop && options_.stop(); }

  /// Asks every law that has not failed yet, and counts.
  void ask_all(const Case& c) {
    ++cases_;
    Trial trial(kernel_, c);
    const bool taken = trial.refusal(c.problem).empty();
    bool judged = false;
    for (std::size_t i = 0; i < laws_.size(); ++i) {
      PropertyResult& result = results_[i];
      if (result.failure) continue;
      Verdict verdict = ask_one(*laws_[i].law, trial, c.spec);
      // Of what the executor found, and of a refusal, there is no output to judge.
      judged |= laws_[i].law->judge != nullptr && verdict.kind != VerdictKind::unsupported &&
                verdict.failure != Failure::error;
      if (!laws_[i].asked) {
        if (taken) decisions_.unasked(result.law, c.spec, verdict);
        continue;
      }
      count(result, verdict, c.spec.family, taken);
      if (verdict.failed()) keep(*laws_[i].law, result, c, std::move(verdict));
    }
    if (judged) decisions_.add(c.spec, {.asked = 1, .failed = 0}, trial.powers());
  }

  /// Some cases and nothing else; nothing is shrunk.
  void replay(std::span<const Case> cases) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      replayed_ = options_.replay[i];
      ask_all(cases[i]);
    }
    if (PropertyResult* result = as_a_whole()) tell(decisions_.conclude(), *result);
  }

  /// After the last case: whether the whole run has decided enough, and which promises were left untested.
  void conclude() {
    for (std::size_t i = 0; i < laws_.size(); ++i) {
      const auto& [law, asked] = laws_[i];
      const bool promised = asked && law->promised != nullptr && law->promised(kernel_.contract);
      require_promise(results_[i], promised, law->judge != nullptr);
    }
    PropertyResult* result = as_a_whole();
    if (result == nullptr) return;
    const Conclusion conclusion = decisions_.conclude();
    result->power = conclusion.power;
    if (!conclusion.undecided.empty()) result->undecided = conclusion.undecided.front();
    tell(conclusion, *result);
  }

  /// Of the laws that were asked for; none where there was no case.
  std::vector<PropertyResult> results() && {
    std::vector<PropertyResult> list;
    for (std::size_t i = 0; i < laws_.size(); ++i) {
      if (laws_[i].asked && cases_ > 0) list.push_back(std::move(results_[i]));
    }
    return list;
  }

 private:
  Verdict ask_one(const Law& law, Trial& trial, const CaseSpec& spec) {
    now_running(kernel_.id, law.name, to_string(spec));
    return ask(law, trial);
  }

  static void count(PropertyResult& result, const Verdict& verdict, const std::string& family, bool taken) {
    if (taken) {
      ++result.taken;
      if (verdict.kind == VerdictKind::unsupported) result.does_not_apply = verdict.detail;
    }
    ++result.counts[static_cast<std::size_t>(verdict.kind)];
    ++result.by_family[family][static_cast<std::size_t>(verdict.kind)];
  }

  void keep(const Law& law, PropertyResult& result, const Case& c, Verdict verdict) {
    PropertyFailure& failure = result.failure.emplace();
    failure.spec = c.spec;
    failure.verdict = std::move(verdict);
    failure.witness = replayed_;
    if (!replayed_.empty() || options_.out.empty()) return;
    const auto fails = [&](const BackwardProblem& problem) {
      const Case simpler{c.spec, problem};
      Trial trial(kernel_, simpler);
      Verdict again = ask_one(law, trial, c.spec);
      if (!again.failed() || again.failure != failure.verdict.failure) return false;
      failure.verdict = std::move(again);
      return true;
    };
    const Case small{c.spec,
                     minimise(std::get<BackwardProblem>(c.problem), fails, kShrinks, [this] { return stopped(); })};
    failure.shrunk = brief(small.problem);
    failure.witness = witness_path(options_, result).string();
    write_witness(failure.witness, {small,
                                    {{"kernel", std::string(kernel_.id)},
                                     {"law", std::string(law.name)},
                                     {"verdict", to_string(failure.verdict)}}});
  }

  /// As KernelRun of property_run.cc.
  PropertyResult* as_a_whole() {
    PropertyResult* first = nullptr;
    for (std::size_t i = 0; i < laws_.size(); ++i) {
      if (!laws_[i].asked) continue;
      if (results_[i].executed() > 0) return &results_[i];
      if (first == nullptr && laws_[i].law->judge != nullptr) first = &results_[i];
    }
    return first;
  }

  static void tell(const Conclusion& conclusion, PropertyResult& result) {
    if (!conclusion.unasked.empty()) result.undecided = conclusion.unasked.front();
  }

  const Kernel& kernel_;
  std::span<const Question> laws_;
  const PropertyOptions& options_;
  std::vector<PropertyResult> results_;
  RunDecisions decisions_;
  std::uint64_t cases_ = 0;
  std::string replayed_;  // the argument whose case this is
};

Case replayed(const std::string& text) {
  return text.ends_with(".safetensors") ? read_witness(text).content : make_case(parse_case_spec(text));
}

/// The laws that were asked for, and the judging ones that were not: no pass without them.
std::vector<Question> gradient_questions(const PropertyOptions& options) {
  std::vector<std::string_view> names;
  for (const Law& law : gradient_laws()) names.push_back(law.name);
  const auto chosen = select_names(options.laws, names, "law of gradients");
  std::vector<Question> list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Law& law = gradient_laws()[i];
    const bool asked = std::ranges::find(chosen, i) != chosen.end();
    if (asked || (law.judge != nullptr && !options.judged_elsewhere)) list.push_back({&law, asked});
  }
  return list;
}

template <class T, class Name>
std::vector<T> select(const std::vector<T>& all, Name name, std::span<const std::string> globs, std::string_view what) {
  std::vector<std::string_view> names;
  names.reserve(all.size());
  for (const T one : all) names.push_back(name(one));
  std::vector<T> chosen;
  for (const std::size_t i : select_names(globs, names, what)) chosen.push_back(all[i]);
  return chosen;
}

std::vector<const Family*> chosen_families(const PropertyOptions& options) {
  std::vector<const Family*> all;
  for (const Family& family : families()) all.push_back(&family);
  all = select(all, [](const Family* family) { return family->name; }, options.families, "family");
  std::erase_if(all, [](const Family* family) { return !family->serves(ProblemKind::backward); });
  return all;
}

}  // namespace

std::vector<PropertyResult> run_gradient_properties(std::span<const Kernel* const> kernels,
                                                    const PropertyOptions& options) {
  const auto tested = select(
      std::vector(kernels.begin(), kernels.end()), [](const Kernel* kernel) { return kernel->id; }, options.kernels,
      "kernel");
  const std::vector<Question> laws = gradient_questions(options);
  const std::vector<const Family*> chosen = chosen_families(options);
  std::vector<Case> cases;
  cases.reserve(options.replay.size());
  for (const std::string& text : options.replay) cases.push_back(replayed(text));
  const bool draws = cases.empty(), variants = draws && options.families.empty();
  const std::uint64_t total = tested.size() * (chosen.size() + (variants ? 1 : 0));
  std::uint64_t done = 0;
  std::vector<PropertyResult> results;
  for (const Kernel* kernel : tested) {
    GradientRun run(*kernel, laws, options);
    const auto ends = [&] {
      if (options.progress) options.progress(++done, total);
    };
    if (!draws) run.replay(cases);
    const auto use = [&](const Case& drawn) {
      run.ask_all(drawn);
      return !run.stopped();
    };
    if (variants) draw_variants(*kernel, options.seed, use), ends();
    for (const Family* family : chosen) {
      if (draws && !run.stopped()) draw_family(*kernel, *family, options.seed, options.cases, use), ends();
    }
    if (draws) run.conclude();  // of a run that was stopped, too: what it had not decided is no pass
    const bool stopped = run.stopped();
    for (PropertyResult& result : std::move(run).results()) results.push_back(std::move(result));
    if (stopped) return results;
  }
  if (results.empty() && !tested.empty() && !options.may_be_none) {
    throw UsageError("no chosen family has a case with a gradient");
  }
  return results;
}

bool replays_gradient(const std::string& text) {
  const CaseSpec spec = text.ends_with(".safetensors") ? read_witness(text).content.spec : parse_case_spec(text);
  return spec.problem == ProblemKind::backward;
}

}  // namespace flashproof
