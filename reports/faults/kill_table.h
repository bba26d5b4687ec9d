// The seeded faults (kernels/broken) against every law, and against how kernels are commonly tested: which law rejects which
// fault, on which case, and down to which dose.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kernels/broken/fault.h"
#include "reports/faults/diagnosis.h"
#include "reports/faults/habits.h"

namespace flashproof {

/// The number of F07, of F107.
int number_of(const SeededFault& fault);

/// One law asked about one fault, case by case until it rejects it. A rejection counts only where the law does not fail the
/// kernel without the fault on the same case.
struct LawOutcome {
  std::string law;
  std::uint64_t executed = 0;  // cases on which it said pass or fail
  bool rejects = false;
  std::string where = {}, why = {};  // the case that it rejects, and its words
  // Of a fault with a dose: the weakest of the ladder that it rejects; NaN: none.
  double weakest_dose = std::numeric_limits<double>::quiet_NaN();
};

struct FaultOutcome {
  const SeededFault* fault = nullptr;
  HabitResult allclose, twice;
  bool habits_asked = false;  // not of the gradient's kernels: the habits are about o
  std::vector<LawOutcome> laws;
  std::vector<Cause> causes = {};  // what the diagnosis says of it (diagnosis.h)
  std::string crash = {};          // how the process ended that asked; empty: it did not. Then nothing else is known

  bool rejected() const;
  /// Doses of the ladder weaker than each that a law rejects; all of them where no law rejects one.
  std::vector<double> surviving_doses() const;
  /// Laws that name the fault among those they must reject (must_reject), and did not.
  std::vector<std::string> toothless_laws() const;
  /// One of the habits compared something: then not seeing the fault is missing it.
  bool habits_tested() const { return habits_asked && (gross() || allclose.tested || twice.tested); }
  Named named() const { return named_by(*fault, causes); }
  bool gross() const { return allclose.sees || twice.sees; }
  /// One line, and back.
  std::string serialize() const;
  static FaultOutcome deserialize(const std::string& line);
};

struct KillTable {
  std::vector<FaultOutcome> faults;  // in the order of their numbers
  bool partial = false;
  std::string failure;  // why it is partial; empty: interrupted

  /// Rejected by no law. A fault that ended its process is none.
  std::vector<const FaultOutcome*> survivors() const;
  std::vector<const FaultOutcome*> crashed() const;
};

/// Which of the laws reject the kernel and do not fail the one without the fault on the same case; those that do are not
/// asked again. `dose` as in RunOptions.
void ask_laws(const Kernel& kernel, double dose, std::vector<LawOutcome>& outcomes);

/// What is asked of one fault; the default cases of the families (teeth_cases.h).
FaultOutcome ask_everything(const SeededFault& fault);

/// The faults whose id matches one of the patterns (all, if there are none), `jobs` of them at once, each asked by `ask` in a
/// process of its own. Throws UsageError for a pattern that matches nothing.
KillTable kill_table(const std::vector<std::string>& globs, int jobs,
                     const std::function<void(std::uint64_t done, std::uint64_t total)>& progress,
                     const std::function<FaultOutcome(const SeededFault&)>& ask = ask_everything);

/// For a terminal; for faults.md; for faults.json.
std::string kill_table_text(const KillTable& table);
std::string kill_table_markdown(const KillTable& table);
std::string kill_table_json(const KillTable& table);

}  // namespace flashproof
