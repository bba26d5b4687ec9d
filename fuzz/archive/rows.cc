#include "fuzz/archive/rows.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "fuzz/archive/text_rules.h"

namespace flashproof::archive {
namespace {

using sqlite::Database;
using sqlite::Statement;

#define SUBJECT "target, kernel, format, executor, math"
constexpr const char* kElites =
    "SELECT " SUBJECT ", shape_class, term, ratio, case_line, input, place, found FROM elites";
constexpr const char* kFindings =
    "SELECT " SUBJECT ", what, shape_class, term, schedule, ratio, case_line, detail, input, first FROM findings";
constexpr const char* kHits = "SELECT " SUBJECT ", what, shape_class, term, run, hits, last FROM hits";
constexpr const char* kRuns = "SELECT id, " SUBJECT ", executions, judged, escalated, seconds FROM runs";
constexpr const char* kWitnesses = "SELECT " SUBJECT ", what, shape_class, term, bytes, brief FROM witnesses";
constexpr const char* kEliteKey = " WHERE (" SUBJECT ", shape_class, term) = (?, ?, ?, ?, ?, ?, ?)";
constexpr const char* kFindingKey = " WHERE (" SUBJECT ", what, shape_class, term) = (?, ?, ?, ?, ?, ?, ?, ?)";
constexpr const char* kRunOfFinding = " AND run = ?";
constexpr const char* kRunKey = " WHERE id = ?";
#undef SUBJECT

Elite elite_of(const Database& database, const Statement& row) {
  Elite elite;
  elite.subject = subject_of(row, 0);
  elite.shape_class = row.text(5, kKeyBytes);
  elite.term = row.text(6, kKeyBytes);
  elite.ratio = row.real(7);
  if (elite.ratio < 0 || elite.ratio > 1.7976931348623157e308) {
    database.damaged(fmt::format("the ratio of an elite is {}, must be finite and >= 0", elite.ratio));
  }
  elite.case_line = row.text(8, kLineBytes);
  elite.input = row.blob(9, kInputBytes);
  elite.where = row.text(10, kLineBytes);
  elite.found = row.integer(11);
  return elite;
}

Finding finding_of(const Database& database, const Statement& row) {
  Finding finding = finding_key_of(row);
  finding.schedule = row.text(8, kLineBytes);
  finding.ratio = row.real(9);
  if (finding.ratio < 0 && finding.ratio != -1) {
    database.damaged(fmt::format("the ratio of a finding is {}, must be >= 0, or -1", finding.ratio));
  }
  finding.case_line = row.text(10, kLineBytes);
  finding.detail = row.text(11, kLineBytes);
  finding.input = row.blob(12, kInputBytes);
  finding.first = row.integer(13);
  return finding;
}

Run run_of(const Database& database, const Statement& row) {
  Run run{row.text(0, kKeyBytes), subject_of(row, 1), row.count(6), row.count(7), row.count(8), row.real(9)};
  if (run.seconds < 0 || run.seconds > 1.7976931348623157e308) {
    database.damaged(fmt::format("the seconds of a run are {}, must be finite and >= 0", run.seconds));
  }
  return run;
}

/// key_of() undone.
template <std::size_t kNames>
std::array<std::string, kNames> names_of(const std::string& key) {
  std::array<std::string, kNames> names;
  std::size_t begin = 0;
  for (std::string& name : names) {
    const std::size_t end = key.find('\0', begin);
    name = key.substr(begin, end - begin);
    begin = end + 1;
  }
  return names;
}

template <class Row>
using Reader = Row (*)(const Database&, const Statement&);

/// The row of this key, if there is one.
template <class Row, class Key>
std::optional<Row> find(const Database& database, Statement& select, const Key& key, Reader<Row> read) {
  std::apply([&](const auto&... names) { select.query(names...); }, key);
  if (!select.step()) return std::nullopt;
  return read(database, select);
}

template <class Key, class... T>
void write(Statement& replace, const Key& key, const T&... values) {
  std::apply([&](const auto&... names) { replace.run(names..., values...); }, key);
}

Witness witness_of(const Database& database, const Statement& row) {
  Witness witness{row.blob(8, kWitnessBytes), row.text(9, kLineBytes)};
  if (witness.bytes.empty()) database.damaged("a witness is empty");
  return witness;
}

Hits hits_of(const Database&, const Statement& row) { return {row.count(9), row.integer(10)}; }

void write_elites(const Database& database, std::map<std::string, Elite>& elites) {
  if (elites.empty()) return;
  Statement select(database, std::string(kElites) + kEliteKey);
  Statement replace(database, "REPLACE INTO elites VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (auto& [key, elite] : elites) {
    const auto names = names_of<7>(key);
    auto there = find<Elite>(database, select, names, elite_of);
    if (!there || wins(elite, *there)) {
      write(replace, names, elite.ratio, elite.case_line, elite.input, elite.where, elite.found);
    } else {
      elite = std::move(*there);
    }
  }
}

void write_findings(const Database& database, const Contents& more, Contents::Join how) {
  Statement select(database, std::string(kFindings) + kFindingKey);
  Statement replace(database, "REPLACE INTO findings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const auto& [key, finding] : more.findings) {
    const auto names = names_of<8>(key);
    const auto there = find<Finding>(database, select, names, finding_of);
    if (there && !earlier(finding, *there)) continue;
    write(replace, names, finding.schedule, finding.ratio, finding.case_line, finding.detail, finding.input,
          finding.first);
  }
  Statement select_witness(database, std::string(kWitnesses) + kFindingKey);
  Statement replace_witness(database, "REPLACE INTO witnesses VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const auto& [key, witness] : more.witnesses) {
    const auto names = names_of<8>(key);
    const auto there = find<Witness>(database, select_witness, names, witness_of);
    if (!there || smaller(witness, *there)) write(replace_witness, names, witness.bytes, witness.brief);
  }
  Statement select_hits(database, std::string(kHits) + kFindingKey + kRunOfFinding);
  Statement replace_hits(database, "REPLACE INTO hits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const auto& [of, count] : more.hits) {
    const auto key = std::tuple_cat(names_of<8>(of.first), std::tie(of.second));
    const Hits there = find<Hits>(database, select_hits, key, hits_of).value_or(Hits{});
    const Hits both = joined(there, count, how);
    if (both.hits != there.hits || both.last != there.last) write(replace_hits, key, both.hits, both.last);
  }
}

void write_runs(const Database& database, const Contents& more, Contents::Join how) {
  Statement select(database, std::string(kRuns) + kRunKey);
  Statement replace(database, "REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const auto& [id, run] : more.runs) {
    const auto there = find<Run>(database, select, std::tie(id), run_of);
    if (there && how == Contents::Join::unite && !further(run, *there)) continue;
    const Subject& who = run.subject;
    replace.run(id, who.target, who.kernel, who.format, who.executor, who.math, run.executions, run.judged,
                run.escalated, run.seconds);
  }
}

}  // namespace

Subject subject_of(const Statement& row, int at) {
  const auto name = [&] { return row.text(at++, kKeyBytes); };
  Subject subject;
  for (std::string* field : {&subject.target, &subject.kernel, &subject.format, &subject.executor, &subject.math}) {
    *field = name();
  }
  return subject;
}

Finding finding_key_of(const Statement& row) {
  Finding finding;
  finding.subject = subject_of(row, 0);
  finding.what = row.text(5, kKeyBytes);
  finding.shape_class = row.text(6, kKeyBytes);
  finding.term = row.text(7, kKeyBytes);
  return finding;
}

namespace {

void add_elites(const Database& database, Contents& contents) {
  Statement select(database, kElites);
  for (select.query(); select.step();) {
    Elite elite = elite_of(database, select);
    std::string key = key_of(elite);
    contents.elites.insert_or_assign(std::move(key), std::move(elite));
  }
}

void add_findings(const Database& database, Contents& contents) {
  Statement findings(database, kFindings);
  for (findings.query(); findings.step();) contents.keep(finding_of(database, findings));
  Statement witnesses(database, kWitnesses);
  for (witnesses.query(); witnesses.step();) {
    contents.keep(key_of(finding_key_of(witnesses)), witness_of(database, witnesses));
  }
  Statement hits(database, kHits);
  for (hits.query(); hits.step();) {
    contents.hits[{key_of(finding_key_of(hits)), hits.text(8, kKeyBytes)}] = hits_of(database, hits);
  }
}

void add_runs(const Database& database, Contents& contents) {
  Statement runs(database, kRuns);
  for (runs.query(); runs.step();) {
    Run run = run_of(database, runs);
    contents.runs.insert_or_assign(run.id, run);
  }
}

/// Several tables of one moment.
template <class... Add>
Contents read_tables(const Database& database, Add... add) {
  sqlite::Transaction transaction(database, sqlite::Transaction::Kind::read);
  Contents contents;
  (add(database, contents), ...);
  return contents;
}

}  // namespace

Contents read_elites(const Database& database) { return read_tables(database, add_elites); }
Contents read_findings(const Database& database) { return read_tables(database, add_findings); }
Contents read_runs(const Database& database) { return read_tables(database, add_runs); }
Contents read_all(const Database& database) { return read_tables(database, add_elites, add_findings, add_runs); }

bool has_finding(const Database& database, const std::string& key) {
  Statement select(database, std::string("SELECT 1 FROM findings") + kFindingKey);
  const auto names = names_of<8>(key);
  std::apply([&](const auto&... name) { select.query(name...); }, names);
  return select.step();
}

void write_all(const Database& database, Contents& more, Contents::Join how) {
  write_elites(database, more.elites);
  write_findings(database, more, how);
  write_runs(database, more, how);
}

}  // namespace flashproof::archive
