// The content of an archive in memory, and the rules by which two contents become one.
//
// Every rule takes the first of a total order, a sum over runs or a maximum, so joining is idempotent, commutative and associative.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/archive/archive.h"

namespace flashproof::archive {

/// The names of the key with NUL between them, each clean(): ordered as the names are.
std::string key_of(const Elite& elite);
std::string key_of(const Finding& finding);

/// Is `a` the one to keep? The larger ratio, of equals the smaller input, then the lesser bytes; of equals in that, the older
/// and the lesser texts.
bool wins(const Elite& a, const Elite& b);
/// Of two reports of one finding the one to keep: the older; of equals the smaller input, then the lesser bytes, then the
/// other fields. Not compared: witness, brief, hits, last.
bool earlier(const Finding& a, const Finding& b);
/// Of two records of one run the one to keep: more executions, then the larger of the other fields.
bool further(const Run& a, const Run& b);

/// UsageError unless it is finite and >= 0.
void check_ratio(const Elite& elite);
/// As it may stand in an archive: clean texts. UsageError if a number or a size is outside what archive.h says.
Elite checked(Elite elite);
Finding checked(Finding finding);
Run checked(Run run);

/// Of one finding in one run.
struct Hits {
  std::uint64_t hits = 0;
  std::int64_t last = 0;  // seconds since 1970, UTC
};

/// Of a finding, made smaller.
struct Witness {
  std::vector<std::uint8_t> bytes;  // not empty
  std::string brief;
};
/// The smaller, of equals the lesser bytes, then the lesser text.
bool smaller(const Witness& a, const Witness& b);

/// At most what SQLite's integers hold, 2^63 − 1.
std::uint64_t saturated_sum(std::uint64_t a, std::uint64_t b);

struct Contents {
  std::map<std::string, Elite> elites;       // by key_of
  std::map<std::string, Finding> findings;   // by key_of; their witness, brief, hits and last stand below
  std::map<std::string, Witness> witnesses;  // by key_of the finding
  std::map<std::pair<std::string, std::string>, Hits> hits;  // by key_of the finding and the run's id
  std::map<std::string, Run> runs;                           // by id

  bool empty() const;
  // Of two of one key the better one.
  void keep(Elite elite);
  void keep(Finding finding);
  void keep(const std::string& key, Witness witness);

  /// How two counts of one run become one: `add` for what a process has counted since it last wrote (hits add up, a run's
  /// record is replaced), `unite` where both may have counted the same (the larger hits, the further record).
  enum class Join : std::uint8_t { add, unite };
  void join(const Contents& other, Join how);

  /// Leaves what says something without an input: the runs, and findings that have a witness.
  void drop_inputs();

  /// The findings with their witnesses and their hits over all runs, by key.
  std::vector<Finding> whole_findings() const;
};
Hits joined(const Hits& a, const Hits& b, Contents::Join how);

}  // namespace flashproof::archive
