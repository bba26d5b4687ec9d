// Rows of an archive's tables to and from memory; what is read is checked.
#pragma once

#include <string>

#include "fuzz/archive/contents.h"
#include "fuzz/archive/sqlite.h"

namespace flashproof::archive {

/// Everything, in one read transaction. UsageError for a row that no archive of ours has.
Contents read_all(const sqlite::Database& database);
// Only these; of findings also witnesses and hits.
Contents read_elites(const sqlite::Database& database);
Contents read_findings(const sqlite::Database& database);
Contents read_runs(const sqlite::Database& database);

// The names that a row begins with.
Subject subject_of(const sqlite::Statement& row, int at);
Finding finding_key_of(const sqlite::Statement& row);

/// Whether there is one of this key_of().
bool has_finding(const sqlite::Database& database, const std::string& key);

/// Joins `more` with what is there; to be called inside a write transaction. Elites that lose are replaced in `more`.
void write_all(const sqlite::Database& database, Contents& more, Contents::Join how);

}  // namespace flashproof::archive
