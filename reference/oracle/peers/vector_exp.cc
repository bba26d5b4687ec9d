// Highway's own exponential, compiled for every target and chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reference/oracle/peers/vector_exp.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::peers::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void exp_in_place(double* x, std::size_t n) {
  const hn::ScalableTag<double> tag;
  const std::size_t lanes = hn::Lanes(tag);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Exp(tag, hn::LoadU(tag, x + i)), tag, x + i);
  const hn::CappedTag<double, 1> one;
  for (; i < n; ++i) hn::StoreU(hn::Exp(one, hn::LoadU(one, x + i)), one, x + i);
}

}  // namespace flashproof::peers::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "reference/oracle/peers/peers.h"

namespace flashproof::peers {

HWY_EXPORT(exp_in_place);

void vector_exp(double* x, std::int64_t n) { HWY_DYNAMIC_DISPATCH(exp_in_place)(x, static_cast<std::size_t>(n)); }

}  // namespace flashproof::peers
#endif
