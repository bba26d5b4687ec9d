// Equal logits, and logits within a few spacings of their format of each other. Every weight is 1/N or next to it: row
// sums in 16 bits stop growing, a biased rounding adds up, and the mean of v cancels.
#include "properties/generators/build.h"

namespace flashproof::family::equal {
namespace {

constexpr double kLevels[] = {0, 1, -1, 10, -50, 80, 1000.5};

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.exact_scale = true});
  Random random = value_stream(spec);
  const bool one_sign = random.chance(0.3);
  const double level = pick(random, kLevels);
  const std::int64_t spread = random.chance(0.5) ? 0 : random.integer(1, 4);
  const auto row = [=](Random& r, const LogitSite& site, std::span<double> logits) {
    const double unit = spacing(level == 0 ? 1 : level, site.precision);
    for (double& logit : logits) logit = level + unit * static_cast<double>(r.integer(-spread, spread));
  };
  put_logits(problem, random, row, {.noise = 0.0005});
  // The noise of q and k would make the logits differ: all keys get the first one's, and for exactly equal scores that
  // is all there is to do.
  if (auto* attention = std::get_if<AttentionProblem>(&problem)) {
    for (std::int64_t b = 0; b < attention->batch(); ++b) {
      for (std::int64_t h = 0; h < attention->k_heads(); ++h) {
        for (std::int64_t j = 1; j < attention->visible_length(b); ++j) {
          for (std::int64_t t = 1; t < attention->head_dim(); ++t) {
            attention->k.set({b, h, j, t}, attention->k.at({b, h, 0, t}));
          }
          if (attention->has_bias()) attention->k.set({b, h, j, 0}, attention->k.at({b, h, 0, 0}));
        }
      }
    }
  }
  put_values(problem, random, [=](Random& r, std::int64_t, std::int64_t) {
    const double value = r.normal();
    return one_sign ? std::abs(value) : value;
  });
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::spread, .at_most = 1, .share = 0.8},
                                 {.field = &Difficulty::ties, .at_least = 2, .share = 0.4}};

}  // namespace

Family equal() { return {"equal logits, or a few spacings apart", kAll, make, kPromises}; }

}  // namespace flashproof::family::equal
