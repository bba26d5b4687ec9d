// Opening an archive: makes a new one, and refuses what is none before anything is written to it.
#pragma once

#include <filesystem>

#include "fuzz/archive/archive.h"
#include "fuzz/archive/sqlite.h"

namespace flashproof::archive {

/// A connection to an archive of this version, in WAL mode, whose pages and tables have been checked. Errors: archive.h.
sqlite::Database open_archive(const std::filesystem::path& path, Archive::Open how);

}  // namespace flashproof::archive
