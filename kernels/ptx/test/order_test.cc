// Minimum, maximum and comparisons of floats of every format (PTX ISA 9.7.3 and 9.7.4: min, max; 9.7.6 and 9.7.7: set, setp).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/ptx/test/exact.h"

namespace flashproof::ptx {
namespace {

class Order : public testing::TestWithParam<const char*> {
 protected:
  const FloatFormat& format() const { return float_format(GetParam()); }
  bool flushes() const { return format().name == "f32" || format().name == "f16"; }
  bool is_half() const { return format().bits == 16; }
};

/// The pseudo code of the ISA.
std::uint64_t extremum(const FloatFormat& format, bool is_max, bool flush, bool keeps_nan, bool xorsign,
                       const Input& in) {
  std::uint64_t a = flush ? format.flushed(in.a) : in.a, b = flush ? format.flushed(in.b) : in.b;
  const std::uint64_t sign = (a ^ b) & format.sign();
  if (xorsign) a &= ~format.sign(), b &= ~format.sign();
  const bool a_nan = format.is_nan(a), b_nan = format.is_nan(b);
  if ((a_nan && b_nan) || (keeps_nan && (a_nan || b_nan))) return format.nan_of({b, a});
  std::uint64_t result = a;
  if (a_nan || b_nan) {
    result = a_nan ? b : a;
  } else if (format.value(a) == format.value(b)) {
    result = is_max ? a & b : a | b;
  } else {
    result = (format.value(a) < format.value(b)) == is_max ? b : a;
  }
  return xorsign ? result | sign : result;
}

TEST_P(Order, minimum_and_maximum) {
  std::vector<Input> inputs = inputs_of(format(), 2);
  for (int which = 0; which < 16; ++which) {
    const bool is_max = which & 1, flush = which & 2, keeps_nan = which & 4, xorsign = which & 8;
    if ((flush && !flushes()) || (format().bits == 64 && which > 1)) continue;
    const std::string form = fmt::format("{}{}{}{}.{}", is_max ? "max" : "min", flush ? ".ftz" : "",
                                         keeps_nan ? ".NaN" : "", xorsign ? ".xorsign.abs" : "", format().name);
    const auto each = [&](const Input& in) { return extremum(format(), is_max, flush, keeps_nan, xorsign, in); };
    expect_form(fmt::format("{} {}, {}, {};", form, format().out(), format().in(1), format().in(2)), inputs, each);
    if (!is_half()) continue;
    std::vector<Input> pairs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Input& high = inputs[i * 7 % inputs.size()];
      pairs.push_back({inputs[i].a | high.a << 16, inputs[i].b | high.b << 16});
    }
    expect_form(form + "x2 %ow, %w1, %w2;", pairs, [&](const Input& in) {
      return each({in.a & 0xffff, in.b & 0xffff}) | each({in.a >> 16, in.b >> 16}) << 16;
    });
  }
}

struct Comparison {
  const char* name;
  bool (*holds)(double, double);
};
constexpr Comparison kComparisons[] = {{"eq", [](double a, double b) { return a == b; }},
                                       {"ne", [](double a, double b) { return a < b || a > b; }},
                                       {"lt", [](double a, double b) { return a < b; }},
                                       {"ge", [](double a, double b) { return a >= b; }},
                                       {"neu", [](double a, double b) { return a != b; }},
                                       {"leu", [](double a, double b) { return !(a > b); }},
                                       {"num", [](double a, double b) { return !std::isnan(a) && !std::isnan(b); }},
                                       {"nan", [](double a, double b) { return std::isnan(a) || std::isnan(b); }}};

TEST_P(Order, setp_and_set) {
  const std::vector<Input> inputs = inputs_of(format(), 2);
  const std::string sources = fmt::format("{}, {}", format().in(1), format().in(2));
  for (const auto& [name, holds] : kComparisons) {
    for (const bool flush : {false, true}) {
      if (flush && !flushes()) continue;
      const auto truth = [&, holds = holds](std::uint64_t a, std::uint64_t b) {
        return holds(format().value(flush ? format().flushed(a) : a), format().value(flush ? format().flushed(b) : b));
      };
      const std::string end = fmt::format("{}{}", name, flush ? ".ftz" : "");
      expect_form(fmt::format("setp.{}.{} %q, {};", end, format().name, sources), inputs,
                  [&](const Input& in) -> std::uint64_t { return truth(in.a, in.b); });
      expect_form(fmt::format("set.{}.u32.{} %ow, {};", end, format().name, sources), inputs,
                  [&](const Input& in) -> std::uint64_t { return truth(in.a, in.b) ? 0xffffffff : 0; });
      if (format().bits != 64) {
        expect_form(fmt::format("set.{0}.{1}.{1} {2}, {3};", end, format().name, format().out(), sources), inputs,
                    [&](const Input& in) -> std::uint64_t { return truth(in.a, in.b) ? format().one() : 0; });
      }
      if (!is_half()) continue;
      const auto halves = [&](std::uint64_t a, std::uint64_t b) {  // any pair: the second one backwards
        return std::pair{truth(a & 0xffff, b & 0xffff), truth(a >> 16 & 0xffff, b >> 16 & 0xffff)};
      };
      std::vector<Input> pairs = integer_inputs(32, 2);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Input& high = inputs[i * 7 % inputs.size()];
        pairs.push_back({inputs[i].a | high.a << 16, inputs[i].b | high.b << 16, i});
      }
      expect_form(fmt::format("setp.{}.{}x2 %q|%r, %w1, %w2;\nselp.u32 %ow, 1, 0, %q;\n@%r add.u32 %ow, %ow, 2;", end,
                              format().name),
                  pairs, [&](const Input& in) -> std::uint64_t {
                    const auto [low, high] = halves(in.a, in.b);
                    return (low ? 1U : 0U) | (high ? 2U : 0U);
                  });
      const std::uint64_t one = format().one();
      expect_form(fmt::format("set.{0}.{1}x2.{1}x2 %ow, %w1, %w2;", end, format().name), pairs, [&](const Input& in) {
        const auto [low, high] = halves(in.a, in.b);
        return (low ? one : 0) | (high ? one << 16 : 0);
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(all, Order, testing::Values("f16", "bf16", "f32", "f64"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace flashproof::ptx
