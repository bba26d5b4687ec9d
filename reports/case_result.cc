// CaseResult as one line.
#include "reports/evaluate.h"
#include "reports/tokens.h"

namespace flashproof {

std::string CaseResult::serialize() const {
  tokens::Writer out;
  out.number(case_index);
  out.verdict(verdict);
  out.number(executed ? 1 : 0);
  out.text(o.serialize());
  out.text(lse.serialize());
  out.text(domain.serialize());
  out.number(refined);
  out.verdicts(laws);
  out.number(failing_elements);
  out.elements(elements);
  return out.line;
}

CaseResult CaseResult::deserialize(const std::string& line) {
  tokens::Reader in{line};
  CaseResult result;
  result.case_index = in.number();
  result.verdict = in.verdict();
  result.executed = in.number(1) == 1;
  result.o = ErrorStats::deserialize(in.text());
  result.lse = ErrorStats::deserialize(in.text());
  result.domain = DomainStats::deserialize(in.text());
  result.refined = in.number();
  result.laws = in.verdicts();
  result.failing_elements = in.number();
  result.elements = in.elements();
  in.expect_end();
  return result;
}

}  // namespace flashproof
