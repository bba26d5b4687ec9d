// What the three renderers share: counts and the summary matrix.
#include "reports/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "properties/generators/family.h"
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

namespace {

/// The most severe way of failing, in six letters with the + for others.
std::string failure_words(const FailureCounts& failures) {
  constexpr std::string_view kWords[kFailures] = {"",      "bound", "class", "laund", "leak",
                                                  "wrong", "vary",  "unwr",  "error"};
  std::string word;
  int kinds = 0;
  for (std::size_t i = 0; i < kFailures; ++i) {
    if (failures[i] == 0) continue;
    word = kWords[i];
    ++kinds;
  }
  return kinds > 1 ? word + "+" : word;
}

}  // namespace

std::string Cell::text() const {
  if (!present) return "";
  const bool measured = ratio >= 0 || ratio != ratio;
  const auto with_ratio = [&](const std::string& word) {
    return measured ? fmt::format("{} {}", word, short_number(ratio)) : word;
  };
  switch (kind) {
    case VerdictKind::pass:
      return with_ratio("pass");
    case VerdictKind::fail:
      return with_ratio("FAIL " + failure_words(failures));
    case VerdictKind::inconclusive:
      return with_ratio("open");
    case VerdictKind::vacuous:
      return "vacuous";
    case VerdictKind::out_of_domain:
      return "outside";
    case VerdictKind::unsupported:
      return "unsupp.";
  }
  return "";
}

Matrix make_matrix(const std::vector<Record>& records) {
  Matrix matrix;
  for (const Family& family : families()) matrix.families.emplace_back(family.name);
  for (const Record& r : records) {
    if (r.kernel->form == Form::broken) continue;
    if (std::find(matrix.kernels.begin(), matrix.kernels.end(), r.kernel) == matrix.kernels.end()) {
      matrix.kernels.push_back(r.kernel);
    }
    if (std::find(matrix.families.begin(), matrix.families.end(), r.family) == matrix.families.end()) {
      matrix.families.push_back(r.family);
    }
  }
  std::erase_if(matrix.families, [&](const std::string& family) {
    return std::none_of(records.begin(), records.end(),
                        [&](const Record& r) { return r.family == family && r.kernel->form != Form::broken; });
  });
  for (const std::string& family : matrix.families) {
    auto& row = matrix.cells.emplace_back();
    for (const Kernel* kernel : matrix.kernels) {
      Record sum;
      Cell cell;
      for (const Record& r : records) {
        if (r.kernel != kernel || r.family != family) continue;
        sum.merge(r);
        cell.present = true;
      }
      if (cell.present) {
        cell.kind = sum.verdict();
        cell.ratio = sum.max_ratio();
        cell.failures = sum.failures_by_case;
      }
      row.push_back(cell);
    }
  }
  return matrix;
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
