// Storage that belongs to no key may hold anything: not a bit of the output changes; of a kernel that does not declare itself
// deterministic no number leaves both bounds. Gaps between strides, columns and keys beyond a length, slots and pages that no key lies
// in, entries of the page table beyond a sequence, o of an empty state.
//
// Every tensor first gets room behind its rows and behind its last key, so that every case has such storage, and a tile
// that is loaded whole finds it there. The same kernel then runs with it filled with NaN, 0, ±inf and ±the largest number.
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "properties/laws/law.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare.h"
#include "properties/laws/support/layout.h"
#include "properties/laws/support/same_outputs.h"
#include "reference/problem/special_values.h"

namespace flashproof::law::unused_storage_is_isolated {
namespace {

constexpr std::int64_t kColumns = 8;  // of room: 16-byte loads that the layout allowed are still allowed
constexpr std::int64_t kKeys = 64;    // no tile of keys is longer

enum class Fill : std::uint8_t { nan, zero, infinite, large };
constexpr std::string_view kFillNames[] = {"NaN", "0", "±inf", "±the largest number"};

/// In turn, at even and at odd places.
std::array<std::uint64_t, 2> bits_of(Fill fill, Format format) {
  const double large = info(format).max_finite;
  switch (fill) {
    case Fill::nan:
      return {~std::uint64_t{0}, ~std::uint64_t{0}};
    case Fill::zero:
      return {0, 0};
    case Fill::infinite:
      return {encode(format, kInfinity), encode(format, -kInfinity)};
    case Fill::large:
      break;
  }
  return {encode(format, large), encode(format, -large)};
}

/// An entry that leads to a page far outside, or to one that exists.
std::int32_t entry_of(Fill fill) {
  constexpr std::int32_t kEntries[] = {-1, 0, std::numeric_limits<std::int32_t>::max(),
                                       std::numeric_limits<std::int32_t>::min()};
  return kEntries[static_cast<int>(fill)];
}

/// Which elements of a tensor's storage belong to a key or a query.
class Used {
 public:
  explicit Used(const Tensor& tensor)
      : stride_(tensor.stride), used_(tensor.storage.size() / static_cast<std::size_t>(bytes_of(tensor.format)), 0) {}
  void add(std::int64_t offset) { used_[static_cast<std::size_t>(offset)] = 1; }
  /// `n` elements along the last axis.
  void add_row(std::int64_t offset, std::int64_t n) {
    for (std::int64_t c = 0; c < n; ++c) add(offset + c * stride_.back());
  }
  void fill_rest(Tensor& tensor, Fill fill) const {
    const auto bits = bits_of(fill, tensor.format);
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (used_[i] == 0) tensor.set_bits(static_cast<std::int64_t>(i), bits[i % 2]);
    }
  }

