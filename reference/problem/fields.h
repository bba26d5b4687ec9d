// The fields of the problems, once: name, axes, whether it may be left out. Witnesses, race reports, dictionaries of Python,
// exports, batches and the searches for smaller cases go through this list; what a field means is in forward.h and backward.h,
// what is legal in validate().
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "reference/problem/problems.h"

namespace flashproof {

/// What an index of a tensor, or of a list, counts in a problem that is neither packed nor paged.
enum class Axis : std::uint8_t { rows, cols, states, batch, q_heads, k_heads, q_length, k_length, d, dv };

/// optional: absent in the plain form of the problem, a tensor without a shape, an empty list or the neutral number.
enum class Presence : bool { always, optional };

struct Field {
  std::string_view name;
  std::array<Axis, 4> axis{};
  std::size_t axes = 0;  // 0: a scalar, or indices of which no axis counts
  Presence presence = Presence::always;

  constexpr Field(std::string_view field_name, std::initializer_list<Axis> list = {}, Presence when = Presence::always)
      : name(field_name), axes(list.size()), presence(when) {
    std::size_t n = 0;
    for (const Axis one : list) axis[n++] = one;
  }
  std::span<const Axis> shape() const { return std::span(axis).first(axes); }
};

/// A scalar that is one of two words; of an optional one the second stands where none is given.
template <class Reference>
struct TwoWords {
  Reference value;
  std::remove_cvref_t<Reference> first, second;
  std::string_view first_word, second_word;
};
/// left,right.
template <class Reference>
struct Window {
  Reference left, right;
};

template <class P, class Plain>
concept ProblemOf = std::same_as<std::remove_const_t<P>, Plain>;

// visit(Field, value) for every field, in the order of the structure. A value is a Tensor, a list of int32, the joins of a merge, a
// float, TwoWords or a Window.

template <class P, class Visit>
  requires ProblemOf<P, SoftmaxProblem>
void for_each_field(P& p, Visit&& visit) {
  using enum Axis;
  visit(Field("x", {rows, cols}), p.x);
  visit(Field("row_length", {rows}), p.row_length);
  visit(Field("plan.boundary"), p.plan.boundary);
  visit(Field("plan.order"), p.plan.order);
}

template <class P, class Visit>
  requires ProblemOf<P, MergeProblem>
void for_each_field(P& p, Visit&& visit) {
  using enum Axis;
  visit(Field("o", {states, rows, dv}), p.o);
  visit(Field("lse", {states, rows}), p.lse);
  visit(Field("l", {states, rows}, Presence::optional), p.l);
  visit(Field("order"), p.order);
  visit(Field("joins", {}, Presence::optional), p.joins);
  visit(Field("form"), TwoWords<decltype((p.form))>{p.form, MergeForm::sum, MergeForm::concat, "sum", "concat"});
}

template <class P, class Visit>
  requires ProblemOf<P, AttentionProblem>
void for_each_field(P& p, Visit&& visit) {
  using enum Axis;
  visit(Field("q", {batch, q_heads, q_length, d}), p.q);
  visit(Field("k", {batch, k_heads, k_length, d}), p.k);
  visit(Field("v", {batch, k_heads, k_length, dv}), p.v);
  visit(Field("bias", {batch, q_heads, q_length, k_length}, Presence::optional), p.bias);
  visit(Field("alibi", {batch, q_heads}, Presence::optional), p.alibi);
  visit(Field("sink", {q_heads}, Presence::optional), p.sink);
  visit(Field("q_descale", {batch, k_heads}, Presence::optional), p.q_descale);
  visit(Field("k_descale", {batch, k_heads}, Presence::optional), p.k_descale);
  visit(Field("v_descale", {batch, k_heads}, Presence::optional), p.v_descale);
  visit(Field("scale"), p.scale);
  visit(Field("causal"), TwoWords<decltype((p.causal))>{p.causal, true, false, "true", "false"});
  visit(Field("window", {}, Presence::optional), Window<decltype((p.window_left))>{p.window_left, p.window_right});
  visit(Field("diagonal", {}, Presence::optional),
        TwoWords<decltype((p.top_left))>{p.top_left, true, false, "top_left", "bottom_right"});
  visit(Field("softcap", {}, Presence::optional), p.softcap);
  visit(Field("key_length", {batch}), p.key_length);
  visit(Field("q_start", {}, Presence::optional), p.q_start);
  visit(Field("k_start", {}, Presence::optional), p.k_start);
  visit(Field("page_table", {}, Presence::optional), p.page_table);
  visit(Field("plan.boundary"), p.plan.boundary);
  visit(Field("plan.order"), p.plan.order);
}

template <class P, class Visit>
  requires ProblemOf<P, BackwardProblem>
void for_each_field(P& p, Visit&& visit) {
  using enum Axis;
  for_each_field(p.forward, visit);
  visit(Field("d_out", {batch, q_heads, q_length, dv}), p.d_out);
  visit(Field("o", {batch, q_heads, q_length, dv}), p.o);
  visit(Field("lse", {batch, q_heads, q_length}), p.lse);
  visit(Field("mode"), TwoWords<decltype((p.mode))>{p.mode, BackwardMode::stage, BackwardMode::gradient,
                                                    name(BackwardMode::stage), name(BackwardMode::gradient)});
}

/// visit(Field, Tensor) for every tensor that the problem has.
template <class P, class Visit>
void for_each_tensor(P& problem, Visit&& visit) {
  for_each_field(problem, [&]<class T>(const Field& field, T&& value) {
    if constexpr (std::same_as<std::remove_cvref_t<T>, Tensor>) {
      if (!value.shape.empty()) visit(field, value);
    }
  });
}

/// Of an input beside the outputs of its problem: "lse_in" where they have one of that name.
template <class P>
std::string input_name(const P& problem, const Field& field) {
  std::string shown(field.name);
  for (const Part part : parts(kind_of(problem))) {
    if (name(part) == field.name) return shown + "_in";
  }
  return shown;
}

}  // namespace flashproof
