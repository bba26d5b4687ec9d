// What a softmax may have returned in place of itself.
#include "reports/diagnose/hypotheses/hypothesis.h"

namespace flashproof {

void add_softmax_hypotheses(std::vector<Hypothesis>& list) {
  list.push_back({.id = "softmax.logarithm",
                  .sentence = "o is the logarithm of the softmax",
                  .row = [](const RowTerms&, RowWeights& w) { return w.logarithm = true; }});
  list.push_back({.id = "length.ignored",
                  .sentence = "the row's length is ignored: columns behind it count",
                  .problem = [](Problem& p) {
                    auto& softmax = std::get<SoftmaxProblem>(p);
                    const bool had = !softmax.row_length.empty();
                    softmax.row_length.clear();
                    return had;
                  }});
}

}  // namespace flashproof
