// What the three renderers share: the summary matrix, findings with their witnesses, atomic files.
#include "reports/report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "kernels/simt/schedule.h"
#include "properties/generators/family.h"
#include "properties/laws/law.h"
#include "reference/problem/error.h"
#include "reference/problem/witness.h"
#include "reports/text.h"

namespace flashproof {

namespace fs = std::filesystem;

std::uint64_t count_of(const Record& record, VerdictKind kind) {
  return record.by_case[static_cast<std::size_t>(kind)];
}

std::uint64_t rejections(const Record& record) {
  for (std::size_t i = 0; i < record.laws.size(); ++i) {
    if (laws()[i].name == record.kernel->rejected_by)
      return record.laws[i][static_cast<std::size_t>(VerdictKind::fail)];
  }
  return 0;
}

namespace {

/// The most severe way of failing in five or six letters, and a + if there are others.
std::string failure_words(const FailureCounts& failures) {
  constexpr std::string_view kWords[kFailures] = {"",       "bound",  "class", "laund", "leak",
                                                  "silent", "nondet", "unwr",  "error"};
  std::string word;
  int kinds = 0;
  for (std::size_t i = 0; i < kFailures; ++i) {
    if (failures[i] == 0) continue;
    word = kWords[i];
    ++kinds;
  }
  return kinds > 1 && word.size() < 6 ? word + "+" : word;
}

}  // namespace

std::string Cell::text() const {
  if (!present) return "";
  const bool measured = ratio >= 0 || ratio != ratio;
  const auto with_ratio = [&](const char* word) {
    return measured ? fmt::format("{} {}", word, short_number(ratio)) : std::string(word);
  };
  switch (kind) {
    case VerdictKind::pass:
      return with_ratio("pass");
    case VerdictKind::fail:
      return "FAIL " + failure_words(failures);
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
      Record f32;
      Cell cell;
      for (const Record& r : records) {
        if (r.kernel != kernel || r.family != family) continue;
        sum.merge(r);
        if (r.format == Format::f32) f32.merge(r);
        cell.present = true;
      }
      if (cell.present) {
        cell.kind = sum.verdict();
        cell.ratio = f32.cases > 0 ? f32.max_ratio() : sum.max_ratio();
        cell.failures = sum.failures_by_case;
      }
      row.push_back(cell);
    }
  }
  return matrix;
}

std::string worst_case_line(const Plan& plan, const Record& record) {
  return record.worst ? one_line(to_string(plan.cases.at(record.worst->case_index).spec)) : "-";
}

std::vector<Finding> write_findings(const Plan& plan, const std::vector<Record>& records, const fs::path& out) {
  std::vector<Finding> findings;
  for (const Record& record : records) {
    if (record.verdict() != VerdictKind::fail) continue;
    Finding finding{&record, worst_case_line(plan, record), {}};
    Witness witness;
    try {
      witness.content = plan.make(record.worst->case_index);
    } catch (const UsageError&) {
      findings.push_back(finding);
      continue;
    }
    witness.notes = {{"kernel", std::string(record.kernel->id)},
                     {"executor", std::string(name(record.executor))},
                     {"schedule", simt::to_string(plan.schedule)},
                     {"verdict", to_string(Verdict{record.worst->verdict.kind, record.worst->verdict.failure, {}})}};
    const char* suffix = record.executor == Executor::cuda ? ".cuda" : "";
    const fs::path path =
        out / "witnesses" /
        fmt::format("{}.{}.{}{}.safetensors", record.kernel->id, info(record.format).name, record.family, suffix);
    fs::create_directories(path.parent_path());
    write_witness(path, witness);
    finding.witness = path.string();
    findings.push_back(std::move(finding));
  }
  const auto rank = [](const Finding& f) {
    return f.record->kernel->form == Form::hardened ? 0 : f.record->kernel->form == Form::published ? 1 : 2;
  };
  std::sort(findings.begin(), findings.end(), [&](const Finding& a, const Finding& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : key_less(*a.record, *b.record);
  });
  return findings;
}

std::string replay_command(const Finding& finding) {
  const std::string& target = finding.witness.empty() ? finding.case_line : finding.witness;
  const bool plain = target.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:=,+") == std::string::npos;
  if (plain) return "./flashproof replay " + target;
  std::string quoted_target = "'";
  for (const char c : target) quoted_target += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "./flashproof replay " + quoted_target + "'";
}

namespace {

[[noreturn]] void cannot_write(const fs::path& path) {
  throw InfrastructureError(fmt::format("{}: cannot write: {}", one_line(path.string()), std::strerror(errno)));
}

}  // namespace

void write_atomically(const fs::path& path, std::string_view text) {
  const fs::path temporary = path.string() + fmt::format(".{}.part", ::getpid());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) cannot_write(path);
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int why = errno;
      ::close(fd), ::unlink(temporary.c_str());
      errno = why;
      cannot_write(path);
    }
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::close(fd) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
    const int why = errno;
    ::unlink(temporary.c_str());
    errno = why;
    cannot_write(path);
  }
}

void require_writable(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error || !fs::is_directory(directory, error)) {
    throw InfrastructureError(fmt::format("--out {}: cannot create the directory: {}", one_line(directory.string()),
                                          error ? error.message() : "a file is in the way"));
  }
  const fs::path probe = directory / fmt::format(".write-test.{}", ::getpid());
  const int fd = ::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    throw InfrastructureError(
        fmt::format("--out {}: cannot write there: {}", one_line(directory.string()), std::strerror(errno)));
  }
  ::close(fd);
  ::unlink(probe.c_str());
}

}  // namespace flashproof
