// Each feature of attention at both ends of its range, a level a case: biases, slopes and sinks from a fraction of a score to the
// largest numbers, of either sign, and sinks of 0; caps from far below to far above 1 with scores that reach them; windows of 0 and 1
// keys, with and without a causal mask, of more than 7 bits count, of thousands, and as wide as a number can say; a scale of 0, below 0
// and of the least normal number. A kernel that takes a large negative bias for a hidden key or a sink of 0 for no sink, forgets a cap
// that its scores never reach, mistakes 0 keys for no window, or adds a position to the widest in 32 bits is right everywhere else.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "properties/generators/features.h"
#include "properties/generators/gradient_form.h"

namespace flashproof::family::feature_edges {
namespace {

enum class What : std::uint8_t { bias, softcap, window, alibi, sink, scale };
struct Edge {
  What what;
  double level;  // of a cap and a scale; else the sign of the numbers, 0: both
  std::int32_t left = -1, right = -1;
  bool causal = false;
};
constexpr std::int32_t kWidest = std::numeric_limits<std::int32_t>::max();
constexpr Edge kEdges[] = {{What::window, 0, 0, -1, true},
                           {What::alibi, -1},
                           {What::window, 0, 0, 0, false},
                           {What::bias, -1},
                           {What::window, 0, -1, 0, true},
                           {What::window, 0, 1, 1, false},
                           {What::window, 0, 0, -1, false},
                           {What::window, 0, -1, 0, false},
                           {What::window, 0, 0, 0, true},
                           {What::window, 0, 1, -1, true},
                           {What::alibi, 1},
                           {What::bias, 1},
                           {What::bias, 0},
                           {What::scale, 0},
                           {What::scale, -0.5},
                           {What::scale, 0x1p-126},
                           {What::window, 0, 128, -1, false},
                           {What::window, 0, 255, -1, true},
                           {What::window, 0, 256, 0, true},
                           {What::window, 0, 127, -1, false},
                           {What::window, 0, 3, kWidest, false},
                           {What::window, 0, kWidest, 0, false},
                           {What::window, 0, kWidest, kWidest, true},
                           {What::window, 0, 600, -1, true},
                           {What::window, 0, 4096, -1, true},
                           {What::softcap, 0x1p-20},
                           {What::softcap, 0x1p-10},
                           {What::softcap, 2},
                           {What::softcap, 30},
                           {What::softcap, 1000},
                           {What::softcap, 0x1p14},
                           {What::sink, -1},
                           {What::sink, 1}};
/// Those before the caps: a gradient has no cap and no sink.
constexpr std::size_t kOfGradients = std::ranges::find(kEdges, What::softcap, &Edge::what) - std::begin(kEdges);
// Most rows of biases have levels at which a rounded product of the score still tells keys apart: 2^-4 to 2^19. The others go round the
// finite numbers that kernels use for minus infinity.
constexpr std::int64_t kBiasRows = 33, kHeads = 8, kKeys = 33;
int bias_exponent(std::int64_t row) {
  constexpr int kLarge[] = {29, 30, 40, 64, 99, 100, 110, 120, 126};
  const std::int64_t small = kBiasRows - std::ssize(kLarge);
  return row < small ? static_cast<int>(row) - 4 : kLarge[row - small];
}

std::uint64_t round(ProblemKind problem) { return problem == ProblemKind::backward ? kOfGradients : std::size(kEdges); }

/// Either mode of each, in turn.
GradientForm gradient(const CaseSpec& spec) { return {.mode = mode_in_turn(spec.seed, round(spec.problem))}; }

ShapeWish wish(const Edge& edge) {
  const bool heads = edge.what == What::alibi || edge.what == What::sink;
  const bool far = edge.left > kKeys && edge.left != kWidest;  // the window's left end is to lie inside the keys
  const bool many = edge.what == What::window && !far;
  return {.rows = edge.what == What::bias ? kBiasRows
                  : many                  ? kKeys / 2
                                          : 5,
          .length = far ? std::max<std::int64_t>(300, edge.left + 45) : kKeys,
          .causal_chance = edge.causal ? 1.0 : 0.0,
          .exact_scale = true,
          .head_dim = 8,
          .value_dim = 8,
          .q_heads = heads ? kHeads : 1,
          .k_heads = heads ? kHeads / 2 : 1};
}

/// Of this sign; of both in turn where it is 0.
double level_of(double sign, std::int64_t i, int exponent) {
  return (sign != 0 ? sign : i % 2 == 0 ? 1 : -1) * pow2(exponent);
}

/// The whole row within a few spacings of its level, or, where that is small, a few nats.
void put_bias_levels(AttentionProblem& problem, Random& random, double sign) {
  put_bias(problem, random, [sign](Random& r, const LogitSite& site, std::span<double> logits) {
    const double level = level_of(sign, site.row, bias_exponent(site.row % kBiasRows));
    const double step = std::max(spacing(level, site.precision), std::min(1.0, 0.25 * std::abs(level)));
    for (double& logit : logits) logit = level + std::copysign(step, level) * static_cast<double>(r.integer(0, 3));
  });
}

/// One level a head, from 2^lo to just below 2^hi.
Tensor levels(std::vector<std::int64_t> shape, double sign, int lo, int hi) {
  Tensor values = Tensor::dense(Format::f32, shape);
  const std::int64_t heads = shape.back();
  for (std::int64_t s = 0; s < (std::ssize(shape) > 1 ? shape[0] : 1); ++s) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const double level = level_of(sign, h, lo + static_cast<int>((hi - lo) * h / heads));
      std::ssize(shape) > 1 ? values.set({s, h}, level) : values.set({h}, level);
    }
  }
  return values;
}

Case make(const CaseSpec& spec) {
  const Edge& edge = kEdges[spec.seed % round(spec.problem)];
  Problem problem = draw_shape(spec, wish(edge));
  Random random = value_stream(spec);
  auto& attention = std::get<AttentionProblem>(problem);
  double deviation = 2;
  switch (edge.what) {
    case What::bias:
      put_bias_levels(attention, random, edge.level);
      break;
    case What::softcap:
      attention.softcap = static_cast<float>(edge.level);
      deviation = std::max(edge.level, 2.0);  // a kernel that ignores a small cap errs where scores are large
      break;
    case What::window:
      attention.window_left = edge.left;
      attention.window_right = edge.right;
      break;
    case What::alibi:
      attention.alibi = levels({attention.sequences(), attention.q_heads()}, edge.level, -24, 120);
      break;
    case What::sink:
      attention.sink = levels({attention.q_heads()}, edge.level, -4, 128);
      attention.sink.set({0}, edge.level * 0.0);
      break;
    case What::scale:
      attention.scale = static_cast<float>(edge.level);
      break;
  }
  // The score is a sum of d products: of this deviation.
  const double d = static_cast<double>(attention.q.shape[3]);
  const double scale = edge.what == What::scale ? 0.5 : std::abs(static_cast<double>(attention.scale));
  const double amplitude = std::sqrt(deviation / (scale * std::sqrt(d)));
  put_queries(attention, random, amplitude);
  put_keys(attention, random, amplitude);
  put_values(problem, random);
  return {spec, std::move(problem)};
}

constexpr Promise kPromises[] = {{.field = &Difficulty::features, .at_least = 1, .share = 0.65}};

}  // namespace

Family feature_edges() {
  return {"biases, caps, windows, slopes and sinks at both ends of their ranges",
          kAttentionOnly,
          make,
          kPromises,
          nullptr,
          round,
          gradient};
}

}  // namespace flashproof::family::feature_edges
