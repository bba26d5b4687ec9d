#include "properties/generators/backward_case.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "properties/generators/family.h"
#include "properties/generators/gradient_form.h"
#include "properties/generators/keys.h"
#include "properties/generators/make_of.h"
#include "reference/error/element.h"
#include "reference/oracle/oracle.h"
#include "reference/problem/random.h"
#include "reference/problem/special_values.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

/// What an ideal forward kernel returns. An infinity that is listed is the exact value: a weight never is 0 exactly. A NaN
/// beside a number is only what an infinite factor of a hidden key may make.
double ideal(const Ball& truth) {
  if ((truth.classes & kPosInf) != 0) return kInfinity;
  if ((truth.classes & kNegInf) != 0) return -kInfinity;
  return (truth.classes & kFinite) != 0 ? truth.hi : std::numeric_limits<double>::quiet_NaN();
}

/// Dense, or with heads inside the sequence and a gap behind each row, as most frameworks store it.
Tensor output_like(const AttentionProblem& p, Format format, Random& random, bool apart) {
  const std::int64_t b = p.batch(), h = p.q_heads(), s = p.q_length(), dv = p.value_dim();
  if (!apart) return Tensor::dense(format, {b, h, s, dv});
  const std::int64_t row = dv + random.integer(1, 3);
  return Tensor::strided(format, {b, h, s, dv}, {s * h * row, row, h * row, 1});
}

/// With the heads inside the sequence and a gap behind them.
Tensor lse_of_heads_inside(const AttentionProblem& p) {
  const std::int64_t b = p.batch(), h = p.q_heads(), s = p.q_length();
  return Tensor::strided(Format::f32, {b, h, s}, {s * (h + 1), 1, h + 1});
}

template <class Value>
void fill(Tensor& tensor, Value value) {
  for (std::int64_t b = 0; b < tensor.shape[0]; ++b) {
    for (std::int64_t h = 0; h < tensor.shape[1]; ++h) {
      for (std::int64_t i = 0; i < tensor.shape[2]; ++i) {
        if (tensor.shape.size() == 3) tensor.set({b, h, i}, value());
        for (std::int64_t c = 0; tensor.shape.size() == 4 && c < tensor.shape[3]; ++c)
          tensor.set({b, h, i, c}, value());
      }
    }
  }
}

/// A NaN and infinities in a few places.
void plant_specials(Tensor& tensor, Random& random) {
  if (tensor.elements() == 0) return;
  const double specials[] = {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity};
  for (std::int64_t n = random.integer(0, 2); n > 0; --n) {
    const auto at = [&](int axis) { return random.integer(0, tensor.shape[static_cast<std::size_t>(axis)] - 1); };
    tensor.set({at(0), at(1), at(2), at(3)}, specials[random.integer(0, 2)]);
  }
}

/// FNV-1a of the family's name; the last byte is one that no stream of the generators has (shape.cc).
std::uint64_t stream_of(std::string_view family) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : family) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return (hash << 8) + 0xff;
}

double distance(const Ball& exact, double stored) {
  if ((exact.classes & kFinite) == 0 || std::isnan(stored)) return 0;  // classes decide
  if (std::isinf(stored)) return kInfinity;
  return (std::fabs(signed_error(stored, exact)) + exact.radius) * (1 + 0x1p-40);
}

/// o and lse dense, o in the format of q, where they have no shape yet.
void give_shapes(BackwardProblem& p) {
  const std::int64_t b = p.forward.batch(), h = p.forward.q_heads(), s = p.forward.q_length();
  if (p.o.shape.empty()) p.o = Tensor::dense(p.forward.q.format, {b, h, s, p.forward.value_dim()});
  if (p.lse.shape.empty()) p.lse = Tensor::dense(Format::f32, {b, h, s});
}

Format other_format(Format q) { return q == Format::f32 ? Format::bf16 : Format::f32; }

/// Of a family that has rows of its own for gradients, or of attention.
Problem make_forward(const CaseSpec& spec, const Family* own) {
  if (own == nullptr) return make_case(spec).problem;
  return make_of(*own, spec).problem;
}

