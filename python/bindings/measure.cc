#include "python/bindings/measure.h"

#include <numeric>
#include <optional>
#include <utility>

#include "properties/laws/law.h"
#include "reference/system/error.h"

namespace flashproof::python {
namespace {

constexpr std::uint64_t kDrawsPerCase = 16;
/// Cases of neighbouring seeds lie as far apart as they can, modulo 2^64: an odd number near 2^64 over the golden ratio.
constexpr std::uint64_t kSeedsApart = 0x9E3779B97F4A7C15;

CaseSpec spec_of(const Kernel& kernel, std::string_view family, std::uint64_t seed) {
  CaseSpec spec{kernel.problem, std::string(family), seed, {{"format", std::string(info(kernel.formats[0]).name)}}};
  if (kernel.own_forward) spec.keys["mode"] = "gradient";
  return spec;
}

/// What a family draws now and then, as keys. Of a causal mask more than one query.
constexpr std::pair<std::string_view, std::string_view> kFeatures[][2] = {
    {{"layout", "transposed"}, {}}, {{"hq", "4"}, {"hk", "2"}}, {{"causal", "1"}, {"sq", "5"}}};
constexpr unsigned kSets = 1U << std::size(kFeatures);

/// Of the sets of features the largest that the family has and the kernel takes, the mask before the heads before the layout.
std::optional<Case> featured(const Kernel& kernel, const CaseSpec& plain) {
  const bool attends = forward_kind(kernel.problem) == ProblemKind::attention;
  for (unsigned set = attends ? kSets - 1 : 1; set > 0; --set) {
    CaseSpec spec = plain;
    for (std::size_t i = 0; i < std::size(kFeatures); ++i) {
      if ((set >> i & 1U) == 0) continue;
      for (const auto& [key, value] : kFeatures[i]) {
        if (!key.empty()) spec.keys[std::string(key)] = value;
      }
    }
    try {
      Case made = make_case(spec);
      if (Trial(kernel, made).refusal(made.problem).empty()) return made;
    } catch (const UsageError&) {  // the family has no such case
    }
  }
  return std::nullopt;
}

Verdict judged(Trial& trial, FamilyRecord& record) {
  Verdict verdict;
  for (const Law& law : judging_laws()) {
    Verdict says = ask(law, trial);
    if (&law == &judging_laws().front()) verdict = says;
    if (says.kind >= VerdictKind::inconclusive && outweighs(says, verdict)) verdict = std::move(says);
    if (verdict.failed() && verdict.failure == Failure::error)
      return verdict;  // it did not return: there is nothing to measure
  }
  if (verdict.kind == VerdictKind::unsupported) return verdict;
  // The witnesses tell their cases apart by the seed.
  const Judgement judgement = trial.measured(trial.subject().spec.seed);
  for (const Part part : parts(trial.kernel().problem))
    record.outputs[static_cast<std::size_t>(part)].merge(judgement[part]);
  return verdict;
}

/// The cases of one family, one after another.
class FamilyCases {
 public:
  FamilyCases(const Kernel& kernel, const Family& family, std::uint64_t seed, std::uint64_t cases)
      : kernel_(kernel), first_(kSeedsApart * (seed - 1)), cases_(cases) {
    record_.family = family.name;
    rows_ = family.whole(kernel.problem, cases);
  }

  /// The next one that the kernel takes. A family may have no case of a format for some seed, and the kernel may refuse some: the next
  /// one then.
  void ask(RunDecisions& decisions, const MeasureHooks& hooks) {
    for (const std::uint64_t before = ran_; ran_ == before && left();) {
      if (hooks.stop()) return;
      const CaseSpec spec = spec_of(kernel_, record_.family, first_ + drawn_++);
      try {
        std::optional<Case> drawn = rows_ == 0 && ran_ == 1 ? featured(kernel_, spec) : std::nullopt;
        judge_case(drawn ? *drawn : make_case(spec), decisions);
      } catch (const UsageError& error) {
        record_.refused = error.what();
      }
    }
    record_.complete = !left();
  }
  /// Of a covering array: the rows that are left, each once.
  void ask_rest(RunDecisions& decisions, const MeasureHooks& hooks) {
    while (rows_ > 0 && left() && !hooks.stop()) ask(decisions, hooks);
  }
  bool has_cases() const { return made_ > 0 || !record_.complete; }
  const FamilyRecord& record() const { return record_; }

 private:
  bool left() const { return rows_ > 0 ? drawn_ < rows_ : ran_ < cases_ && drawn_ < kDrawsPerCase * cases_; }

  void judge_case(const Case& drawn, RunDecisions& decisions) {
    ++made_;
    Trial trial(kernel_, drawn);
    const Verdict verdict = judged(trial, record_);
    if (trial.alternatives_seen().asked != 0) decisions.add(drawn.spec, trial.alternatives_seen(), trial.powers());
    ++record_.verdicts[static_cast<std::size_t>(verdict.kind)];
    if (verdict.kind == VerdictKind::unsupported) record_.refused = verdict.detail;
    ran_ += verdict.kind == VerdictKind::unsupported ? 0 : 1;
    if (verdict.kind == VerdictKind::pass) record_.passing.push_back(drawn.spec);
    if (verdict.failed() && verdict.failure != Failure::error) record_.failing.push_back(drawn.spec);
    if (verdict.failed() && record_.finding.empty()) {
      record_.finding =
          to_string(drawn.spec) + "  " + to_string(Verdict{verdict.kind, verdict.failure, {}}) + "  " + verdict.detail;
    }
  }

  const Kernel& kernel_;
  std::uint64_t first_, cases_, rows_ = 0, drawn_ = 0, made_ = 0, ran_ = 0;
  FamilyRecord record_;
};

}  // namespace

bool FamilyRecord::asked() const { return std::accumulate(verdicts.begin(), verdicts.end(), std::uint64_t{0}) > 0; }

bool FamilyRecord::taken() const {
  return std::accumulate(verdicts.begin(), verdicts.end(), std::uint64_t{0}) >
         verdicts[static_cast<std::size_t>(VerdictKind::unsupported)];
}

std::vector<FamilyRecord> measure(const Kernel& kernel, std::span<const Family* const> families, std::uint64_t seed,
                                  std::uint64_t cases, RunDecisions& decisions, const MeasureHooks& hooks) {
  std::vector<FamilyCases> asked;
  for (const Family* family : families) {
    if (family->serves(kernel.problem)) asked.emplace_back(kernel, *family, seed, cases);
  }
  try {
    for (std::uint64_t round = 0; round < cases; ++round) {
      for (FamilyCases& one : asked) {
        one.ask(decisions, hooks);
        hooks.asked(one.record().family);
      }
    }
    for (FamilyCases& one : asked) one.ask_rest(decisions, hooks);
  } catch (const Interrupted&) {  // the case that was running is not counted
  }
  std::vector<FamilyRecord> records;
  for (const FamilyCases& one : asked) {
    if (one.record().taken()) decisions.ask(one.record().family);
    if (one.has_cases()) records.push_back(one.record());
  }
  return records;
}

}  // namespace flashproof::python
