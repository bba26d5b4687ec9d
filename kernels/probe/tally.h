// What one function did on the f32 patterns shown to it: the largest error per region, and the laws that kernels rely
// on. Host and device run the same code; tallies of disjoint sets of patterns merge into that of the union.
#pragma once

#include "kernels/probe/functions.h"
#include "kernels/probe/truth.h"

namespace flashproof::probe {

inline constexpr std::uint32_t kSignBit = 0x80000000U, kInfinityBits = 0x7f800000U, kMinNormalBits = 0x00800000U;

FP_PROBE_BOTH inline float f32_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
FP_PROBE_BOTH inline std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
FP_PROBE_BOTH inline bool is_nan_bits(std::uint32_t bits) { return (bits & ~kSignBit) > kInfinityBits; }

/// What a tally needs to know of a function; a Function without its names.
struct Task {
  Truth truth;
  int regions;
  struct {
    float low, high;
    bool mirrored, relative;
  } region[kMostRegions];
};

inline Task task_of(const Function& function) {
  Task task{function.truth, 0, {}};
  for (const Region& r : function.regions) {
    task.region[task.regions++] = {r.low, r.high, r.mirrored, r.relative};
  }
  return task;
}

FP_PROBE_BOTH inline double true_value(Truth truth, float x) {
  switch (truth) {
    case Truth::exp:
      return true_exp(x);
    case Truth::exp2:
      return true_exp2(x);
    case Truth::log:
      return true_log(x);
    case Truth::log2:
      return true_log2(x);
    case Truth::tanh:
      return true_tanh(x);
    case Truth::reciprocal:
      return 1.0 / static_cast<double>(x);
    case Truth::quotient:
      break;
  }
  return static_cast<double>(f32_of(numerator_bits(bits_of(x)))) / static_cast<double>(x);
}

struct RegionTally {
  std::uint64_t inputs = 0;
  double error = 0;  // kTruthError included; +inf where a result was no finite number
  std::uint32_t worst = 0xffffffffU;
  double signed_sum = 0, weight = 0;
};

struct ProbeCounts {
  RegionTally region[kMostRegions];
  std::uint64_t above_one = 0, falls = 0, lost_nans = 0, invented_nans = 0;
  std::uint64_t zeros_not_one = 0;     // f(+0), f(−0)
  std::uint64_t subnormal_inputs = 0;  // whose result is not that of zero
  std::uint64_t subnormal_results = 0;
  double largest_fall = 0;

  FP_PROBE_BOTH void merge(const ProbeCounts& other) {
    for (int i = 0; i < kMostRegions; ++i) {
      RegionTally& mine = region[i];
      const RegionTally& theirs = other.region[i];
      mine.inputs += theirs.inputs;
      if (theirs.error > mine.error || (theirs.error == mine.error && theirs.worst < mine.worst)) {
        mine.error = theirs.error;
        mine.worst = theirs.worst;
      }
      mine.signed_sum += theirs.signed_sum;
      mine.weight += theirs.weight;
    }
    above_one += other.above_one;
    falls += other.falls;
    lost_nans += other.lost_nans;
    invented_nans += other.invented_nans;
    zeros_not_one += other.zeros_not_one;
    subnormal_inputs += other.subnormal_inputs;
    subnormal_results += other.subnormal_results;
    if (other.largest_fall > largest_fall) largest_fall = other.largest_fall;
  }

  /// One pattern; f is float -> float.
  template <class F>
  FP_PROBE_BOTH void add(const Task& task, const F& f, std::uint32_t bits) {
    const float x = f32_of(bits);
    const float y = f(x);
    const std::uint32_t y_bits = bits_of(y);
    if (is_nan_bits(bits)) {
      lost_nans += is_nan_bits(y_bits) ? 0 : 1;
      return;
    }
    const bool negative = (bits & kSignBit) != 0;
    const bool outside = is_logarithm(task.truth) && negative && bits != kSignBit;  // NaN is right there
    if (is_nan_bits(y_bits)) invented_nans += outside ? 0 : 1;
    if (outside) return;
    const std::uint32_t size = bits & ~kSignBit;
    if (is_exponential(task.truth)) {
      above_one += (negative || size == 0) && y > 1.0F ? 1 : 0;
      zeros_not_one += size == 0 && y_bits != 0x3f800000U ? 1 : 0;
    }
    if (size > 0 && size < kMinNormalBits) subnormal_inputs += y_bits == bits_of(f(negative ? -0.0F : 0.0F)) ? 0 : 1;
    const std::uint32_t y_size = y_bits & ~kSignBit;
    subnormal_results += y_size > 0 && y_size < kMinNormalBits ? 1 : 0;
    if (task.truth != Truth::quotient) compare_with_next(task, f, bits, y);
    for (int i = 0; i < task.regions; ++i) measure(task, i, x, y);
  }

 private:
  /// x and the next larger f32 in the wrong order? Not across zero, where 1/x jumps.
  template <class F>
  FP_PROBE_BOTH void compare_with_next(const Task& task, const F& f, std::uint32_t bits, float y) {
    if (bits == kInfinityBits || bits == kSignBit) return;
    const float next = f(f32_of((bits & kSignBit) != 0 ? bits - 1 : bits + 1));
    // Compared, not subtracted: a device's compiler would contract the difference with a product inside f.
    if (!(task.truth == Truth::reciprocal ? next > y : y > next)) return;
    ++falls;
    const double fall = std::fabs(static_cast<double>(next) - static_cast<double>(y));
    const double relative = fall / std::fabs(static_cast<double>(y));
    if (relative > largest_fall) largest_fall = relative;
  }

  FP_PROBE_BOTH void measure(const Task& task, int i, float x, float y) {
    const float size = x < 0 && task.region[i].mirrored ? -x : x;
    if (!(size >= task.region[i].low && size <= task.region[i].high)) return;
    RegionTally& r = region[i];
    ++r.inputs;
    const double truth = true_value(task.truth, x);
    const double scale = task.region[i].relative ? std::fabs(truth) : 1.0;
    double difference = static_cast<double>(y) - truth;
    if (task.region[i].relative) {
      difference = truth != 0 ? difference / scale : difference == 0 ? 0 : difference * 0x1p1000;
    }
    double error = std::fabs(difference) + kTruthError * (task.region[i].relative ? 1.0 : std::fabs(truth));
    if (!(error < 0x1p900)) error = truth::from_bits(0x7ff0000000000000ULL);
    if (error > r.error || (error == r.error && bits_of(x) < r.worst)) {
      r.error = error;
      r.worst = bits_of(x);
    }
    // The spacing of the f32 around x, so that arguments count as uniform; else every pattern alike.
    const std::uint32_t exponent = (bits_of(x) >> 23) & 0xff;
    const double weight =
        is_exponential(task.truth) ? truth::scale(1.0, static_cast<int>(exponent > 0 ? exponent : 1) - 150) : 1.0;
    if (error < 0x1p900) r.signed_sum += weight * difference;
    r.weight += weight;
  }
};

}  // namespace flashproof::probe
