#include "reports/attack/replay.h"

#include "reference/system/error.h"
#include "reference/system/text.h"
#include "reports/attack/measure.h"

namespace flashproof {

Problem data_of(const LedgerEntry& entry, const Kernel& kernel) {
  Problem problem = entry.origin().make();
  const auto refuse = [&](const std::string& why) {
    throw UsageError("ledger: " + entry.kernel + " does not take " + entry.case_line + ": " + why);
  };
  if (kind_of(problem) != kernel.problem) refuse("it is a kernel for " + std::string(name(kernel.problem)));
  if (format_of(problem) != entry.format) refuse("the entry is of " + std::string(info(entry.format).name));
  if (const std::string why = kernel.unsupported(problem); !why.empty()) refuse(why);
  return problem;
}

TermBest replay(const LedgerEntry& entry) {
  const Kernel* kernel = find_kernel(entry.kernel);
  if (kernel == nullptr) throw UsageError("ledger: kernel " + quote(entry.kernel) + " does not exist");
  if (!entry.term) throw UsageError("ledger: an entry of the whole bound has no element to measure again");
  return measure(*kernel, data_of(entry, *kernel), Precision::record).best[static_cast<std::size_t>(*entry.term)];
}

}  // namespace flashproof
