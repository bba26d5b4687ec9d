#include "properties/generators/backward_case.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "properties/generators/backward_variant.h"
#include "properties/generators/family.h"
#include "reference/error/element.h"
#include "reference/oracle/oracle.h"
#include "reference/problem/error.h"
#include "reference/problem/random.h"
#include "reference/problem/text.h"

namespace flashproof {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What an ideal forward kernel returns. An infinity that is listed is the exact value: a weight never is 0 exactly. A NaN
/// beside a number is only what an infinite factor of a hidden key may make.
double ideal(const Ball& truth) {
  if ((truth.classes & kPosInf) != 0) return kInfinity;
  if ((truth.classes & kNegInf) != 0) return -kInfinity;
  return (truth.classes & kFinite) != 0 ? truth.hi : std::numeric_limits<double>::quiet_NaN();
}

/// Dense, or with heads inside the sequence and a gap behind each row, as most frameworks store it.
Tensor output_like(const AttentionProblem& p, Format format, Random& random) {
  const std::int64_t b = p.batch(), h = p.q_heads(), s = p.q_length(), dv = p.value_dim();
  if (random.chance(0.6)) return Tensor::dense(format, {b, h, s, dv});
  const std::int64_t row = dv + random.integer(1, 3);
  return Tensor::strided(format, {b, h, s, dv}, {s * h * row, row, h * row, 1});
}

/// Dense, or with the heads inside the sequence.
Tensor lse_like(const AttentionProblem& p, Random& random) {
  const std::int64_t b = p.batch(), h = p.q_heads(), s = p.q_length();
  if (random.chance(0.5)) return Tensor::dense(Format::f32, {b, h, s});
  return Tensor::strided(Format::f32, {b, h, s}, {s * h, 1, h});
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

/// Takes the key `variant` out of the spec, and what it says of the shape into it, where no key says otherwise; 0: none.
int taken_variant(CaseSpec& spec) {
  const auto key = spec.keys.find("variant");
  if (key == spec.keys.end()) return 0;
  const std::string text = key->second;
  constexpr int kMost = 999'999;
  const bool digits = !text.empty() && text.size() <= 6 && text.find_first_not_of("0123456789") == std::string::npos;
  const int variant = digits ? std::stoi(text) : 0;
  if (variant < 1) throw UsageError("variant: " + quote(text) + " must be 1.." + std::to_string(kMost));
  spec.keys.erase(key);
  for (const auto& [name, value] : variant_keys(variant)) spec.keys.try_emplace(name, value);
  return variant;
}

double distance(const Ball& exact, double stored) {
  if ((exact.classes & kFinite) == 0 || std::isnan(stored)) return 0;  // classes decide
  if (std::isinf(stored)) return kInfinity;
  return (std::fabs(signed_error(stored, exact)) + exact.radius) * (1 + 0x1p-40);
}

}  // namespace

Case make_gradient_case(const CaseSpec& spec, const std::function<void(Problem&)>& change) {
  CaseSpec forward = spec;
  forward.problem = ProblemKind::attention;
  BackwardMode mode = spec.seed % 2 == 0 ? BackwardMode::stage : BackwardMode::gradient;
  if (const auto key = forward.keys.find("mode"); key != forward.keys.end()) {
    if (key->second != "stage" && key->second != "gradient") {
      throw UsageError("mode: " + quote(key->second) + " must be stage or gradient");
    }
    mode = key->second == "stage" ? BackwardMode::stage : BackwardMode::gradient;
    forward.keys.erase(key);
  }
  const int variant = taken_variant(forward);
  BackwardProblem p;
  Problem made = make_case(forward).problem;
  if (change) change(made);
  p.forward = std::get<AttentionProblem>(std::move(made));
  p.mode = mode;
  Random features(spec.seed, stream_of("variant") + static_cast<std::uint64_t>(variant) * 0x10000);
  if (variant > 0) add_variant_features(variant, p.forward, features);
  constexpr Feature kTaken[] = {Feature::window, Feature::alibi};
  if (const auto feature = p.forward.beyond(kTaken)) {
    throw UsageError(std::string(name(*feature)) +
                     ": no gradient of this feature, legal: " + std::string(absence(*feature)));
  }
  Random random(spec.seed, stream_of(spec.family));
  const Format format = p.forward.q.format;
  p.d_out = output_like(p.forward, format, random);
  p.o = output_like(p.forward, variant > 0 ? variant_o_format(variant, format) : format, random);
  const int exponent = variant > 0 ? variant_d_out_exponent(variant) : 0;
  fill(p.d_out, [&] { return std::ldexp(random.normal(), exponent); });
  if (variant > 0) p.lse = lse_like(p.forward, features);
  if (spec.family == "special_values") plant_specials(p.d_out, random);
  store_ideal_forward(p);
  return {spec, std::move(p)};
}

void store_ideal_forward(BackwardProblem& p) {
  const std::int64_t b = p.forward.batch(), h = p.forward.q_heads(), s = p.forward.q_length();
  if (p.o.shape.empty()) p.o = Tensor::dense(p.forward.q.format, {b, h, s, p.forward.value_dim()});
  if (p.lse.shape.empty()) p.lse = Tensor::dense(Format::f32, {b, h, s});
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
