#include "fuzz/archive/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "fuzz/archive/contents.h"
#include "fuzz/archive/open.h"
#include "fuzz/archive/rows.h"
#include "fuzz/archive/summary.h"
#include "fuzz/archive/text_rules.h"
#include "reference/system/error.h"

namespace flashproof {

using archive::Contents;
using sqlite::Transaction;

struct Archive::State {
  State(const std::filesystem::path& path, Open how) : database(archive::open_archive(path, how)), open(how) {
    for (auto& [key, elite] : archive::read_elites(database).elites) known.emplace(key, std::move(elite));
  }

  /// What the file holds now in the tables that `read` reads, and what is still to be written.
  Contents view(Contents (*read)(const sqlite::Database&)) const {
    Contents contents = read(database);
    contents.join(pending, Contents::Join::add);
    return contents;
  }

  /// The archive keeps `more` until it is written: whatever is thrown, the file is as before.
  void write(Contents& more, Contents::Join how) {
    if (open == Open::read_only) throw UsageError(fmt::format("{}: archive: opened for reading only", database.name()));
    Transaction transaction(database, Transaction::Kind::write);
    archive::write_all(database, more, how);
    transaction.commit();
    for (const auto& [key, elite] : more.elites) known.insert_or_assign(key, elite);
  }

  sqlite::Database database;
  Open open;
  std::unordered_map<std::string, Elite> known;  // by key; the worst that this process has seen or read
  Contents pending;
};

Archive::Archive(const std::filesystem::path& path, Open how) : state_(std::make_unique<State>(path, how)) {}
Archive::~Archive() = default;
Archive::Archive(Archive&&) noexcept = default;

void Archive::offer(const Elite& elite) {
  archive::check_ratio(elite);
  std::string key = archive::key_of(elite);
  const auto known = state_->known.find(key);
  if (known != state_->known.end() && !archive::wins(elite, known->second)) return;
  const Elite kept = archive::checked(elite);
  state_->pending.elites.insert_or_assign(key, kept);
  state_->known.insert_or_assign(std::move(key), kept);
}

void Archive::report(const Finding& finding, const std::string& run_id) {
  const std::string key = archive::key_of(finding);
  const auto there = state_->pending.findings.find(key);
  // A kernel that fails every time reports thousands of times a second: only the first one is copied.
  if (there == state_->pending.findings.end() || archive::earlier(finding, there->second) || !finding.witness.empty()) {
    state_->pending.keep(archive::checked(finding));
  }
  const archive::Hits more{std::max<std::uint64_t>(1, finding.hits), std::max(finding.first, finding.last)};
  archive::Hits& hits = state_->pending.hits[{key, archive::clean(run_id, archive::kKeyBytes)}];
  hits = archive::joined(hits, more, Contents::Join::add);
}

void Archive::record(const Run& run) {
  Run kept = archive::checked(run);
  state_->pending.runs.insert_or_assign(kept.id, kept);
}

void Archive::flush() {
  if (state_->pending.empty()) return;
  state_->write(state_->pending, Contents::Join::add);
  state_->pending = {};
}

void Archive::put_witness(const Finding& finding) {
  const Finding kept = archive::checked(finding);
  if (kept.witness.empty()) throw UsageError("archive: a witness is empty");
  state_->pending.keep(archive::key_of(kept), {kept.witness, kept.brief});
  flush();
}

std::vector<Elite> Archive::elites() const {
  std::vector<Elite> result;
  for (auto& [key, elite] : state_->view(archive::read_elites).elites) result.push_back(std::move(elite));
  return result;
}

std::vector<Finding> Archive::findings() const { return state_->view(archive::read_findings).whole_findings(); }

std::vector<Run> Archive::runs() const {
  std::vector<Run> result;
  for (auto& [id, run] : state_->view(archive::read_runs).runs) result.push_back(std::move(run));
  return result;
}

Summary Archive::summary() const { return archive::summary_of(state_->database); }

std::vector<Finding> Archive::unminimised() const { return archive::unminimised_in(state_->database); }

bool Archive::knows(const Finding& key) const { return archive::has_finding(state_->database, archive::key_of(key)); }

std::uint64_t Archive::executions(const std::string& run_id) const {
  return archive::executions_of(state_->database, archive::clean(run_id, archive::kKeyBytes));
}

std::optional<double> Archive::ratio(const Elite& key) const {
  const auto known = state_->known.find(archive::key_of(key));
  if (known == state_->known.end()) return std::nullopt;
  return known->second.ratio;
}

void Archive::merge(const Archive& other, Take take) {
  flush();  // this process's hits add up, the other's do not
  Contents more = other.state_->view(archive::read_all);
  if (take == Take::witnessed) more.drop_inputs();
  state_->write(more, Contents::Join::unite);
}

}  // namespace flashproof
