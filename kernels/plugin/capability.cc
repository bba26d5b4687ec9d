#include "kernels/plugin/capability.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "reference/problem/fields.h"

namespace flashproof {
namespace {

using S = SoftmaxProblem;
using M = MergeProblem;
using A = AttentionProblem;

template <class P>
const P& as(const Problem& problem) {
  return std::get<P>(problem);
}
/// The attention problem, or the one that a gradient is of.
template <>
const A& as<A>(const Problem& problem) {
  return *attention_of(problem);
}

enum class Gaps : bool { any, in_last_axis };

/// Its elements do not lie as in a dense tensor.
bool spread(const Tensor& t, Gaps gaps) {
  if (t.shape.empty() || t.elements() == 0) return false;
  const std::vector<std::int64_t> dense = dense_stride(t.shape);
  const std::size_t last = t.shape.size() - 1;
  for (std::size_t axis = gaps == Gaps::in_last_axis ? last : 0; axis <= last; ++axis) {
    if (t.shape[axis] > 1 && t.stride[axis] != dense[axis]) return true;
  }
  return false;
}

template <Gaps gaps>
bool spread_any(const Problem& problem) {
  const auto one = [](const Tensor& t) { return spread(t, gaps); };
  if (const auto* p = std::get_if<S>(&problem)) return one(p->x);
  if (const auto* p = std::get_if<M>(&problem)) return one(p->o) || one(p->lse) || one(p->l);
  const A& p = as<A>(problem);
  const auto* gradient = std::get_if<BackwardProblem>(&problem);
  if (gradient != nullptr && (one(gradient->d_out) || one(gradient->o) || one(gradient->lse))) return true;
  return one(p.q) || one(p.k) || one(p.v) || one(p.bias);
}

bool not_all_zero(const Tensor& t) {
  return std::ranges::any_of(t.storage, [](std::byte b) { return b != std::byte{0}; });
}

bool not_all_one(const Tensor& t) {
  for (std::int64_t s = 0; !t.shape.empty() && s < t.shape[0]; ++s) {
    for (std::int64_t h = 0; h < t.shape[1]; ++h) {
      if (t.at({s, h}) != 1) return true;
    }
  }
  return false;
}

/// hides(first, last, keys) for some sequence that has queries and keys: the key beside its first query, and beside its last.
template <class Hides>
bool some_sequence(const A& p, Hides hides) {
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    const std::int64_t queries = p.q_length(s), keys = p.visible_length(s), first = p.first_diagonal(s);
    if (queries > 0 && keys > 0 && hides(first, first + queries - 1, keys)) return true;
  }
  return false;
}

bool causal(const Problem& problem) {
  const A& p = as<A>(problem);
  return p.causal && some_sequence(p, [](auto first, auto, auto keys) { return keys > first + 1; });
}

bool window(const Problem& problem) {
  const A& p = as<A>(problem);
  const bool left =
      p.window_left >= 0 && some_sequence(p, [&](auto, auto last, auto) { return last - p.window_left > 0; });
  return left || (p.window_right >= 0 && !p.causal &&
                  some_sequence(p, [&](auto first, auto, auto keys) { return keys - 1 > first + p.window_right; }));
}

bool key_length(const Problem& problem) {
  const A& p = as<A>(problem);
  for (std::size_t s = 0; s < p.key_length.size(); ++s) {
    const std::int64_t room = p.paged() ? p.k_length() : p.k_length(static_cast<std::int64_t>(s));
    if (p.key_length[s] < room) return true;
  }
  return false;
}

/// Two sequences have keys in one page.
bool shared_pages(const Problem& problem) {
  const A& p = as<A>(problem);
  std::map<std::int32_t, std::int64_t> user;  // of a page: the first sequence
  for (std::int64_t s = 0; p.paged() && s < p.sequences(); ++s) {
    for (std::int64_t page = 0; page * p.k.shape[2] < p.visible_length(s); ++page) {
      const std::int32_t entry = p.page_table[static_cast<std::size_t>(s * p.pages_per_sequence() + page)];
      if (user.try_emplace(entry, s).first->second != s && p.q_length(s) > 0) return true;
    }
  }
  return false;
}

bool sink(const Problem& problem) {
  const A& p = as<A>(problem);
  for (std::int64_t h = 0; p.has_sink() && h < p.sink.shape[0]; ++h) {
    if (std::isfinite(p.sink.at({h}))) return true;
  }
  return false;
}

bool descale(const Problem& problem) {
  const A& p = as<A>(problem);
  return not_all_one(p.q_descale) || not_all_one(p.k_descale) || not_all_one(p.v_descale);
}

bool row_length(const Problem& problem) {
  const S& p = as<S>(problem);
  return std::ranges::any_of(p.row_length, [&](std::int64_t length) { return length < p.x.shape[1]; });
}

constexpr Capability kRows{"strides: rows", spread_any<Gaps::any>};
constexpr Capability kAny{"strides: any", spread_any<Gaps::in_last_axis>};
constexpr Capability kSoftmax[] = {{"row_length", row_length}, kRows, kAny};
constexpr Capability kMerge[] = {{"concat", [](const Problem& p) { return as<M>(p).form == MergeForm::concat; }},
                                 {"order", [](const Problem& p) { return !std::ranges::is_sorted(as<M>(p).order); }},
                                 {"unnormalised", [](const Problem& p) { return as<M>(p).has_l(); }},
                                 {"joins", [](const Problem& p) { return as<M>(p).joins.size() > 1; }},
                                 kRows,
                                 kAny};
constexpr Capability kAttention[] = {
    {"causal", causal},
    {"key_length", key_length},
    {"bias", [](const Problem& p) { return as<A>(p).has_bias() && not_all_zero(as<A>(p).bias); }},
    {"gqa", [](const Problem& p) { return as<A>(p).q_heads() != as<A>(p).k_heads(); }},
    {"window", window},
    {"sink", sink},
    {"packed", [](const Problem& p) { return as<A>(p).packed() && as<A>(p).sequences() > 1; }},
    {"paged", [](const Problem& p) { return as<A>(p).page_table.size() > 1; }},
    {"shared pages", shared_pages},
    {"descale", descale},
    {"mixed", [](const Problem& p) { return as<A>(p).k.format != as<A>(p).q.format; }},
    {"d != dv", [](const Problem& p) { return as<A>(p).head_dim() != as<A>(p).value_dim(); }},
    kRows,
    kAny};

std::span<const Capability> capabilities(ProblemKind problem) {
  if (problem == ProblemKind::softmax) return kSoftmax;
  return problem == ProblemKind::merge ? std::span<const Capability>(kMerge) : kAttention;
}

/// Of a feature without a rule of its own: it is there, and where it is a tensor not all of that is 0.
template <Feature kFeature>
bool used(const Problem& problem) {
  const A& p = as<A>(problem);
  bool zero = false;
  for_each_tensor(p, [&](const Field& field, const Tensor& t) {
    zero = zero || (field.name == name(kFeature) && !not_all_zero(t));
  });
  return p.has(kFeature) && !zero;
}

template <std::size_t... kIndex>
const Capability* capability_of_feature(std::string_view name, std::index_sequence<kIndex...>) {
  static const Capability kAll[] = {
      {flashproof::name(static_cast<Feature>(kIndex)), used<static_cast<Feature>(kIndex)>}...};
  const auto found = std::ranges::find(kAll, name, &Capability::name);
  return found == std::end(kAll) ? nullptr : &*found;
}

}  // namespace

const Capability& capability(ProblemKind problem, std::string_view name) {
  const std::span<const Capability> list = capabilities(problem);
  const auto found = std::ranges::find(list, name, &Capability::name);
  if (found != list.end()) return *found;
  constexpr auto kEach = std::make_index_sequence<std::size(kFeatures)>();
  const Capability* of_feature =
      forward_kind(problem) == ProblemKind::attention ? capability_of_feature(name, kEach) : nullptr;
  if (of_feature == nullptr) throw std::logic_error("no capability " + std::string(name));
  return *of_feature;
}

}  // namespace flashproof
