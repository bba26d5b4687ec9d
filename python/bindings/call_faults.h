// Faults of the call, which every law meets: told once, by the first law that met it, with the names of the others.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/driver/property_run.h"

namespace flashproof::python {

struct CallFault {
  std::size_t first = 0;                    // of the results: where it is told
  std::vector<std::string_view> laws = {};  // that met it, `first`'s before the others
};

/// Faults are the same where their call_fault_name()s are; of a law's own judgement there is none.
std::vector<CallFault> call_faults(std::span<const PropertyResult> results);

/// For a file with an entry per law: the first law of a fault names the others, and those are skipped.
std::vector<PropertyResult> told_once(std::span<const PropertyResult> results, std::span<const CallFault> faults);

}  // namespace flashproof::python
