// A hypothesis: what the truth would be if the kernel solved another problem, gave other keys weight, meant something else by
// lse, or computed with another arithmetic than it declares. Each is held against the output element by element (fit.h).
// To add one: a line in the list of its problem (hypotheses_*.cc) and a line in its test.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "reports/diagnose/terms.h"

namespace flashproof {

enum class LseMeaning : std::uint8_t { natural, base_2, maximum, negative };

/// What the terms of a row count, as exponents: o = Σ e^{numerator_j − lse} v_j, lse = ln(Σ e^{denominator_j} + e^extra).
struct RowWeights {
  std::vector<Real> numerator, denominator;
  Real extra = kNothing;      // the sink's, and what else counts without a value
  std::optional<Real> lse{};  // in place of what the sums say; o keeps its own
  LseMeaning meaning = LseMeaning::natural;
  bool undivided = false;        // o is Σ e^{numerator_j − m} v_j, m the largest score
  bool logarithm = false;        // softmax: o is s − lse
  std::int64_t from_column = 0;  // columns of o before it are as the truth has them
  // What the bound has to allow in addition: relative errors of the weights, and an absolute error of o in units of the largest
  // |v_j| that counts.
  std::vector<Real> weight_error{};
  Real value_error = 0;
  std::vector<Real> sum_error{};  // the same of the weights as the sum alone has them

  /// As the truth has it.
  explicit RowWeights(const RowTerms& terms);
  void drop(std::size_t term) { numerator[term] = denominator[term] = kNothing; }
};

struct Hypothesis {
  std::string id;        // "scale.twice"
  std::string sentence;  // without a full stop
  int complexity = 1;    // of two that explain the same the smaller is told
  bool widens = false;   // it explains by a wider bound, so that an output may fit it for less reason
  bool by_weight =
      false;  // of one that widens: every weight has an error of its own, so a row is not off by one factor
  bool one_signed = false;  // its errors are all towards 0, or around another truth all away from it
  // One of these. False: it is the same here. A problem that is not valid afterwards is none.
  std::function<bool(Problem&)> problem = nullptr;
  std::function<bool(const RowTerms&, RowWeights&)> row = nullptr;
  std::function<bool(const Problem&, Arithmetic&)> arithmetic = nullptr;
};

/// One that changes an attention problem: `apply` gets it, and says whether that was a change.
template <class Apply>
Hypothesis of_attention(const std::string& id, const std::string& sentence, Apply apply, int complexity = 1) {
  return {.id = id, .sentence = sentence, .complexity = complexity, .problem = [apply](Problem& p) {
            return apply(std::get<AttentionProblem>(p));
          }};
}

/// Those about a problem of this kind.
const std::vector<Hypothesis>& hypotheses(ProblemKind kind);
/// Null if there is none.
const Hypothesis* find_hypothesis(ProblemKind kind, std::string_view id);

// A file each.
void add_attention_hypotheses(std::vector<Hypothesis>& list);
void add_mask_hypotheses(std::vector<Hypothesis>& list);
void add_key_hypotheses(std::vector<Hypothesis>& list, ProblemKind kind);
void add_frame_hypotheses(std::vector<Hypothesis>& list);
void add_result_hypotheses(std::vector<Hypothesis>& list);
void add_merge_hypotheses(std::vector<Hypothesis>& list);
void add_softmax_hypotheses(std::vector<Hypothesis>& list);
void add_gradient_hypotheses(std::vector<Hypothesis>& list);
void add_arithmetic_hypotheses(std::vector<Hypothesis>& list, ProblemKind kind);

}  // namespace flashproof
