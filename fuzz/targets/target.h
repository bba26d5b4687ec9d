// What a fuzz target is: which kernels it takes, and how one input becomes a score. The bytes, the archive and the engine are
// the session's business (session.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/archive/archive.h"
#include "fuzz/batch/batch.h"
#include "fuzz/input/codec.h"
#include "fuzz/score/score.h"

namespace flashproof {

/// What can be fuzzed: a kernel (or two, "id|id") in a format, and its form.
struct TargetSubject {
  std::string kernel;
  std::string form;  // published, hardened, broken
  Format format;
};

/// An input, run.
struct Scored {
  Score score = {};
  std::string case_line;
  std::string shape_class, finding_class;  // shape_class.h
};

/// What a smaller case must still do to be the same finding (Score).
struct Defect {
  std::string what, term;

  bool shown_by(const Score& score) const { return score.what == what && score.term == term; }
};

/// A finding at its smallest.
struct Minimised {
  std::vector<std::byte> witness;  // the file
  std::string brief;
};

/// As BatchResult, of inputs: none where Target::run would throw UsageError.
struct ScoredBatch {
  std::vector<std::optional<Scored>> results;
  bool lost = false;
  std::vector<std::size_t> together;  // indices of inputs
  std::string why;
  std::vector<std::vector<std::size_t>> failed_launches = {};
};

struct Target {
  std::string_view name;
  /// In a fixed order: an input's kernel byte counts through them.
  std::vector<TargetSubject> (*subjects)();
  /// Throws UsageError for what the family or the witness refuses; Score::ran is false for what the kernel does.
  Scored (*run)(const TargetSubject& subject, const FuzzInput& input, Executor executor);
  /// The smallest case that shows the defect. Throws UsageError if `input` does not. At most `tries` runs, and none once
  /// stop() is true.
  Minimised (*minimise)(const TargetSubject& subject, const FuzzInput& input, Executor executor, const Defect& defect,
                        int tries, const std::function<bool()>& stop);
  ProblemKind (*problem)(const TargetSubject& subject);  // what the input's bytes are decoded as
  /// Many inputs without laws in few launches, judged by threads. Null: the target runs them one by one.
  ScoredBatch (*run_batch)(const TargetSubject& subject, std::span<const FuzzInput> inputs,
                           const BatchOptions& options) = nullptr;
};

/// The input with the subject's format in its recipe: what is run, and what describe() shall say.
FuzzInput in_format(const TargetSubject& subject, FuzzInput input);
/// Where and under which schedule an input runs.
RunOptions run_options(const FuzzInput& input, Executor executor);

/// Of this program: each target's file defines it.
Target fuzz_target();

}  // namespace flashproof
