// The interval type of this folder and the precision it gets. Only for .cc files: Boost.Multiprecision is heavy.
#pragma once

#include <algorithm>
#include <boost/multiprecision/gmp.hpp>
#include <boost/multiprecision/mpfi.hpp>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace flashproof {

using Integer = boost::multiprecision::mpz_int;
using Interval =
    boost::multiprecision::number<boost::multiprecision::mpfi_float_backend<0>, boost::multiprecision::et_off>;

inline mpfi_ptr raw(Interval& x) { return x.backend().data(); }
inline mpfi_srcptr raw(const Interval& x) { return x.backend().data(); }
inline mpz_ptr raw(Integer& x) { return x.backend().data(); }
inline mpz_srcptr raw(const Integer& x) { return x.backend().data(); }

/// MPFR keeps constants and spare numbers per thread, and frees them only when told to: threads come and go here.
struct ThreadCaches {
  ~ThreadCaches() { mpfr_free_cache(); }
};

/// New intervals of this thread get at least `bits` bits while it lives. Every interval is made anew at each precision:
/// raising the precision of an old one would not narrow it.
class PrecisionScope {
 public:
  explicit PrecisionScope(int bits) : before_(Interval::thread_default_precision()) {
    static thread_local const ThreadCaches freed_with_the_thread;
    // Boost takes decimal digits and allocates floor(1000 digits / 301) + 1 or 2 bits.
    Interval::thread_default_precision(static_cast<unsigned>(bits * 301 / 1000 + 1));
  }
  ~PrecisionScope() { Interval::thread_default_precision(before_); }
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  unsigned before_;
};

/// One interval per key, computed when it is asked for: once each for the first kKept keys, every time for the others,
/// so that a row of a million keys at 4,096 bits does not take gigabytes.
class PerKey {
 public:
  static constexpr std::size_t kKept = 8192;

  PerKey(std::size_t keys, std::function<void(std::size_t, Interval&)> compute)
      : compute_(std::move(compute)), kept_(std::min(keys, kKept)), known_(kept_.size(), 0) {}
  /// Valid until the next call.
  const Interval& operator[](std::size_t j) {
    if (j >= kept_.size()) {
      compute_(j, scratch_);
      return scratch_;
    }
    if (known_[j] == 0) compute_(j, kept_[j]);
    known_[j] = 1;
    return kept_[j];
  }

 private:
  std::function<void(std::size_t, Interval&)> compute_;
  std::vector<Interval> kept_;
  std::vector<char> known_;
  Interval scratch_;
};

}  // namespace flashproof
