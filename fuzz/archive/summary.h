// What an archive amounts to, by SQL over the columns that are small: no input, no witness and no case line is read.
#pragma once

#include <string>
#include <vector>

#include "fuzz/archive/archive.h"
#include "fuzz/archive/sqlite.h"

namespace flashproof::archive {

// UsageError for numbers that no archive of ours adds up to.
Summary summary_of(const sqlite::Database& database);
/// The keys of findings without a witness.
std::vector<Finding> unminimised_in(const sqlite::Database& database);
/// Of the run with this id; 0 if there is none.
std::uint64_t executions_of(const sqlite::Database& database, const std::string& run_id);

}  // namespace flashproof::archive
