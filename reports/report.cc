// What the three renderers share.
#include "reports/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/problem/atomic_file.h"
#include "reference/problem/error.h"
#include "reports/text.h"

namespace flashproof {

namespace fs = std::filesystem;

std::uint64_t count_of(const Record& record, VerdictKind kind) {
  return record.by_case[static_cast<std::size_t>(kind)];
}

Open open_of(const std::vector<Record>& records) {
  constexpr auto kOpen = static_cast<std::size_t>(VerdictKind::inconclusive);
  Open open;
  for (const Record& r : records) {
    open.elements += r.o.verdicts[kOpen] + r.lse.verdicts[kOpen];
    open.runs += r.by_case[kOpen];
  }
  return open;
}

bool has_finding(const std::vector<Record>& records, bool nightly) {
  const Open open = open_of(records);
  if (nightly && (open.elements > 0 || open.runs > 0)) return true;
  return std::any_of(records.begin(), records.end(), [](const Record& r) {
    return r.kernel->form == Form::hardened && count_of(r, VerdictKind::fail) > 0;
  });
}

std::string open_line(const std::vector<Record>& records, bool nightly) {
  const Open open = open_of(records);
  if (open.elements == 0 && open.runs == 0) return "";
  return fmt::format("Inconclusive at the oracle's last tier: {} elements, {} runs{}.\n", open.elements, open.runs,
                     nightly ? ": a nightly run fails for it" : "");
}

void require_writable(const fs::path& directory, std::string_view option) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error || !fs::is_directory(directory, error)) {
    throw InfrastructureError(fmt::format("{} {}: cannot create the directory: {}", option,
                                          one_line(directory.string()),
                                          error ? error.message() : "a file is in the way"));
  }
  try_writing_in(directory);
}

}  // namespace flashproof
