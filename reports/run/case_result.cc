// CaseResult as one line.
#include "reports/run/evaluate.h"
#include "reports/workers/tokens.h"

namespace flashproof {
namespace {

const std::string kNoElements = "-";  // a part without elements

}  // namespace

std::string CaseResult::serialize() const {
  tokens::Writer out;
  out.outcome(*this);
  for (std::size_t i = 0; i < kPartCount; ++i) {
    const ErrorStats& stats = (*this)[static_cast<Part>(i)];
    out.text(stats.elements == 0 ? kNoElements : stats.serialize());
  }
  out.number(refined);
  return out.line;
}

CaseResult CaseResult::deserialize(const std::string& line) {
  tokens::Reader in{line};
  CaseResult result;
  in.outcome(result);
  for (std::size_t i = 0; i < kPartCount; ++i) {
    if (const auto text = in.text(); text != kNoElements) result[static_cast<Part>(i)] = ErrorStats::deserialize(text);
  }
  result.refined = in.number();
  in.expect_end();
  return result;
}

}  // namespace flashproof
