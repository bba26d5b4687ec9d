// ErrorStats as one token: "es6", then every field in declaration order, separated by commas. Counts are decimal,
// doubles are the sixteen hex digits of their bits (so NaN, −0 and every last bit survive) without zeros at the end, sums are
// ExactSum's text. "*n" stands for n fields that are 0: most bins of the histograms are.
#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <numeric>

#include "reference/error/error_stats.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

constexpr std::string_view kTag = "es6";
constexpr std::string_view kOldTag = "es5";  // without max_budget and max_resolved_ulp

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
void visit(Stats& s, Visitor&& v, bool old = false) {
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
  if (!old) {
    v.real(s.max_budget);
    v.real(s.max_resolved_ulp);
  }
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

class Writer {
 public:
  explicit Writer(std::string_view tag) : text_(tag) {}
  void count(std::uint64_t n) { n == 0 ? zero() : add(std::to_string(n)); }
  void real(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    if (bits == 0) return zero();
    std::string digits = fmt::format("{:016x}", bits);
    digits.resize(digits.find_last_not_of('0') + 1);
    add(digits);
  }
  void sum(const ExactSum& sum) {
    const std::string text = sum.serialize();
    text == "0" ? zero() : add(text);
  }
  std::string text() && {
    end_zeros();
    return std::move(text_);
  }

 private:
  void zero() { ++zeros_; }
  void add(const std::string& token) {
    end_zeros();
    text_ += ',' + token;
  }
  void end_zeros() {
    if (zeros_ > 0) text_ += fmt::format(",*{}", zeros_);
    zeros_ = 0;
  }

  std::string text_;
  int zeros_ = 0;  // not yet written
};

struct Reader {
  std::string_view rest;
  std::uint64_t zeros = 0;  // still to come of the last "*n"
  int field = 0;

  [[noreturn]] void malformed(std::string_view token, const char* expected) const {
    throw UsageError(
        fmt::format("error statistics: field {} is {}, expected {}", field, quote(token.substr(0, 40)), expected));
  }
  std::string_view next() {
    ++field;
    if (!rest.starts_with(',')) malformed(rest, "another field");
    rest.remove_prefix(1);
    const std::string_view token = rest.substr(0, rest.find(','));
    rest.remove_prefix(token.size());
    return token;
  }
  /// True for a field that "*n" stands for.
  bool zero() {
    if (zeros == 0 && rest.starts_with(",*")) {
      rest.remove_prefix(2);
      const std::string_view token = rest.substr(0, rest.find(','));
      rest.remove_prefix(token.size());
      zeros = integer(token, 10, "a number of zeros");
      if (zeros == 0) malformed(token, "a number of zeros, 1 or more");
    }
    if (zeros == 0) return false;
    --zeros;
    ++field;
    return true;
  }
  std::uint64_t integer(std::string_view token, int base, const char* expected) const {
    std::uint64_t n = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), n, base);
    if (error != std::errc{} || end != token.data() + token.size()) malformed(token, expected);
    return n;
  }
  void count(std::uint64_t& n) { n = zero() ? 0 : integer(next(), 10, "a count below 2^64"); }
  void real(double& x) {
    std::string digits = zero() ? "0" : std::string(next());
    if (digits.size() > 16) malformed(digits, "at most 16 hex digits");
    digits.resize(16, '0');
    x = std::bit_cast<double>(integer(digits, 16, "hex digits"));
  }
  void sum(ExactSum& sum) { sum = zero() ? ExactSum() : ExactSum::deserialize(next()); }
};

template <class Array>
std::uint64_t total(const Array& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::string written(const ErrorStats& stats, bool old) {
  Writer writer(old ? kOldTag : kTag);
  visit(stats, writer, old);
  return std::move(writer).text();
}

}  // namespace

std::string ErrorStats::serialize() const { return written(*this, false); }

ErrorStats ErrorStats::deserialize(std::string_view text) {
  const bool old = text.starts_with(kOldTag);
  if (!old && !text.starts_with(kTag)) {
    throw UsageError("error statistics: the text does not begin with \"es6,\", nor with the older \"es5,\"");
  }
  Reader reader{text.substr(kTag.size())};
  ErrorStats stats;
  if (old) stats.max_budget = stats.max_resolved_ulp = kUnknownFigure;
  visit(stats, reader, old);
  if (!reader.rest.empty() || reader.zeros > 0) throw UsageError("error statistics: text after the last field");
  // Leading zeros, capitals and zeros written out are other spellings of the same value: not what serialize() writes.
  if (written(stats, old) != text) throw UsageError("error statistics: not in the form that serialize() writes");
  if (total(stats.verdicts) != stats.elements || total(stats.failures) != stats.elements ||
      total(stats.classes) != stats.elements || stats.finite_elements > stats.elements ||
      stats.investigate > stats.elements || stats.bias_elements > stats.finite_elements ||
      stats.bias_rows > stats.bias_elements || total(stats.ratio_octaves) > stats.elements ||
      total(stats.ulp_octaves) != stats.finite_elements) {
    throw UsageError(fmt::format("error statistics: counts do not add up to {} elements", stats.elements));
  }
  const auto is_figure = [](double x) { return x == -1 || x == kUnknownFigure || !(x < 0); };
  if (!is_figure(stats.max_budget) || !is_figure(stats.max_resolved_ulp)) {
    throw UsageError(
        "error statistics: a figure is negative, the legal range is 0 to inf, nan, -1 for none and -2 for unknown");
  }
  if (stats.max_abs < 0 || stats.max_ulp < 0 || stats.max_ratio < 0) {
    throw UsageError("error statistics: a maximum is negative, the legal range is 0 to inf and nan");
  }
  return stats;
}

}  // namespace flashproof
