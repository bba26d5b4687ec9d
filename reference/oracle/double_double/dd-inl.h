// The Highway form of dd.h and dd_exp.h: the same operations in the same order, hence the same bits in every lane on
// every target. To be included from a file that foreach_target.h compiles once per target (hence no `#pragma once`).

#include "hwy/highway.h"
#include "reference/oracle/double_double/dd_exp.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::HWY_NAMESPACE {

// NOLINTBEGIN(readability-identifier-naming): named as Highway names its functions.
/// One DD per lane.
template <class V>
struct DdVec {
  V hi, lo;
};

template <class V>
HWY_INLINE DdVec<V> FastTwoSum(V a, V b) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V s = hn::Add(a, b);
  return {s, hn::Sub(b, hn::Sub(s, a))};
}

template <class V>
HWY_INLINE DdVec<V> TwoSum(V a, V b) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V s = hn::Add(a, b);
  const V a_part = hn::Sub(s, b);
  const V b_part = hn::Sub(s, a_part);
  return {s, hn::Add(hn::Sub(a, a_part), hn::Sub(b, b_part))};
}

template <class V>
HWY_INLINE DdVec<V> TwoProduct(V a, V b) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V p = hn::Mul(a, b);
  return {p, hn::MulSub(a, b, p)};
}

template <class V>
HWY_INLINE DdVec<V> DdAdd(DdVec<V> x, DdVec<V> y) {
  namespace hn = hwy::HWY_NAMESPACE;
  const DdVec<V> s = TwoSum(x.hi, y.hi);
  const DdVec<V> t = TwoSum(x.lo, y.lo);
  const DdVec<V> v = FastTwoSum(s.hi, hn::Add(s.lo, t.hi));
  return FastTwoSum(v.hi, hn::Add(t.lo, v.lo));
}

template <class V>
HWY_INLINE DdVec<V> DdAddDouble(DdVec<V> x, V y) {
  const DdVec<V> s = TwoSum(x.hi, y);
  return FastTwoSum(s.hi, hwy::HWY_NAMESPACE::Add(x.lo, s.lo));
}

template <class V>
HWY_INLINE DdVec<V> DdNeg(DdVec<V> x) {
  return {hwy::HWY_NAMESPACE::Neg(x.hi), hwy::HWY_NAMESPACE::Neg(x.lo)};
}

template <class V>
HWY_INLINE DdVec<V> DdMul(DdVec<V> x, DdVec<V> y) {
  namespace hn = hwy::HWY_NAMESPACE;
  const DdVec<V> c = TwoProduct(x.hi, y.hi);
  const V low = hn::Mul(x.lo, y.lo);
  const V cross = hn::MulAdd(x.lo, y.hi, hn::MulAdd(x.hi, y.lo, low));
  return FastTwoSum(c.hi, hn::Add(c.lo, cross));
}

template <class V>
HWY_INLINE DdVec<V> DdMulDouble(DdVec<V> x, V y) {
  const DdVec<V> c = TwoProduct(x.hi, y);
  return FastTwoSum(c.hi, hwy::HWY_NAMESPACE::MulAdd(x.lo, y, c.lo));
}

template <class V>
HWY_INLINE DdVec<V> DdSquare(DdVec<V> x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const DdVec<V> c = TwoProduct(x.hi, x.hi);
  return FastTwoSum(c.hi, hn::MulAdd(hn::Add(x.hi, x.hi), x.lo, c.lo));
}

template <class V>
HWY_INLINE DdVec<V> DdDiv(DdVec<V> x, DdVec<V> y) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V quotient = hn::Div(x.hi, y.hi);
  const DdVec<V> r = DdMulDouble(y, quotient);
  const V rest = hn::Add(hn::Sub(x.hi, r.hi), hn::Sub(x.lo, r.lo));
  return FastTwoSum(quotient, hn::Div(rest, y.hi));
}

template <class V>
HWY_INLINE DdVec<V> DdAddSmaller(DdVec<V> c, DdVec<V> p) {
  namespace hn = hwy::HWY_NAMESPACE;
  const DdVec<V> s = FastTwoSum(c.hi, p.hi);
  return FastTwoSum(s.hi, hn::Add(s.lo, hn::Add(c.lo, p.lo)));
}

/// exp_dd of every lane: x.hi in [-707, 709]; outside the lane is arbitrary (NaN and ±inf give NaN): the caller masks it.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE DdVec<V> ExpDd(D d, DdVec<V> x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToUnsigned<D> du;
  const V shifter = hn::Set(d, kExpShifter);
  const V shifted = hn::MulAdd(x.hi, hn::Set(d, kLog2E), shifter);
  const V k = hn::Sub(shifted, shifter);
  const V exact = hn::NegMulAdd(k, hn::Set(d, kLn2High), x.hi);
  const DdVec<V> head = TwoSum(exact, hn::Mul(hn::Neg(k), hn::Set(d, kDdLn2Middle)));
  const DdVec<V> tail = TwoSum(head.hi, x.lo);
  const DdVec<V> r = TwoSum(tail.hi, hn::NegMulAdd(k, hn::Set(d, kDdLn2Low), hn::Add(head.lo, tail.lo)));
  const V scale = hn::Set(d, 0x1p-6);
  const DdVec<V> s = {hn::Mul(r.hi, scale), hn::Mul(r.lo, scale)};
  V t = hn::Set(d, kDdExpC10);
  t = hn::MulAdd(t, s.hi, hn::Set(d, kDdExpC9));
  t = hn::MulAdd(t, s.hi, hn::Set(d, kDdExpC8));
  t = hn::MulAdd(t, s.hi, hn::Set(d, kDdExpC7));
  t = hn::MulAdd(t, s.hi, hn::Set(d, kDdExpC6));
  const V zero = hn::Zero(d);
  const DdVec<V> one = {hn::Set(d, 1.0), zero};
  DdVec<V> p = DdAddSmaller(DdVec<V>{hn::Set(d, kDdExpC5High), hn::Set(d, kDdExpC5Low)}, DdMulDouble(s, t));
  p = DdAddSmaller(DdVec<V>{hn::Set(d, kDdExpC4High), hn::Set(d, kDdExpC4Low)}, DdMul(s, p));
  p = DdAddSmaller(DdVec<V>{hn::Set(d, kDdExpC3High), hn::Set(d, kDdExpC3Low)}, DdMul(s, p));
  p = DdAddSmaller(DdVec<V>{hn::Set(d, 0.5), zero}, DdMul(s, p));
  p = DdAddSmaller(one, DdMul(s, p));
  p = DdAddSmaller(one, DdMul(s, p));
  for (int i = 0; i < 6; ++i) p = DdSquare(p);
  const auto power = hn::Add(hn::ShiftLeft<52>(hn::BitCast(du, shifted)), hn::Set(du, 0x3ff0000000000000u));
  return {hn::Mul(p.hi, hn::BitCast(d, power)), hn::Mul(p.lo, hn::BitCast(d, power))};
}

// NOLINTEND(readability-identifier-naming)
}  // namespace flashproof::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
