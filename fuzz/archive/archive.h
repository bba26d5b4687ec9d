// What a campaign has found, in one SQLite file: the worst err/bound of every subject (elites), and every defect (findings).
//
// Many processes of one machine write to one archive at once (WAL). What a process offers is kept in memory and written
// by flush(), in one transaction; a program that flushes once a second loses at most a second when it is killed. Archives of several
// machines are merged: merging is idempotent, commutative and associative, so a shard that ran twice or is merged twice
// counts once. A merge takes any archive that one process of this machine can read; WAL itself is for the processes of one
// machine, so each shard has its own file. While an archive is open, FILE-wal and FILE-shm beside it belong to it: copy
// them along, or use merge.
//
// Texts are UTF-8 without NUL: what a process offers is made so, and cut (names 1 KiB, lines 64 KiB). An input has at most
// 16 MiB, a witness 256 MiB (UsageError).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flashproof {

/// Who was fuzzed.
struct Subject {
  std::string target;    // of fuzz/targets: "attention"
  std::string kernel;    // id; of differential "id|id"; of witness ""
  std::string format;    // "f32"
  std::string executor;  // "cpu" or "cuda"
  std::string math;      // "det": the only arithmetic that is fuzzed

  auto operator<=>(const Subject&) const = default;
};

/// The worst case of a subject in one class of shapes and one term of the bound.
struct Elite {
  Subject subject = {};
  std::string shape_class = {};          // which mask and features: fuzz/score/shape_class.h
  std::string term = {};                 // name(Term), "o.weights"; dq, dk, dv for gradients
  double ratio = 0;                      // (error − radius of the truth) / bound, finite, >= 0
  std::string case_line = {};            // the recipe, for people
  std::vector<std::uint8_t> input = {};  // the bytes that the target decodes
  std::string where = {};                // which element, describe()
  std::int64_t found = 0;                // seconds since 1970, UTC

  bool same_key(const Elite& other) const;
};

/// One defect, however often it was hit. The key is (subject, what, shape_class, term).
struct Finding {
  Subject subject = {};
  std::string
      what;  // Failure name of the verdict ("exceeds_bound"), or "crash", "hang", "sanitizer"; of a relating law "law:failure"
  std::string shape_class = {};
  std::string term = {};      // the dominant one of the bound; empty if no element stands out
  std::string schedule = {};  // simt::to_string
  double ratio = -1;          // err/bound of the element, >= 0, perhaps infinite; −1: nothing was measured
  std::string case_line = {};
  std::string detail = {};               // one line
  std::vector<std::uint8_t> input = {};  // the bytes that hit it first
  // Written by the minimiser, empty before: a .safetensors file, and what it holds (no brief without a witness).
  std::vector<std::uint8_t> witness = {};
  std::string brief = {};
  std::uint64_t hits = 0;
  std::int64_t first = 0, last = 0;  // seconds since 1970, UTC

  bool same_key(const Finding& other) const;
};

/// Whether its input may be run again, in a process that goes on: not what ends one (a crash; on a GPU also a kernel that breaks
/// the rules of its memory), nor what a case did only in a launch with others ("batch:...").
bool minimisable(const Finding& finding);

/// Work done by one process, so that merged archives can say how much was tried. `id` is unique: shard, restart, pid, start.
struct Run {
  std::string id = {};
  Subject subject = {};
  std::uint64_t executions = 0, judged = 0,
                escalated = 0;  // inputs; cases that ran; rows that climbed past the first tier
  double seconds = 0;
};

/// What one subject amounts to.
struct SubjectTotals {
  Subject subject;
  std::uint64_t executions = 0, findings = 0;
  double seconds = 0;          // of its runs, added up
  std::optional<Elite> worst;  // the largest ratio, of equals the first by key: its key and its ratio alone
};
struct Summary {
  std::vector<SubjectTotals> subjects;  // sorted
  std::uint64_t executions = 0, findings = 0;
  double seconds = 0;
  std::optional<Elite> worst;
};

/// Throws UsageError (one line, the file's name) for a file that is no archive, of another version or damaged;
/// InfrastructureError for what the machine refuses: no space, no permission, locked for longer than 30 s. After either the
/// file holds what the last complete flush() left, and what was offered since is kept for the next one. An archive is for one
/// thread, and not to be used on both sides of a fork().
class Archive {
 public:
  /// create: makes a new one where nothing is (or an empty file). read_only: the file may lie where nothing can be written; what
  /// is offered cannot be flushed (UsageError).
  enum class Open : std::uint8_t { create, existing, read_only };
  /// Checks all pages, so that damage shows here and not after hours: 0.1 s for 5,000 elites of 4 KiB.
  Archive(const std::filesystem::path& path, Open how);
  ~Archive();  // does not flush
  Archive(Archive&&) noexcept;

  /// Keeps the elite if it is worse than what this process knows: the larger ratio, of equals the smaller input, then the
  /// lesser bytes (then the older one). UsageError for a ratio that is NaN, infinite or negative. Without a disk or a lock: for the hot path.
  void offer(const Elite& elite);
  /// Adds its hits (at least 1: a report is a hit) to the finding of its key, for this run. The finding's other fields are those of
  /// the oldest report. UsageError for a ratio that is NaN or below 0 and not −1.
  void report(const Finding& finding, const std::string& run_id);
  /// The run's present totals, in place of the last ones.
  void record(const Run& run);
  /// Writes what was offered since the last one; nothing to write costs nothing.
  void flush();

  /// Puts the minimised witness to the finding of this key, unless it has one that is not larger, and flushes.
  void put_witness(const Finding& finding);

  // What the file holds now, written by any process, and what this process has not flushed yet. UsageError for a row that no archive has.
  std::vector<Elite> elites() const;      // by key
  std::vector<Finding> findings() const;  // by key; hits are summed over the runs
  std::vector<Run> runs() const;          // by id

  // The same without inputs and witnesses, for callers that ask often: of the file alone, what was not flushed is left out.
  Summary summary() const;
  std::vector<Finding> unminimised() const;                   // findings without a witness, by key; their keys alone
  bool knows(const Finding& key) const;                       // a finding of this key
  std::uint64_t executions(const std::string& run_id) const;  // 0 for a run that is not there
  /// The largest ratio that this process knows for this key, from memory: of the file when it was opened, and of its own offers since.
  std::optional<double> ratio(const Elite& key) const;

  /// Flushes, then takes over what `other` has, in one transaction. Of a run in both the one with more executions counts, and of its hits
  /// of a finding the larger number; of a finding the older report and the smaller witness.
  /// `witnessed`: only runs and findings that have a witness, these without their inputs: for archives whose inputs stand for
  /// other cases than ours.
  enum class Take : std::uint8_t { all, witnessed };
  void merge(const Archive& other, Take take = Take::all);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flashproof
