// CaseResult as one line of tab-separated tokens, for the pipe from a worker. Doubles travel as their bits.
#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <string_view>

#include "reference/problem/error.h"
#include "reports/evaluate.h"
#include "reports/text.h"

namespace flashproof {
namespace {

struct Writer {
  std::string line;
  void text(std::string_view value) {
    line += one_line(value);
    line += '\t';
  }
  void number(std::uint64_t value) { text(fmt::format("{:x}", value)); }
  void real(double value) { number(std::bit_cast<std::uint64_t>(value)); }
  void verdict(const Verdict& v) {
    number(static_cast<std::uint64_t>(v.kind));
    number(static_cast<std::uint64_t>(v.failure));
    text(v.detail);
  }
};

struct Reader {
  std::string_view rest;
  std::string_view text() {
    const std::size_t end = rest.find('\t');
    if (end == std::string_view::npos) throw UsageError("case result: the line ends too early");
    const std::string_view token = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return token;
  }
  std::uint64_t number(std::uint64_t limit = ~std::uint64_t{0}) {
    const std::string_view token = text();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value, 16);
    if (error != std::errc() || end != token.data() + token.size() || value > limit) {
      throw UsageError(fmt::format("case result: \"{}\" is not a hexadecimal number in 0..{:x}", token, limit));
    }
    return value;
  }
  double real() { return std::bit_cast<double>(number()); }
  Verdict verdict() {
    Verdict v;
    v.kind = static_cast<VerdictKind>(number(static_cast<std::uint64_t>(VerdictKind::fail)));
    v.failure = static_cast<Failure>(number(static_cast<std::uint64_t>(Failure::error)));
    v.detail = text();
    return v;
  }
};

constexpr std::uint64_t kMostEntries = 1 << 20;

}  // namespace

std::string CaseResult::serialize() const {
  Writer out;
  out.number(case_index);
  out.verdict(verdict);
  out.number(executed ? 1 : 0);
  out.text(o.serialize());
  out.text(lse.serialize());
  out.text(domain.serialize());
  out.number(refined);
  out.number(laws.size());
  for (const Verdict& v : laws) out.verdict(v);
  out.number(failing_elements);
  out.number(elements.size());
  for (const ElementFinding& e : elements) {
    out.text(e.tensor);
    out.number(e.index);
    out.number(static_cast<std::uint64_t>(e.kind));
    out.number(static_cast<std::uint64_t>(e.failure));
    for (const double x : {e.computed, e.exact, e.error, e.ratio, e.bound.weights, e.bound.numerator,
                           e.bound.denominator, e.bound.output, e.bound.probable, e.bound.drift, e.bound.size}) {
      out.real(x);
    }
    out.text(e.text);
  }
  return out.line;
}

CaseResult CaseResult::deserialize(const std::string& line) {
  Reader in{line};
  CaseResult result;
  result.case_index = in.number();
  result.verdict = in.verdict();
  result.executed = in.number(1) == 1;
  result.o = ErrorStats::deserialize(in.text());
  result.lse = ErrorStats::deserialize(in.text());
  result.domain = DomainStats::deserialize(in.text());
  result.refined = in.number();
  for (std::uint64_t left = in.number(kMostEntries); left > 0; --left) result.laws.push_back(in.verdict());
  result.failing_elements = in.number();
  for (std::uint64_t left = in.number(kMostEntries); left > 0; --left) {
    ElementFinding e;
    e.tensor = in.text();
    e.index = in.number();
    e.kind = static_cast<VerdictKind>(in.number(static_cast<std::uint64_t>(VerdictKind::fail)));
    e.failure = static_cast<Failure>(in.number(static_cast<std::uint64_t>(Failure::error)));
    for (double* x : {&e.computed, &e.exact, &e.error, &e.ratio, &e.bound.weights, &e.bound.numerator,
                      &e.bound.denominator, &e.bound.output, &e.bound.probable, &e.bound.drift, &e.bound.size}) {
      *x = in.real();
    }
    e.text = in.text();
    result.elements.push_back(std::move(e));
  }
  if (!in.rest.empty()) throw UsageError("case result: the line goes on too long");
  return result;
}

}  // namespace flashproof
