// The Highway form of proven_exp.h: the same operations in the same order, hence the same bits in every lane on every
// target. To be included from a file that foreach_target.h compiles once per target (hence no `#pragma once`).
#if defined(FLASHPROOF_ORACLE_FP64_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHPROOF_ORACLE_FP64_EXP_INL_H_
#undef FLASHPROOF_ORACLE_FP64_EXP_INL_H_
#else
#define FLASHPROOF_ORACLE_FP64_EXP_INL_H_
#endif

#include "hwy/highway.h"
#include "reference/oracle/fp64/vector/proven_exp.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::HWY_NAMESPACE {

// NOLINTBEGIN(readability-identifier-naming): named as Highway names its functions.
/// e^x·(1 + ε), |ε| <= kExpError, for x in [-707, 709]; <= 1 for x <= 0. Outside that range the lane is arbitrary (NaN and
/// ±inf give NaN): the caller masks it.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V Exp(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToUnsigned<D> du;
  const V shifter = hn::Set(d, kExpShifter);
  const V one = hn::Set(d, 1.0);
  const V shifted = hn::MulAdd(x, hn::Set(d, kLog2E), shifter);
  const V k = hn::Sub(shifted, shifter);
  const V exact = hn::NegMulAdd(k, hn::Set(d, kLn2High), x);
  const V r = hn::NegMulAdd(k, hn::Set(d, kLn2Low), exact);
  V p = hn::Set(d, kExpC11);
  p = hn::MulAdd(p, r, hn::Set(d, kExpC10));
  p = hn::MulAdd(p, r, hn::Set(d, kExpC9));
  p = hn::MulAdd(p, r, hn::Set(d, kExpC8));
  p = hn::MulAdd(p, r, hn::Set(d, kExpC7));
  p = hn::MulAdd(p, r, hn::Set(d, kExpC6));
  p = hn::MulAdd(p, r, hn::Set(d, kExpC5));
  p = hn::MulAdd(p, r, hn::Set(d, kExpC4));
  p = hn::MulAdd(p, r, hn::Set(d, kExpC3));
  p = hn::MulAdd(p, r, hn::Set(d, kExpC2));
  p = hn::MulAdd(p, r, one);
  p = hn::MulAdd(p, r, one);
  const auto power = hn::Add(hn::ShiftLeft<52>(hn::BitCast(du, shifted)), hn::Set(du, 0x3ff0000000000000u));
  return hn::Mul(p, hn::BitCast(d, power));
}

// NOLINTEND(readability-identifier-naming)
}  // namespace flashproof::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
