// ErrorStats as one token: "es3", then every field in declaration order, separated by commas. Counts are decimal,
// doubles are the sixteen hex digits of their bits (so NaN, −0 and every last bit survive), sums are ExactSum's text.
#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <numeric>

#include "reference/error/error_stats.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

constexpr std::string_view kTag = "es3";

template <class W, class Visitor>
void visit_witness(W& w, Visitor& v) {
  v.real(w.ratio);
  v.count(w.case_index);
  v.count(w.index);
  v.real(w.computed);
  v.real(w.exact);
  v.real(w.error);
  v.real(w.bound.weights);
  v.real(w.bound.numerator);
  v.real(w.bound.denominator);
  v.real(w.bound.output);
  v.real(w.bound.probable);
  v.real(w.bound.drift);
  v.real(w.bound.size);
}

/// One list of the fields for both directions; Visitor has count(u64), real(double), sum(ExactSum).
template <class Stats, class Visitor>
void visit(Stats& s, Visitor&& v) {
  v.count(s.elements);
  v.count(s.finite_elements);
  for (auto& n : s.verdicts) v.count(n);
  for (auto& n : s.failures) v.count(n);
  for (auto& n : s.classes) v.count(n);
  for (auto& n : s.ratio_octaves) v.count(n);
  for (auto& n : s.ulp_octaves) v.count(n);
  v.real(s.max_abs);
  v.real(s.max_ulp);
  v.real(s.max_ratio);
  v.sum(s.sum_abs);
  v.sum(s.sum_square);
  v.sum(s.sum_truth_square);
  visit_witness(s.witness, v);
  v.count(s.investigate);
  visit_witness(s.probable_witness, v);
  v.count(s.bias_elements);
  v.count(s.bias_rows);
  v.sum(s.bias_error);
  v.sum(s.bias_drift);
  v.sum(s.bias_square);
}

struct Writer {
  std::string text{kTag};
  void count(std::uint64_t n) { text += fmt::format(",{}", n); }
  void real(double x) { text += fmt::format(",{:016x}", std::bit_cast<std::uint64_t>(x)); }
  void sum(const ExactSum& sum) { text.append(1, ',').append(sum.serialize()); }
};

struct Reader {
  std::string_view rest;
  int field = 0;

  [[noreturn]] void malformed(std::string_view token, const char* expected) const {
    throw UsageError(
        fmt::format("error statistics: field {} is '{}', expected {}", field, token.substr(0, 40), expected));
  }
  std::string_view next() {
    ++field;
    if (!rest.starts_with(',')) malformed(rest, "another field");
    rest.remove_prefix(1);
    const std::string_view token = rest.substr(0, rest.find(','));
    rest.remove_prefix(token.size());
    return token;
  }
  std::uint64_t integer(int base, const char* expected) {
    const std::string_view token = next();
    std::uint64_t n = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), n, base);
    if (error != std::errc{} || end != token.data() + token.size()) malformed(token, expected);
    return n;
  }
  void count(std::uint64_t& n) { n = integer(10, "a count below 2^64"); }
  void real(double& x) { x = std::bit_cast<double>(integer(16, "16 hex digits")); }
  void sum(ExactSum& sum) { sum = ExactSum::deserialize(next()); }
};

template <class Array>
std::uint64_t total(const Array& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

}  // namespace

std::string ErrorStats::serialize() const {
  Writer writer;
  visit(*this, writer);
  return std::move(writer.text);
}

ErrorStats ErrorStats::deserialize(std::string_view text) {
  if (!text.starts_with(kTag)) throw UsageError("error statistics: the text does not begin with \"es3,\"");
  Reader reader{text.substr(kTag.size())};
  ErrorStats stats;
  visit(stats, reader);
  if (!reader.rest.empty()) throw UsageError("error statistics: text after the last field");
  // Leading zeros, capitals and short hex are other spellings of the same value: not what serialize() writes.
  if (stats.serialize() != text) throw UsageError("error statistics: not in the form that serialize() writes");
  if (total(stats.verdicts) != stats.elements || total(stats.failures) != stats.elements ||
      total(stats.classes) != stats.elements || stats.finite_elements > stats.elements ||
      stats.investigate > stats.elements || stats.bias_elements > stats.finite_elements ||
      stats.bias_rows > stats.bias_elements || total(stats.ratio_octaves) > stats.elements ||
      total(stats.ulp_octaves) != stats.finite_elements) {
    throw UsageError(fmt::format("error statistics: counts do not add up to {} elements", stats.elements));
  }
  if (stats.max_abs < 0 || stats.max_ulp < 0 || stats.max_ratio < 0) {
    throw UsageError("error statistics: a maximum is negative, the legal range is 0 to inf and nan");
  }
  return stats;
}

}  // namespace flashproof
