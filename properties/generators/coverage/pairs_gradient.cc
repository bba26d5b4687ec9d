// Gradients of levels: attention's numbers where the gradient has them, nothing of the rest; its plan orders nothing.
#include "properties/generators/coverage/pairs_attention.h"

namespace flashproof::pairwise {
namespace {

/// What attention has of these.
Numbers forward_numbers(const Numbers& n) {
  Numbers forward = plain_attention();
  for (std::size_t i = 0; i < std::size(kOfForward); ++i) forward[kOfForward[i]] = n[i];
  return forward;
}
Levels forward_levels(const Levels& levels) {
  Levels forward(kAttentionAxes, kFree);
  for (std::size_t i = 0; i < std::size(kOfForward); ++i) forward[kOfForward[i]] = levels[i];
  return forward;
}
void take_forward(const Numbers& forward, Numbers& n) {
  for (std::size_t i = 0; i < std::size(kOfForward); ++i) n[i] = forward[kOfForward[i]];
}

Numbers plain() {
  Numbers n(kGradientAxes, 0);
  take_forward(plain_attention(), n);
  return n;
}

bool gradient_fits(Numbers& n, std::int64_t most_products) {
  Numbers forward = forward_numbers(n);
  const bool result = attention_fits(forward, most_products);
  take_forward(forward, n);
  return result;
}

Choice choose_gradient(const Levels& levels, const Numbers& turns) {
  const Levels forward = forward_levels(levels);
  Numbers simplest = plain();
  take_forward(simplest_attention(forward), simplest);
  const std::int64_t most = most_products(forward);
  Choice choice = choose(dimensions(ProblemKind::backward), levels, simplest, turns,
                         [most](Numbers& numbers) { return gradient_fits(numbers, most); });
  if (has_no_key(forward) && of_more_than_a_pair(levels)) choice.fits = false;
  return choice;
}

Problem make_forward(const CaseSpec& spec, const Numbers& n, Random& random) {
  Numbers forward = forward_numbers(n);
  attention_fits(forward, kProducts);  // what follows from them: the chunks
  return kAttentionKind.make(spec, forward, random);
}

}  // namespace

const Kind kGradientKind{plain, [](Numbers& n) { return gradient_fits(n, kProducts); }, choose_gradient, make_forward};

GradientForm gradient_form(const Numbers& n) {
  return {.mode = n[kGradientMode] == 1 ? BackwardMode::gradient : BackwardMode::stage,
          .other_format = n[kOutputFormat] == 1,
          .rows_apart = n[kOutputLayout] == 1,
          .heads_inside = n[kLseLayout] == 1,
          .exponent = static_cast<int>(n[kOutputGradient])};
}

}  // namespace flashproof::pairwise
