// A report.json (schema flashproof.report/5) as comparing needs it: which cases ran, and per kernel x format x executor x
// math x family what became of them.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "reports/compare/classes.h"
#include "reports/statistics/octaves.h"

namespace flashproof::compare {

struct Key {
  std::string kernel, format, executor, math, family;

  auto operator<=>(const Key&) const = default;
  /// "kernel/format/executor/math/family".
  std::string text() const;
};

/// Of one output tensor. Numbers may be inf or nan.
struct TensorFigures {
  std::uint64_t elements = 0, finite_elements = 0;
  double max_ratio = 0, max_ulp = 0, mean_abs = 0, rmse = 0;
  double bias = 0, bias_limit = 0;  // mean signed error, and what chance allows
  std::uint64_t bias_elements = 0;  // that the mean is of
  bool biased = false;
  UlpOctaves octaves;
};

/// The element with the worst error/bound, of the worst case.
struct WitnessOf {
  std::string case_line, verdict, tensor;
  std::string replay;  // the command; of the recipe, which works in every checkout, else as the report gives it
  std::uint64_t index = 0;
  double computed = 0, exact = 0, error = 0, ratio = -1;
};

struct RecordOf {
  Key key;
  std::uint64_t cases = 0;
  std::string seeds;                             // "0..11,20": of its cases; the same ones are the same cases
  ClassCounts classes{};                         // of the cases
  std::optional<ClassSeeds> class_seeds = {};    // all of the cases; none where the report does not say
  double max_ratio = -1;                         // -1: nothing was measured
  std::map<std::string, TensorFigures> figures;  // by tensor
  std::optional<WitnessOf> witness;
  std::size_t digest = 0;  // of everything that the record measured: equal records have equal ones

  /// The command that replays one of its cases: the witness's, for another seed; "" where there is none.
  std::string replay_of(std::uint64_t seed) const;
};

/// What makes cases the same ones, and what a reader wants to know of a run.
struct RunOf {
  std::uint64_t seed = 0;
  std::string tier, revision, gpu, compiler, profile, partial;  // partial: "" or why
};

struct Document {
  std::string name;  // the file, or what else a reader knows it by
  std::vector<RunOf> runs;
  std::map<Key, RecordOf> records;
  std::string bench;  // Google Benchmark's JSON, "" without

  /// "" or why the first partial run is.
  std::string partial() const;
  /// "a1b2c3d4 (seed 0, default)".
  std::string label() const;
};

/// Throws UsageError: not this schema, cut short, a field that is missing or of another type (by its path), twice the same
/// record; InfrastructureError if the file cannot be read. A file's records are also held against themselves (record_claims.h).
Document read_document(const std::string& file);
Document document_of(const nlohmann::json& json, const std::string& name);

}  // namespace flashproof::compare