 private:
  std::vector<std::int64_t> stride_;
  std::vector<std::uint8_t> used_;
};

void with_room(Tensor& tensor, std::int64_t rows) {
  std::vector<int> order(tensor.shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::int64_t> room(order.size(), 0);
  room[room.size() - 2] = rows;
  room.back() = kColumns;
  tensor = relaid(tensor, order, room);
}

void make_room(SoftmaxProblem& p) { with_room(p.x, 1); }

void make_room(MergeProblem& p) {
  with_room(p.o, 1);
  with_room(p.lse, 1);
  if (p.has_l()) with_room(p.l, 1);
}

void make_room(AttentionProblem& p) {
  with_room(p.q, 1);
  with_room(p.k, kKeys);
  with_room(p.v, kKeys);
  if (p.has_bias()) with_room(p.bias, 1);
}

void fill_unused(SoftmaxProblem& p, Fill fill) {
  Used x(p.x);
  for (std::int64_t r = 0; r < p.x.shape[0]; ++r) {
    x.add_row(p.x.offset({r, 0}), length_of(p, r));
  }
  x.fill_rest(p.x, fill);
}

void fill_unused(MergeProblem& p, Fill fill) {
  Used o(p.o), lse(p.lse), l(p.l);
  for (std::int64_t n = 0; n < p.o.shape[0]; ++n) {
    for (std::int64_t r = 0; r < p.o.shape[1]; ++r) {
      lse.add(p.lse.offset({n, r}));
      const double m = p.lse.at({n, r});
      if (m == -kInfinity) continue;
      if (p.has_l()) l.add(p.l.offset({n, r}));
      if (p.has_l() && std::isfinite(m) && p.l.at({n, r}) == 0) continue;
      o.add_row(p.o.offset({n, r, 0}), p.o.shape[2]);
    }
  }
  o.fill_rest(p.o, fill);
  lse.fill_rest(p.lse, fill);
  if (p.has_l()) l.fill_rest(p.l, fill);
}

void fill_unused(AttentionProblem& p, Fill fill) {
  Used q(p.q), k(p.k), v(p.v), bias(p.bias);
  for_each_query(p, [&](std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t) {
    q.add_row(p.q_offset(s, h, i), p.head_dim());
    if (p.has_bias()) bias.add_row(p.bias.offset({s, h, i, 0}), p.visible_length(s));
  });
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t h = 0; h < p.k_heads(); ++h) {
      for (std::int64_t j = 0; j < p.visible_length(s); ++j) {
        k.add_row(p.k_offset(s, h, j), p.head_dim());
        v.add_row(p.v_offset(s, h, j), p.value_dim());
      }
    }
    for (std::int64_t n = 0; n < p.pages_per_sequence(); ++n) {
      const bool needed = n * p.k.shape[2] < p.visible_length(s);
      if (!needed) p.page_table[static_cast<std::size_t>(s * p.pages_per_sequence() + n)] = entry_of(fill);
    }
  }
  q.fill_rest(p.q, fill);
  k.fill_rest(p.k, fill);
  v.fill_rest(p.v, fill);
  if (p.has_bias()) bias.fill_rest(p.bias, fill);
}

void make_room(BackwardProblem& p) {
  make_room(p.forward);
  for (Tensor* tensor : {&p.d_out, &p.o, &p.lse}) with_room(*tensor, 1);
}

/// What the forward kernel left of a query that sees no key is not read either: it has no part in any gradient.
void fill_unused(BackwardProblem& p, Fill fill) {
  fill_unused(p.forward, fill);
  Used d_out(p.d_out), o(p.o), lse(p.lse);
  for_each_query(p.forward, [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t) {
    const auto keys = p.forward.visible_keys(b, i);
    bool sees = false;
    for (std::int64_t j = keys.first; j < keys.last; ++j) sees = sees || !p.forward.hidden_by_bias(b, h, i, j);
    if (!sees) return;
    d_out.add_row(p.d_out.offset({b, h, i, 0}), p.forward.value_dim());
    o.add_row(p.o.offset({b, h, i, 0}), p.forward.value_dim());
    lse.add(p.lse.offset({b, h, i}));
  });
  d_out.fill_rest(p.d_out, fill);
  o.fill_rest(p.o, fill);
  lse.fill_rest(p.lse, fill);
}

void make_room(Problem& problem) {
  std::visit([](auto& p) { make_room(p); }, problem);
}
void fill_unused(Problem& problem, Fill fill) {
  std::visit([&](auto& p) { fill_unused(p, fill); }, problem);
}

constexpr std::string_view kTeeth[] = {"merge.broken.empty_state_read", "attention.broken.hidden_value_times_zero",
                                       "attention.broken.mask_added_to_nan", "attention.broken.tail_not_masked",
                                       "attention_backward.broken.lse_taken_for_dense"};

Verdict relate(Trial& trial) {
  if (no_rows(trial.problem())) return vacuous("no row");
  Problem changed = trial.problem();
  make_room(changed);
  std::optional<Output> first;
  Comparison tally;
  for (const Fill fill : {Fill::nan, Fill::zero, Fill::infinite, Fill::large}) {
    fill_unused(changed, fill);
    if (std::string why = trial.refusal(changed); !why.empty()) return unsupported(std::move(why));
    Output output = trial.run(changed);
    if (!first) {
      first = std::move(output);
      continue;
    }
    const bool same = tally.add(
        same_outputs(trial, output, *first), Failure::leak,
        ", with " + std::string(kFillNames[static_cast<int>(fill)]) + " against NaN in storage that belongs to no key");
    if (!same) break;
  }
  return tally.verdict("");
}

}  // namespace

Law unused_storage_is_isolated() {
  return {"storage that belongs to no key may hold anything", kTeeth, relate, relate};
}

}  // namespace flashproof::law::unused_storage_is_isolated
