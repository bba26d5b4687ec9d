// The fields of a declaration by their names: one list, which reading, writing and the messages of both go through.
#pragma once

#include <span>
#include <string_view>

#include "reference/bound/declare/arithmetic.h"
#include "reference/bound/declare/declaration.h"

namespace flashproof::bound {

template <class E>
struct Name {
  std::string_view name;
  E value;
};

template <class E>
std::span<const Name<E>> names_of();

template <>
inline std::span<const Name<Reduction>> names_of() {
  using enum Reduction;
  static constexpr Name<Reduction> kNames[] = {{"strided_online", strided_online},
                                               {"chunked_online", chunked_online},
                                               {"chunked_local", chunked_local},
                                               {"two_pass", two_pass},
                                               {"chunk_states", chunk_states},
                                               {"unshifted", unshifted},
                                               {"pairwise_fold", pairwise_fold},
                                               {"pairwise_tree", pairwise_tree},
                                               {"flat", flat},
                                               {"chunk_normalized", chunk_normalized},
                                               {"chunk_deferred", chunk_deferred},
                                               {"row_resident", row_resident},
                                               {"chunk_recap", chunk_recap},
                                               {"lse_running", lse_running},
                                               {"any", any}};
  return kNames;
}

template <>
inline std::span<const Name<BlockOrder>> names_of() {
  using enum BlockOrder;
  static constexpr Name<BlockOrder> kNames[] = {
      {"plan", plan}, {"ascending", ascending}, {"descending", descending}, {"any", any}};
  return kNames;
}

template <>
inline std::span<const Name<Exponent>> names_of() {
  using enum Exponent;
  static constexpr Name<Exponent> kNames[] = {{"accurate", accurate},
                                              {"scaled_exp2", scaled_exp2},
                                              {"fused", fused},
                                              {"unfused", unfused},
                                              {"subtract_then_scale", subtract_then_scale}};
  return kNames;
}

template <>
inline std::span<const Name<ScoreUnit>> names_of() {
  static constexpr Name<ScoreUnit> kNames[] = {{"natural", ScoreUnit::natural}, {"raw", ScoreUnit::raw}};
  return kNames;
}

template <>
inline std::span<const Name<LseForm>> names_of() {
  using enum LseForm;
  static constexpr Name<LseForm> kNames[] = {
      {"max_plus_log", max_plus_log}, {"scaled_max_plus_log", scaled_max_plus_log}, {"base2", base2}};
  return kNames;
}

template <>
inline std::span<const Name<MergeWeights>> names_of() {
  using enum MergeWeights;
  static constexpr Name<MergeWeights> kNames[] = {
      {"stable", stable},       {"one_sided", one_sided},         {"running", running}, {"shifted", shifted},
      {"unshifted", unshifted}, {"division_free", division_free}, {"max_sum", max_sum}};
  return kNames;
}

template <>
inline std::span<const Name<Ending>> names_of() {
  using enum Ending;
  static constexpr Name<Ending> kNames[] = {
      {"divide", divide}, {"multiply_reciprocal", multiply_reciprocal}, {"division_free", division_free}};
  return kNames;
}

template <>
inline std::span<const Name<Underflow>> names_of() {
  static constexpr Name<Underflow> kNames[] = {{"gradual", Underflow::gradual}, {"flush", Underflow::flush}};
  return kNames;
}

template <>
inline std::span<const Name<Format>> names_of() {
  static constexpr Name<Format> kNames[] = {{info(Format::f32).name, Format::f32},
                                            {info(Format::f16).name, Format::f16},
                                            {info(Format::bf16).name, Format::bf16},
                                            {info(Format::e4m3fn).name, Format::e4m3fn},
                                            {info(Format::e5m2).name, Format::e5m2}};
  return kNames;
}

/// The matrix units that have a name; other ones are written as {k, f, ofb}.
inline std::span<const Name<BlockFma>> unit_names() {
  static constexpr Name<BlockFma> kNames[] = {{"none", BlockFma{}},
                                              {"volta_f16", kVoltaF16},
                                              {"ampere_f16", kAmpereF16},
                                              {"ampere_tf32", kAmpereTf32},
                                              {"hopper_f16", kHopperF16},
                                              {"hopper_tf32", kHopperTf32},
                                              {"blackwell_fp8", kBlackwellFp8},
                                              {"hopper_wgmma_fp8", kHopperWgmmaFp8}};
  return kNames;
}

/// Legal integers.
struct Range {
  int least, most;
};
/// Legal numbers: least <= x < below.
struct Interval {
  double least, below;
};

// visit(name, field, legal): `legal` is a Range of an int, an Interval of a double, and absent elsewhere. Structures are
// visited as such; a visitor calls fields() of them.
template <class U, class Visit>
void unit_fields(U& unit, Visit&& visit) {
  visit("k", unit.k, Range{0, 64});
  visit("f", unit.f, Range{0, 46});
  visit("ofb", unit.ofb, Range{7, 23});
}

template <class P, class Visit>
  requires std::is_same_v<std::remove_const_t<P>, Products>
void fields(P& products, Visit&& visit) {
  visit("chains", products.chains, Range{1, 4096});
  visit("unit", products.unit);
  visit("promote", products.promote, Range{0, 1 << 20});
  visit("tf32_inputs", products.tf32_inputs);
}

template <class W, class Visit>
  requires std::is_same_v<std::remove_const_t<W>, StoredWeights>
void fields(W& weights, Visit&& visit) {
  visit("format", weights.format);
  visit("scale", weights.scale, Interval{0x1p-60, 0x1p60 + 1});
  visit("summed", weights.summed);
}

template <class S, class Visit>
  requires std::is_same_v<std::remove_const_t<S>, Split>
void fields(S& split, Visit&& visit) {
  visit("parts", split.parts, Range{1, 65536});
  visit("combine", split.combine);
  visit("weights", split.weights);
  visit("partial_o", split.partial_o);
  visit("partial_lse", split.partial_lse);
}

template <class A, class Visit>
  requires std::is_same_v<std::remove_const_t<A>, Arithmetic>
void fields(A& a, Visit&& visit) {
  visit("reduction", a.reduction);
  visit("exponent", a.exponent);
  visit("unit", a.unit);
  visit("exp_error", a.exp_error, Interval{0, 0.5});
  visit("log_error", a.log_error, Interval{0, 0.5});
  visit("log_absolute", a.log_absolute, Interval{0, 1});
  visit("reciprocal_error", a.reciprocal_error, Interval{0, 0.5});
  visit("tanh_error", a.tanh_error, Interval{0, 0.5});
  visit("lanes", a.lanes, Range{0, 4096});
  visit("deal", a.deal, Range{1, 64});
  visit("warps", a.warps, Range{0, 4096});
  visit("vector_bytes", a.vector_bytes, Range{0, 4096});
  visit("lane_joins", a.lane_joins, Range{0, 4096});
  visit("block", a.block, Range{0, kMostBlock});
  visit("visits", a.visits);
  visit("dot", a.dot);
  visit("values", a.values);
  visit("weights", a.weights);
  visit("query", a.query);
  visit("query_scaled", a.query_scaled);
  visit("lazy_log2", a.lazy_log2, Range{0, 63});
  visit("separated_exponent", a.separated_exponent);
  visit("per_key", a.per_key);
  visit("running_lanes", a.running_lanes);
  visit("split", a.split);
  visit("lse_form", a.lse_form);
  visit("lse_format", a.lse_format);
  visit("merge_weights", a.merge_weights);
  visit("ending", a.ending);
  visit("underflow", a.underflow);
}

}  // namespace flashproof::bound
