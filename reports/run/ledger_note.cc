#include "reports/run/ledger_note.h"

#include "kernels/registry.h"
#include "kernels/run/run.h"
#include "kernels/special_functions/tables.h"

namespace flashproof {
namespace {

/// Whose bits native math has on the CPU executor.
const std::string kNativeArchitecture(special::kModelledArchitecture);

std::string architecture(Executor executor, Math math, const std::string& gpu) {
  const std::string place = executor == Executor::cuda ? gpu : math == Math::det ? "cpu" : kNativeArchitecture;
  return math == Math::native ? place + ".native" : place;
}

void offer(Ledger& best, const Record& record, const std::string& gpu) {
  const VerdictKind verdict = record.verdict();
  if (verdict == VerdictKind::fail || verdict == VerdictKind::inconclusive || !(record.max_ratio() >= 0)) return;
  best.offer({.kernel = std::string(record.kernel->id),
              .format = record.format,
              .architecture = architecture(record.executor, record.kernel->math, gpu),
              .best = {.ratio = record.max_ratio()},
              .case_line = worst_case_line(record)});
}

}  // namespace

void note_ledger(std::vector<Record>& records, const Ledger& ledger, const std::string& gpu) {
  for (Record& r : records) {
    const LedgerEntry* known =
        ledger.find(r.kernel->id, r.format, std::nullopt, architecture(r.executor, r.kernel->math, gpu));
    if (known != nullptr) r.ledger = known->best.ratio;
  }
}

std::vector<LedgerEntry> measured_of(const std::vector<Record>& records, const std::string& gpu) {
  Ledger best;
  for (const Record& r : records) offer(best, r, gpu);
  return best.entries;
}

}  // namespace flashproof
