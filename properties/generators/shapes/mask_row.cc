// Rows without a visible key, by -inf entries, beside ordinary rows: o = 0 and lse = -inf, in those rows alone.
// A merge of empty states only: their o is never written and stays NaN, and must not show.
#include "properties/generators/build.h"

namespace flashproof::family::mask_row {
namespace {

Case make(const CaseSpec& spec) {
  const auto row = [](Random& r, const LogitSite& site, std::span<double> logits) {
    const bool hidden = r.chance(0.4) || site.row == 0;
    for (double& logit : logits) {
      const double value = 2 * r.normal();
      logit = hidden ? -kInfinity : value;
    }
  };
  return with_rows(spec, {.exact_scale = true}, row, {.carrier = Carrier::bias, .noise = 1});
}

constexpr Promise kPromises[] = {{.field = &Difficulty::empty_rows, .at_least = 0.2}};

}  // namespace

Family mask_row() { return {"whole rows hidden, beside ordinary rows", kAll, make, kPromises}; }

}  // namespace flashproof::family::mask_row
