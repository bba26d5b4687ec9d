// What an attention kernel may have made of its arguments: scale, softcap, factors, heads, strides.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "reports/diagnose/hypotheses/hypothesis.h"

namespace flashproof {
namespace {

bool set_scale(AttentionProblem& p, double scale) {
  const auto rounded = static_cast<float>(scale);
  if (rounded == p.scale || !std::isfinite(rounded)) return false;
  p.scale = rounded;
  return true;
}

/// Dense tensors k and v whose head `of_attention(s, h)` is the head that query head h shall read: one kv head per query head.
template <class HeadOf>
bool read_heads(AttentionProblem& p, HeadOf head_of) {
  if (p.has_descale() || p.q_heads() == p.k_heads()) return false;
  bool other = false;
  for (Tensor* t : {&p.k, &p.v}) {
    std::vector<std::int64_t> shape = t->shape;
    shape[1] = p.q_heads();
    Tensor to = Tensor::dense(t->format, shape);
    for (std::int64_t b = 0; b < shape[0]; ++b)
      for (std::int64_t h = 0; h < shape[1]; ++h) {
        const std::int64_t from = std::clamp<std::int64_t>(head_of(h, p.q_heads(), t->shape[1]), 0, t->shape[1] - 1);
        other |= from != h * t->shape[1] / p.q_heads();
        for (std::int64_t j = 0; j < shape[2]; ++j)
          for (std::int64_t c = 0; c < shape[3]; ++c)
            to.set_bits(to.offset({b, h, j, c}), t->bits(t->offset({b, from, j, c})));
      }
    *t = std::move(to);
  }
  return other;
}

void add_scale(std::vector<Hypothesis>& list) {
  list.push_back(of_attention("scale.twice", "the scale is applied twice", [](AttentionProblem& p) {
    return set_scale(p, static_cast<double>(p.scale) * p.scale);
  }));
  list.push_back(
      of_attention("scale.default", "the scale of the call is ignored: 1/sqrt(d) is taken",
                   [](AttentionProblem& p) { return set_scale(p, 1 / std::sqrt(static_cast<double>(p.head_dim()))); }));
  list.push_back(
      of_attention("scale.ignored", "the scale is not applied", [](AttentionProblem& p) { return set_scale(p, 1); }));
  list.push_back(of_attention("scale.zero", "the scale is taken for 0: all keys weigh the same",
                              [](AttentionProblem& p) { return set_scale(p, 0); }));
  list.push_back(of_attention("scale.negated", "the scale has the wrong sign",
                              [](AttentionProblem& p) { return set_scale(p, -static_cast<double>(p.scale)); }));
  list.push_back(of_attention(
      "scale.squared_root", "the square root of the scale is applied once, not to both factors",
      [](AttentionProblem& p) { return p.scale > 0 && set_scale(p, std::sqrt(p.scale)); }, 2));
}

void add_features(std::vector<Hypothesis>& list) {
  list.push_back(of_attention("softcap.ignored", "the softcap is not applied",
                              [](AttentionProblem& p) { return std::exchange(p.softcap, 0.0F) != 0; }));
  list.push_back(of_attention("alibi.ignored", "the ALiBi slopes are ignored",
                              [](AttentionProblem& p) { return p.has_alibi() && (p.alibi = Tensor{}, true); }));
  list.push_back(of_attention("bias.ignored", "the bias is ignored",
                              [](AttentionProblem& p) { return p.has_bias() && (p.bias = Tensor{}, true); }));
  list.push_back(of_attention("sink.ignored", "the sink is lost",
                              [](AttentionProblem& p) { return p.has_sink() && (p.sink = Tensor{}, true); }));
  static constexpr struct {
    const char* name;
    Tensor AttentionProblem::* factors;
  } kFactors[] = {
      {"q", &AttentionProblem::q_descale}, {"k", &AttentionProblem::k_descale}, {"v", &AttentionProblem::v_descale}};
  for (const auto& f : kFactors) {
    list.push_back(of_attention(
        fmt::format("descale.{}_ignored", f.name), fmt::format("{}_descale is ignored", f.name),
        [f](AttentionProblem& p) { return !(p.*f.factors).shape.empty() && (p.*f.factors = Tensor{}, true); }));
    // Those of q and k count as a product: that they change places changes nothing.
    if (f.factors == &AttentionProblem::v_descale) continue;
    list.push_back(of_attention(fmt::format("descale.{}_and_v_exchanged", f.name),
                                fmt::format("{}_descale and v_descale are exchanged", f.name),
                                [f](AttentionProblem& p) {
                                  std::swap(p.*f.factors, p.v_descale);
                                  return p.*f.factors != p.v_descale;
                                }));
  }
}

/// A kernel may take factors by query head: one problem has them by kv head, so k and v get a head for every query head.
bool factors_of_head_mod(AttentionProblem& p) {
  if (!p.has_descale() || p.q_heads() == p.k_heads() || p.k_heads() == 1) return false;
  const std::int64_t heads = p.q_heads(), kv = p.k_heads();
  Tensor factors[3] = {p.q_descale, p.k_descale, p.v_descale};
  p.q_descale = p.k_descale = p.v_descale = Tensor{};
  read_heads(p, [](std::int64_t h, std::int64_t hq, std::int64_t hk) { return h * hk / hq; });
  Tensor* to[3] = {&p.q_descale, &p.k_descale, &p.v_descale};
  for (int f = 0; f < 3; ++f) {
    if (factors[f].shape.empty()) continue;
    *to[f] = Tensor::dense(Format::f32, {p.sequences(), heads});
    for (std::int64_t s = 0; s < p.sequences(); ++s)
      for (std::int64_t h = 0; h < heads; ++h) to[f]->set({s, h}, factors[f].at({s, h % kv}));
  }
  return true;
}

void add_heads(std::vector<Hypothesis>& list) {
  using Head = std::int64_t;
  list.push_back(
      of_attention("heads.modulo", "query head h reads kv head h mod Hk, not h Hk / Hq",
                   [](AttentionProblem& p) { return read_heads(p, [](Head h, Head, Head hk) { return h % hk; }); }));
  list.push_back(
      of_attention("heads.by_kv_heads", "query head h reads kv head h / Hk, not h / (Hq / Hk)",
                   [](AttentionProblem& p) { return read_heads(p, [](Head h, Head, Head hk) { return h / hk; }); }));
  list.push_back(of_attention("heads.first", "every query head reads kv head 0", [](AttentionProblem& p) {
    return read_heads(p, [](Head, Head, Head) { return Head{0}; });
  }));
  list.push_back(of_attention("heads.own", "query head h reads kv head h, up to the last",
                              [](AttentionProblem& p) { return read_heads(p, [](Head h, Head, Head) { return h; }); }));
  list.push_back(of_attention("descale.head_modulo", "a query head takes the descale factors of kv head h mod Hk",
                              factors_of_head_mod));
}

/// Is every element of a view within its storage?
bool fits(const Tensor& t) {
  return storage_bytes(t.format, t.shape, t.stride) <= static_cast<std::int64_t>(t.storage.size());
}

/// `to` as if it had the stride of `from` along one axis; where that leaves the storage the rows in question cannot be right
/// or wrong by this, so it is grown by 0xff bytes (NaN).
bool lend_stride(Tensor& to, const Tensor& from, std::size_t axis) {
  if (to.stride[axis] == from.stride[axis] || to.shape[axis] < 2) return false;
  to.stride[axis] = from.stride[axis];
  if (!fits(to))
    to.storage.resize(static_cast<std::size_t>(storage_bytes(to.format, to.shape, to.stride)), std::byte{0xff});
  return true;
}

bool dense_instead(Tensor& t) {
  const std::vector<std::int64_t> dense = dense_stride(t.shape);
  bool other = false;
  for (std::size_t a = 0; a < dense.size(); ++a) other |= t.shape[a] > 1 && t.stride[a] != dense[a];
  if (!other) return false;
  t.stride = dense;
  if (!fits(t)) t.storage.resize(static_cast<std::size_t>(storage_bytes(t.format, t.shape, t.stride)), std::byte{0xff});
  return true;
}

void add_storage(std::vector<Hypothesis>& list) {
  static constexpr const char* kAxes[] = {"batch", "head", "row", "column"};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    list.push_back(of_attention(fmt::format("stride.v_by_k_{}", kAxes[axis]),
                                fmt::format("v is advanced by the {} stride of k", kAxes[axis]),
                                [axis](AttentionProblem& p) { return lend_stride(p.v, p.k, axis); }));
    list.push_back(of_attention(fmt::format("stride.k_by_v_{}", kAxes[axis]),
                                fmt::format("k is advanced by the {} stride of v", kAxes[axis]),
                                [axis](AttentionProblem& p) { return lend_stride(p.k, p.v, axis); }));
  }
  static constexpr struct {
    const char* name;
    Tensor AttentionProblem::* tensor;
  } kTensors[] = {{"q", &AttentionProblem::q}, {"k", &AttentionProblem::k}, {"v", &AttentionProblem::v}};
  for (const auto& t : kTensors) {
    list.push_back(of_attention(
        fmt::format("stride.{}_dense", t.name),
        fmt::format("{} is read as if it were dense, whatever its strides", t.name),
        [t](AttentionProblem& p) { return dense_instead(p.*t.tensor); }, 2));
    list.push_back(of_attention(fmt::format("batch.{}_first", t.name),
                                fmt::format("{} of batch 0 is read for every batch", t.name), [t](AttentionProblem& p) {
                                  Tensor& x = p.*t.tensor;
                                  if (p.packed() || p.paged() || x.shape[0] < 2 || x.stride[0] == 0) return false;
                                  x.stride[0] = 0;
                                  return true;
                                }));
  }
  for (const std::int64_t half : {8, 16, 32}) {
    list.push_back(of_attention(
        fmt::format("columns.halves_of_{}", 2 * half),
        fmt::format("in steps of {} columns the halves of q change places, those of k do not", 2 * half),
        [half](AttentionProblem& p) {
          const std::int64_t d = p.head_dim();
          if (d % (2 * half) != 0) return false;
          const Tensor from = p.q;
          p.q = Tensor::dense(from.format, from.shape);
          for (std::int64_t b = 0; b < from.shape[0]; ++b)
            for (std::int64_t h = 0; h < from.shape[1]; ++h)
              for (std::int64_t i = 0; i < from.shape[2]; ++i)
                for (std::int64_t c = 0; c < d; ++c)
                  p.q.set_bits(p.q.offset({b, h, i, c}), from.bits(from.offset({b, h, i, c ^ half})));
          return true;
        },
        2));
  }
}

bool last_page_of_before(AttentionProblem& p) {
  if (!p.paged()) return false;
  bool other = false;
  const std::int64_t n = p.pages_per_sequence(), size = p.k.shape[2];
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    const std::int64_t length = p.visible_length(s);
    if (length % size == 0 || length < size) continue;
    const auto last = static_cast<std::size_t>(s * n + length / size);
    p.page_table[last] = p.page_table[last - 1];
    other = true;
  }
  return other;
}

bool pages_in_storage_order(AttentionProblem& p) {
  if (!p.paged()) return false;
  const std::vector<std::int32_t> before = p.page_table;
  const auto pages = static_cast<std::int32_t>(p.k.shape[0]);
  for (std::size_t i = 0; i < p.page_table.size(); ++i) p.page_table[i] = static_cast<std::int32_t>(i) % pages;
  return p.page_table != before;
}

}  // namespace

void add_attention_hypotheses(std::vector<Hypothesis>& list) {
  add_scale(list);
  add_features(list);
  add_heads(list);
  add_storage(list);
  list.push_back(of_attention("pages.last_of_before",
                              "pages are counted as length / page_size: keys of the last, partly used page "
                              "come from the page before",
                              last_page_of_before));
  list.push_back(of_attention("pages.table_ignored",
                              "the page table is ignored: pages are read in the order of storage",
                              pages_in_storage_order));
}

}  // namespace flashproof
