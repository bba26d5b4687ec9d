#include "fuzz/archive/summary.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "fuzz/archive/contents.h"
#include "fuzz/archive/rows.h"
#include "fuzz/archive/text_rules.h"

namespace flashproof::archive {
namespace {

using sqlite::Database;
using sqlite::Statement;

#define SUBJECT "target, kernel, format, executor, math"
// total() adds as doubles: sum() fails where integers overflow, and a count above 2^53 is for people in any case.
constexpr const char* kRunTotals = "SELECT " SUBJECT ", total(executions), total(seconds) FROM runs GROUP BY " SUBJECT;
// Of an aggregate max() SQLite takes the other columns from the row that has it (lang_select.html, "bare columns").
constexpr const char* kWorst = "SELECT " SUBJECT ", shape_class, term, max(ratio) FROM elites GROUP BY " SUBJECT;
constexpr const char* kCounts = "SELECT " SUBJECT ", count(*) FROM findings GROUP BY " SUBJECT;
constexpr const char* kUnminimised = "SELECT " SUBJECT ", what, shape_class, term FROM findings EXCEPT SELECT " SUBJECT
                                     ", what, shape_class, term FROM witnesses";
#undef SUBJECT

double legal(const Database& database, const char* what, double value) {
  if (value >= 0) return value;
  database.damaged(fmt::format("{} add up to {}, must be >= 0", what, value));
}

/// At most what an archive's counts hold.
std::uint64_t whole(double value) {
  constexpr double kMost = 0x1p63;
  return value >= kMost ? (std::uint64_t{1} << 63U) - 1 : static_cast<std::uint64_t>(value);
}

Elite worst_of(const Database& database, const Statement& row) {
  Elite elite;
  elite.subject = subject_of(row, 0);
  elite.shape_class = row.text(5, kKeyBytes);
  elite.term = row.text(6, kKeyBytes);
  elite.ratio = legal(database, "the ratios of elites", row.real(7));
  if (!std::isfinite(elite.ratio)) database.damaged("the ratio of an elite is infinite, must be finite and >= 0");
  return elite;
}

}  // namespace

Summary summary_of(const Database& database) {
  const sqlite::Transaction transaction(database, sqlite::Transaction::Kind::read);  // all tables of one moment
  std::map<Subject, SubjectTotals> by_subject;
  Summary all;
  Statement runs(database, kRunTotals);
  for (runs.query(); runs.step();) {
    SubjectTotals& one = by_subject[subject_of(runs, 0)];
    one.executions = whole(legal(database, "the executions of runs", runs.real(5)));
    one.seconds = legal(database, "the seconds of runs", runs.real(6));
    all.executions = saturated_sum(all.executions, one.executions);
    all.seconds += one.seconds;
  }
  Statement worst(database, kWorst);
  for (worst.query(); worst.step();) {
    const Elite elite = worst_of(database, worst);
    by_subject[elite.subject].worst = elite;
    if (!all.worst || elite.ratio > all.worst->ratio) all.worst = elite;
  }
  Statement counts(database, kCounts);
  for (counts.query(); counts.step();) {
    const std::uint64_t findings = counts.count(5);
    by_subject[subject_of(counts, 0)].findings = findings;
    all.findings = saturated_sum(all.findings, findings);
  }
  for (auto& [subject, one] : by_subject) {
    one.subject = subject;
    all.subjects.push_back(std::move(one));
  }
  return all;
}

std::vector<Finding> unminimised_in(const Database& database) {
  std::vector<Finding> result;
  Statement select(database, kUnminimised);
  for (select.query(); select.step();) result.push_back(finding_key_of(select));
  return result;
}

std::uint64_t executions_of(const Database& database, const std::string& run_id) {
  Statement select(database, "SELECT executions FROM runs WHERE id = ?");
  select.query(run_id);
  return select.step() ? select.count(0) : 0;
}

}  // namespace flashproof::archive