BackwardProblem make_gradient(const CaseSpec& spec, const std::function<void(Problem&)>& change) {
  CaseSpec forward = spec;
  std::optional<BackwardMode> mode;
  if (const auto key = forward.keys.find("mode"); key != forward.keys.end()) {
    if (key->second != "stage" && key->second != "gradient") {
      throw UsageError("mode: " + quote(key->second) + " must be stage or gradient");
    }
    mode = key->second == "stage" ? BackwardMode::stage : BackwardMode::gradient;
    forward.keys.erase(key);
  }
  const Family* family = find_family(spec.family);
  const bool own = family != nullptr && family->gradient != nullptr;
  if (!own) forward.problem = ProblemKind::attention;
  Problem made = make_forward(forward, own ? family : nullptr);
  if (change) change(made);
  BackwardProblem p;
  p.forward = std::get<AttentionProblem>(std::move(made));
  constexpr Feature kTaken[] = {Feature::window, Feature::alibi};
  if (const auto feature = p.forward.beyond(kTaken)) {
    throw UsageError(std::string(name(*feature)) +
                     ": no gradient of this feature, legal: " + std::string(absence(*feature)));
  }
  Random random(spec.seed, stream_of(spec.family));
  const GradientForm form = own ? family->gradient(forward) : GradientForm{};
  const auto rows_apart = [&] { return own ? form.rows_apart : !random.chance(0.6); };
  const BackwardMode by_seed = spec.seed % 2 == 0 ? BackwardMode::stage : BackwardMode::gradient;
  p.mode = mode.value_or(own ? form.mode : by_seed);
  const Format format = p.forward.q.format;
  p.d_out = output_like(p.forward, format, random, rows_apart());
  p.o = output_like(p.forward, form.other_format ? other_format(format) : format, random, rows_apart());
  fill(p.d_out, [&] { return std::ldexp(random.normal(), form.exponent); });
  // A size of dO is what it says, however small the rest has come out.
  if (own && p.d_out.elements() > 0) p.d_out.set({0, 0, 0, 0}, std::ldexp(1, form.exponent));
  if (form.heads_inside) p.lse = lse_of_heads_inside(p.forward);
  if (spec.family == "special_values") plant_specials(p.d_out, random);
  give_shapes(p);
  return p;
}

}  // namespace

Case make_gradient_case(const CaseSpec& spec, const std::function<void(Problem&)>& change) {
  BackwardProblem p = make_gradient(spec, change);
  store_ideal_forward(p);
  return {spec, std::move(p)};
}

std::optional<Problem> drawn_shape(const CaseSpec& spec) {
  if (spec.problem != ProblemKind::backward) return make_case(spec).problem;
  try {
    return make_gradient(spec, {});
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

void store_ideal_forward(BackwardProblem& p) {
  give_shapes(p);
  const Truth truth = compute_truth(p.forward);
  fill(p.o, [&, n = std::size_t{0}]() mutable { return ideal(truth.o[n++]); });
  fill(p.lse, [&, n = std::size_t{0}]() mutable { return ideal(truth.lse[n++]); });
}

ForwardErrors forward_errors(const BackwardProblem& p) {
  ForwardErrors errors;
  if (p.mode == BackwardMode::stage) return errors;
  const Truth truth = compute_truth(p.forward);
  for (std::int64_t r = 0; r < p.query_rows(); ++r) {
    const std::int64_t sq = p.forward.q_length(), heads = p.forward.q_heads();
    const std::int64_t b = r / sq / heads, h = r / sq % heads, i = r % sq;
    errors.lse.push_back(distance(truth.lse[static_cast<std::size_t>(r)], p.lse.at({b, h, i})));
    for (std::int64_t c = 0; c < p.forward.value_dim(); ++c) {
      const auto n = static_cast<std::size_t>(r * p.forward.value_dim() + c);
      errors.o.push_back(distance(truth.o[n], p.o.at({b, h, i, c})));
    }
  }
  return errors;
}

}  // namespace flashproof
