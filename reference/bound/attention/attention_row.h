// One head of attention, row by row: from the problem to the model of a row and to its preconditions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "reference/bound/attention/attention_domain.h"
#include "reference/bound/attention/attention_input.h"
#include "reference/bound/attention/attention_paths.h"
#include "reference/bound/attention/attention_scores.h"
#include "reference/bound/attention/attention_split.h"
#include "reference/bound/row/sums.h"

namespace flashproof::bound {

/// What the bound of one row is made of.
struct AttentionRow {
  RowModel model;
  RowWeights weights;
  EndingModel ending;
  ElementBound lse;                         // without its last rounding
  std::vector<Precondition> preconditions;  // v apart
  AccumulatorRange accumulator;
};

/// Everything that is kept from row to row. use_head() for each head of the input, then rows of its blocks.
class AttentionRows {
 public:
  /// `input` is of the same problem, and must outlive this.
  AttentionRows(const AttentionProblem& p, const Arithmetic& arithmetic, const AttentionInput& input);

  /// Of the head that the input has loaded.
  void use_head();
  /// Makes row i of the block that the input has loaded. False: the answer is symbolic, there is nothing to bound; the preconditions are those of
  /// its scores, if they alone leave it without a weight (README.md, section 8).
  bool build(std::int64_t i, AttentionRow& row);

  const AttentionHead& head() const { return input_.head(); }
  /// v_descale of the loaded head: the rows' bounds of o are those of Σ p v, and descaled() makes them those of its product.
  double value_factor() const { return value_factor_; }
  ElementBound descaled(const ElementBound& bound) const;
  /// max |v| of a column over the row's visible keys; +inf where one is not finite.
  double largest_value(const AttentionRow& row, std::int64_t column) const;

 private:
  bool collect_scores(std::int64_t i, Leaves& leaves);
  void use_scale(std::int64_t s, std::int64_t kv);
  void load_bias(std::int64_t query, std::int64_t first, std::int64_t count);
  bool append(const double* dot, std::int64_t i, std::int64_t first, std::int64_t count, bool biased, Leaves& leaves);
  void end_whole_row(AttentionRow& row) const;

  const AttentionProblem& p_;
  const Arithmetic& a_;
  // Of one scale: of the problem, or with descale factors of the loaded head.
  std::optional<ScoreModel> scores_;
  std::optional<AttentionPaths> paths_;
  std::optional<AttentionSplit> split_;
  double value_factor_ = 1;  // v_descale
  const AttentionInput& input_;
  ScoreRange range_;
  Scores made_;
  std::vector<double> bias_;
};

}  // namespace flashproof::bound
