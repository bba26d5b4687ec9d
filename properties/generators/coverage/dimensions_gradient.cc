// What a gradient has of attention's dimensions, and its own: which lse and o it gets, and how o, dO and lse are stored.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "properties/generators/coverage/dimensions.h"
#include "properties/generators/numbers.h"

namespace flashproof {
namespace {

using Number = std::int64_t;

constexpr Level kModes[] = {{"stage", 0, 0}, {"gradient", 1, 1}};
constexpr Level kFormats[] = {{"as q", 0, 0}, {"another", 1, 1}};
constexpr Level kOutputLayouts[] = {{"dense", 0, 0}, {"heads inside", 1, 1}};
/// The least of each is what is drawn (backward_case.cc).
constexpr Level kSizes[] = {{"2^-20", -20, -11}, {"1", 0, 7}, {"2^8", 8, 127}};

const BackwardProblem& gradient(const Problem& problem) { return std::get<BackwardProblem>(problem); }

Number largest_exponent(const Problem& problem) {
  const Tensor& t = gradient(problem).d_out;
  double largest = 0;
  for (Number b = 0; b < t.shape[0]; ++b) {
    for (Number h = 0; h < t.shape[1]; ++h) {
      for (Number i = 0; i < t.shape[2]; ++i) {
        for (Number c = 0; c < t.shape[3]; ++c) {
          const double x = std::fabs(t.at({b, h, i, c}));
          if (std::isfinite(x)) largest = std::max(largest, x);
        }
      }
    }
  }
  return largest == 0 ? std::numeric_limits<Number>::max() : exponent_of(largest);
}

using Dimensions = std::array<Dimension, kGradientAxes>;
Dimensions all_dimensions() {
  Dimensions all{};
  const auto attention = dimensions(ProblemKind::attention);
  for (std::size_t i = 0; i < std::size(kOfForward); ++i) all[i] = attention[kOfForward[i]];
  all[kGradientMode] = {
      "mode", kModes, {}, [](const Problem& p) { return Number{gradient(p).mode == BackwardMode::gradient}; }};
  all[kOutputFormat] = {"format of o", kFormats, {}, [](const Problem& p) {
                          return Number{gradient(p).o.format != gradient(p).forward.q.format};
                        }};
  all[kOutputLayout] = {"layout of o, dO", kOutputLayouts, {}, [](const Problem& p) {
                          return Number{gradient(p).o.stride[2] > gradient(p).o.shape[3]};
                        }};
  all[kLseLayout] = {
      "layout of lse", kOutputLayouts, {}, [](const Problem& p) { return Number{gradient(p).lse.stride[2] > 1}; }};
  all[kOutputGradient] = {"size of dO", kSizes, {}, largest_exponent};
  return all;
}

}  // namespace

std::span<const Dimension> gradient_dimensions() {
  static const Dimensions all = all_dimensions();
  return all;
}

}  // namespace flashproof
