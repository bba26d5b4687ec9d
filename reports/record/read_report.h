// report.json back into a Report: records with exact statistics, of kernels that this build need not have.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "reports/record/report.h"

namespace flashproof {

/// Kernels as files name them, each (id, math) once, so that records of two files point to the same one.
class KernelNames {
 public:
  KernelNames();
  ~KernelNames();
  KernelNames(const KernelNames&) = delete;
  KernelNames& operator=(const KernelNames&) = delete;

  /// Throws UsageError, with `place` in front, if the kernel is known with another problem, form or defect.
  const Kernel& kernel(const std::string& place, const std::string& id, Math math, ProblemKind problem, Form form,
                       const std::string& defect);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads what json_text() writes, packed or spelled out, and nothing else: after reading, the report is written again, and
/// every figure of the file must be the one that its own statistics give. Throws UsageError that names the file, the place,
/// what was found and what is legal; InfrastructureError where the file cannot be read. `names` must outlive the report.
Report read_report(const std::string& file, KernelNames& names);
/// The same, with names of its own; of a file or of the text of the one that `name` names.
Report read_report(const std::string& file);
Report read_report_text(std::string_view text, const std::string& name);

}  // namespace flashproof
