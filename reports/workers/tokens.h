// Results as one line of tab-separated tokens, for the pipe from a worker. Doubles travel as their bits.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/system/error.h"
#include "reports/run/evaluate.h"
#include "reports/views/terminal/text.h"

namespace flashproof::tokens {

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
  void verdicts(const std::vector<Verdict>& list) {
    number(list.size());
    for (const Verdict& v : list) verdict(v);
  }
  void elements(const std::vector<ElementFinding>& list) {
    number(list.size());
    for (const ElementFinding& e : list) {
      text(e.tensor);
      number(e.index);
      number(static_cast<std::uint64_t>(e.kind));
      number(static_cast<std::uint64_t>(e.failure));
      for (const double x : {e.computed, e.exact, e.error, e.ratio, e.bound.weights, e.bound.numerator,
                             e.bound.denominator, e.bound.output, e.bound.probable, e.bound.drift, e.bound.size}) {
        real(x);
      }
      text(e.text);
    }
  }
  void outcome(const CaseResult& outcome) {
    number(outcome.case_index);
    number(outcome.seed);
    verdict(outcome.verdict);
    number(outcome.executed ? 1 : 0);
    number(static_cast<std::uint64_t>(outcome.asked));
    text(outcome.domain.serialize());
    for (const PowerCounts& part : outcome.power.parts) {
      for (const std::uint64_t n : part.counts) number(n);
    }
    verdicts(outcome.laws);
    number(outcome.failing_elements);
    elements(outcome.elements);
    number(outcome.sizes ? 1 : 0);
    const CaseSizes sizes = outcome.sizes.value_or(CaseSizes{});
    for (const double size : {sizes.length, sizes.magnitude, sizes.merges}) real(size);
    text(outcome.heat.serialize());
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
  std::vector<Verdict> verdicts() {
    std::vector<Verdict> list;
    for (std::uint64_t left = number(kMostEntries); left > 0; --left) list.push_back(verdict());
    return list;
  }
  std::vector<ElementFinding> elements() {
    std::vector<ElementFinding> list;
    for (std::uint64_t left = number(kMostEntries); left > 0; --left) {
      ElementFinding e;
      e.tensor = text();
      e.index = number();
      e.kind = static_cast<VerdictKind>(number(static_cast<std::uint64_t>(VerdictKind::fail)));
      e.failure = static_cast<Failure>(number(static_cast<std::uint64_t>(Failure::error)));
      for (double* x : {&e.computed, &e.exact, &e.error, &e.ratio, &e.bound.weights, &e.bound.numerator,
                        &e.bound.denominator, &e.bound.output, &e.bound.probable, &e.bound.drift, &e.bound.size}) {
        *x = real();
      }
      e.text = text();
      list.push_back(std::move(e));
    }
    return list;
  }
  void outcome(CaseResult& outcome) {
    outcome.case_index = number();
    outcome.seed = number();
    outcome.verdict = verdict();
    outcome.executed = number(1) == 1;
    outcome.asked = static_cast<Asked>(number(static_cast<std::uint64_t>(Asked::refused)));
    outcome.domain = DomainStats::deserialize(text());
    for (PowerCounts& part : outcome.power.parts) {
      for (std::uint64_t& n : part.counts) n = number();
    }
    outcome.laws = verdicts();
    outcome.failing_elements = number();
    outcome.elements = elements();
    const bool sized = number(1) == 1;
    CaseSizes sizes;
    for (double* size : {&sizes.length, &sizes.magnitude, &sizes.merges}) *size = real();
    if (sized) outcome.sizes = sizes;
    outcome.heat = HeatMap::deserialize(text());
  }
  void expect_end() const {
    if (!rest.empty()) throw UsageError("case result: the line goes on too long");
  }

 private:
  static constexpr std::uint64_t kMostEntries = 1 << 20;
};

}  // namespace flashproof::tokens
