// CaseResult as one line.
#include "reports/run/evaluate.h"
#include "reports/workers/tokens.h"

namespace flashproof {

std::string CaseResult::serialize() const {
  tokens::Writer out;
  out.outcome(*this);
  out.text(o.serialize());
  out.text(lse.serialize());
  out.number(refined);
  return out.line;
}

CaseResult CaseResult::deserialize(const std::string& line) {
  tokens::Reader in{line};
  CaseResult result;
  in.outcome(result);
  result.o = ErrorStats::deserialize(in.text());
  result.lse = ErrorStats::deserialize(in.text());
  result.refined = in.number();
  in.expect_end();
  return result;
}

}  // namespace flashproof
