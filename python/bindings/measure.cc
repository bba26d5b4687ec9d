#include "python/bindings/measure.h"

#include <numeric>

#include "properties/laws/law.h"
#include "reference/problem/error.h"

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
  const Judgement judgement =
      judge(trial.output(), trial.truth(), trial.bound(), trial.contract(), trial.subject().spec.seed);
  for (const Part part : parts(trial.kernel().problem))
    record.outputs[static_cast<std::size_t>(part)].merge(judgement[part]);
  return verdict;
}

}  // namespace

bool FamilyRecord::taken() const {
  return std::accumulate(verdicts.begin(), verdicts.end(), std::uint64_t{0}) >
         verdicts[static_cast<std::size_t>(VerdictKind::unsupported)];
}

std::vector<FamilyRecord> measure(const Kernel& kernel, std::span<const Family* const> families, std::uint64_t seed,
                                  std::uint64_t cases, RunDecisions& decisions, const std::function<bool()>& stop) {
  std::vector<FamilyRecord> records;
  for (const Family* family : families) {
    if (!family->serves(kernel.problem)) continue;
    FamilyRecord record;
    record.family = family->name;
    std::uint64_t ran = 0, drawn_cases = 0;
    // A family may have no case of a format for some seed, and the kernel may refuse some: the next one then.
    for (std::uint64_t n = 0; ran < cases && n < kDrawsPerCase * cases && !stop(); ++n) {
      Case drawn;
      try {
        drawn = make_case(spec_of(kernel, family->name, kSeedsApart * (seed - 1) + n));
      } catch (const UsageError& error) {
        record.refused = error.what();
        continue;
      }
      ++drawn_cases;
      Trial trial(kernel, drawn);
      const Verdict verdict = judged(trial, record);
      if (trial.alternatives_seen().asked != 0) decisions.add(drawn.spec, trial.alternatives_seen(), trial.powers());
      ++record.verdicts[static_cast<std::size_t>(verdict.kind)];
      if (verdict.kind == VerdictKind::unsupported) record.refused = verdict.detail;
      ran += verdict.kind == VerdictKind::unsupported ? 0 : 1;
      if (verdict.failed() && record.finding.empty()) {
        record.finding = to_string(drawn.spec) + "  " + to_string(Verdict{verdict.kind, verdict.failure, {}}) + "  " +
                         verdict.detail;
      }
    }
    if (record.taken()) decisions.ask(record.family);
    if (drawn_cases > 0) records.push_back(std::move(record));
    if (stop()) break;
  }
  return records;
}

}  // namespace flashproof::python
