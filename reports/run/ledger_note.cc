#include "reports/run/ledger_note.h"

#include <map>
#include <tuple>

#include "kernels/backward.h"

namespace flashproof {
namespace {

std::string architecture(Executor executor, Math math, const std::string& gpu) {
  if (executor == Executor::cpu) return "cpu";
  return math == Math::native ? gpu + ".native" : gpu;
}

using Best = std::map<std::tuple<std::string, std::string, std::string>, Measured>;

template <class R>
void offer(Best& best, const R& record, const std::string& gpu) {
  const VerdictKind verdict = record.verdict();
  if (verdict == VerdictKind::fail || verdict == VerdictKind::inconclusive || !(record.max_ratio() >= 0)) return;
  Measured m{std::string(record.kernel->id),
             std::string(info(record.format).name),
             architecture(record.executor, record.kernel->math, gpu),
             record.max_ratio(),
             worst_case_line(record),
             ""};
  const auto [at, fresh] = best.try_emplace({m.kernel, m.format, m.architecture}, m);
  if (!fresh && m.ratio > at->second.ratio) at->second = std::move(m);
}

template <class R>
void note(std::vector<R>& records, const WorstLedger& ledger, const std::string& gpu) {
  for (R& r : records) {
    const WorstEntry* known =
        ledger.find(r.kernel->id, info(r.format).name, architecture(r.executor, r.kernel->math, gpu));
    if (known != nullptr) r.ledger = known->worst.ratio;
  }
}

}  // namespace

void note_ledger(std::vector<Record>& records, std::vector<GradientRecord>& gradients, const WorstLedger& ledger,
                 const std::string& gpu) {
  note(records, ledger, gpu);
  note(gradients, ledger, gpu);
}

std::vector<Measured> measured_of(const std::vector<Record>& records, const std::vector<GradientRecord>& gradients,
                                  const std::string& gpu) {
  Best best;
  for (const Record& r : records) offer(best, r, gpu);
  for (const GradientRecord& r : gradients) offer(best, r, gpu);
  std::vector<Measured> list;
  for (auto& [key, m] : best) list.push_back(std::move(m));
  return list;
}

}  // namespace flashproof
