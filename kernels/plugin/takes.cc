#include "kernels/plugin/takes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "kernels/dense_features.h"

namespace flashproof {
namespace {

std::string not_taken(Plain what, std::string_view legal) {
  return fmt::format("{}: this kernel does not take it, legal: {}", kPlain[static_cast<std::size_t>(what)], legal);
}

bool laid(const Tensor& tensor, Strides strides) {
  if (tensor.shape.empty() || strides == Strides::any || tensor.elements() == 0) return true;
  if (strides == Strides::rows) return tensor.stride.back() == 1 || tensor.shape.back() == 1;
  return is_dense(tensor);
}

std::vector<std::pair<Axis, std::int64_t>> extents(const SoftmaxProblem& p) {
  return {{Axis::rows, p.x.shape[0]}, {Axis::cols, p.x.shape[1]}};
}
std::vector<std::pair<Axis, std::int64_t>> extents(const MergeProblem& p) {
  return {{Axis::states, p.o.shape[0]}, {Axis::rows, p.o.shape[1]}, {Axis::dv, p.o.shape[2]}};
}
std::vector<std::pair<Axis, std::int64_t>> extents(const AttentionProblem& p) {
  return {{Axis::batch, p.sequences()},   {Axis::q_heads, p.q_heads()},   {Axis::k_heads, p.k_heads()},
          {Axis::q_length, p.q_length()}, {Axis::k_length, p.k_length()}, {Axis::d, p.head_dim()},
          {Axis::dv, p.value_dim()}};
}
std::vector<std::pair<Axis, std::int64_t>> extents(const BackwardProblem& p) { return extents(p.forward); }

std::string plain_refusal(const Takes& takes, const SoftmaxProblem& p) {
  if (!p.row_length.empty() && !takes.has(Plain::row_length)) return not_taken(Plain::row_length, "every column");
  if (!laid(p.x, takes.strides)) return "strides of x: this kernel does not take them";
  return "";
}

std::string plain_refusal(const Takes& takes, const MergeProblem& p) {
  if (p.form == MergeForm::concat && !takes.has(Plain::concat)) return not_taken(Plain::concat, "form = sum");
  if (!std::ranges::is_sorted(p.order) && !takes.has(Plain::order)) return not_taken(Plain::order, "0, 1, 2, ...");
  for (const Tensor* tensor : {&p.o, &p.lse, &p.l}) {
    if (!laid(*tensor, takes.strides)) return "strides of o, lse or l: this kernel does not take them";
  }
  return "";
}

std::string plain_refusal(const Takes& takes, const AttentionProblem& p) {
  if (p.causal && !takes.has(Plain::causal)) return not_taken(Plain::causal, "causal = 0");
  if (p.has_bias() && !takes.has(Plain::bias)) return not_taken(Plain::bias, "no bias");
  if (!p.key_length.empty() && !takes.has(Plain::key_length)) return not_taken(Plain::key_length, "every key");
  if (p.q_heads() != p.k_heads() && !takes.has(Plain::gqa)) return not_taken(Plain::gqa, "k_heads = q_heads");
  for (const Tensor* tensor : {&p.q, &p.k, &p.v, &p.bias}) {
    if (!laid(*tensor, takes.strides)) return "strides of q, k, v or bias: this kernel does not take them";
  }
  return "";
}

std::string plain_refusal(const Takes& takes, const BackwardProblem& p) {
  if (std::string why = plain_refusal(takes, p.forward); !why.empty()) return why;
  if (p.o.format != p.forward.q.format) return fmt::format("format of o: {}, legal: that of q", info(p.o.format).name);
  for (const Tensor* tensor : {&p.d_out, &p.o, &p.lse}) {
    if (!laid(*tensor, takes.strides)) return "strides of d_out, o or lse: this kernel does not take them";
  }
  return "";
}

}  // namespace

ProblemKind problem_of(Plain plain) {
  if (plain == Plain::row_length) return ProblemKind::softmax;
  return plain == Plain::concat || plain == Plain::order ? ProblemKind::merge : ProblemKind::attention;
}
bool has_feature(ProblemKind problem, Feature feature) {
  if (problem == ProblemKind::backward) return feature == Feature::window || feature == Feature::alibi;
  const bool of_merge = feature == Feature::unnormalised || feature == Feature::joins;
  return problem == (of_merge ? ProblemKind::merge : ProblemKind::attention);
}

std::vector<Axis> axes_of(ProblemKind problem) {
  using enum Axis;
  if (problem == ProblemKind::softmax) return {rows, cols};
  if (problem == ProblemKind::merge) return {states, rows, dv};
  return {batch, q_heads, k_heads, q_length, k_length, d, dv};
}

std::string refused(const Takes& takes, const Problem& problem) {
  return std::visit(
      [&](const auto& p) {
        if (std::string why = plain_refusal(takes, p); !why.empty()) return why;
        const auto list = extents(p);
        for (const auto& [axis, extent] : list) {
          for (const Limit& limit : takes.limits) {
            if (limit.axis != axis) continue;
            if (limit.as_d && extent != list[list.size() - 2].second) return std::string("dv: legal: as d");
            if (limit.as_d || (extent >= limit.least && extent <= limit.most && extent % limit.step == 0)) continue;
            return fmt::format("{} = {}: legal range {}..{}{}", kAxes[static_cast<std::size_t>(axis)], extent,
                               limit.least, limit.most,
                               limit.step > 1 ? fmt::format(", multiples of {}", limit.step) : "");
          }
        }
        return std::string();
      },
      problem);
}

bool takes_other_width(const std::vector<Limit>& limits) {
  std::int64_t least[2] = {0, 0}, most[2] = {kMaxExtent, kMaxExtent};
  for (const Limit& limit : limits) {
    if (limit.as_d) return false;
    if (limit.axis != Axis::d && limit.axis != Axis::dv) continue;
    const int i = limit.axis == Axis::d ? 0 : 1;
    least[i] = limit.least, most[i] = limit.most;
  }
  return least[0] != most[0] || least[1] != most[1] || least[0] != least[1];
}

std::vector<std::pair<std::string, std::int64_t>> sizes(const std::vector<Limit>& limits) {
  constexpr std::int64_t kSize = 33;
  std::vector<std::pair<std::string, std::int64_t>> list;
  std::int64_t d = 0;
  for (const Limit& limit : limits) {
    if (limit.as_d) continue;
    const std::int64_t size = std::clamp(kSize, limit.least, limit.most);
    const std::int64_t up = (size + limit.step - 1) / limit.step * limit.step;
    const std::int64_t fit = up <= limit.most ? up : limit.most / limit.step * limit.step;
    list.emplace_back(kKeys[static_cast<std::size_t>(limit.axis)], fit);
    if (limit.axis == Axis::d) d = fit;
  }
  for (const Limit& limit : limits) {
    if (limit.as_d && d > 0) list.emplace_back("dv", d);
  }
  return list;
}

namespace {

const Limit* limit_of(const std::vector<Limit>& limits, Axis axis) {
  const auto at = std::ranges::find(limits, axis, &Limit::axis);
  return at == limits.end() ? nullptr : &*at;
}

/// The largest legal size up to `size`, the least from 1 on where there is none below.
std::int64_t legal_below(const Limit* limit, std::int64_t size) {
  if (limit == nullptr) return std::max<std::int64_t>(size, 1);
  const std::int64_t least = (std::max<std::int64_t>(limit->least, 1) + limit->step - 1) / limit->step * limit->step;
  const std::int64_t most = limit->most / limit->step * limit->step;
  return std::clamp(size / limit->step * limit->step, least, most);
}

/// A length, not a width or a count of heads: a kernel walks it in tiles.
bool is_length(Axis axis) {
  return axis == Axis::rows || axis == Axis::cols || axis == Axis::states || axis == Axis::q_length ||
         axis == Axis::k_length;
}

bool counts_rows(Axis axis) {
  return axis == Axis::batch || axis == Axis::q_heads || axis == Axis::q_length || axis == Axis::rows;
}

/// Products of one element with another.
double work(ProblemKind problem, const std::vector<std::pair<Axis, std::int64_t>>& list) {
  const bool scores = forward_kind(problem) == ProblemKind::attention;
  double product = 1;
  for (const auto& [axis, extent] : list) {
    if (axis != Axis::k_heads && !(scores && axis == Axis::dv)) product *= static_cast<double>(extent);
  }
  return scores ? 2 * product : product;  // q k and p v
}

}  // namespace

Sizes fitted(const std::vector<Limit>& limits, const Problem& problem, bool costly) {
  auto list = std::visit([](const auto& p) { return extents(p); }, problem);
  std::vector<bool> moved(list.size(), false);
  const auto put = [&](std::size_t i, std::int64_t size) {
    moved[i] = moved[i] || list[i].second != size;
    list[i].second = size;
  };
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Limit* limit = limit_of(limits, list[i].first);
    if (limit == nullptr || limit->as_d || (list[i].second == 0 && limit->least == 0)) continue;
    const bool odd = list[i].second % limit->step != 0 && list[i].second % 2 != 0;
    const bool two_tiles = odd && !costly && is_length(list[i].first);
    put(i, legal_below(limit, list[i].second + (limit->step - 1) + (two_tiles ? limit->step : 0)));
  }
  const auto put_as_d = [&] {
    const Limit* dv = limit_of(limits, Axis::dv);
    if (dv != nullptr && dv->as_d) put(list.size() - 1, list[list.size() - 2].second);
  };
  put_as_d();
  if (std::ranges::find(moved, true) == moved.end()) return {};
  const ProblemKind kind = kind_of(problem);
  const bool of_rows = output_shape(problem).rows > kManyRows;
  const auto order = [&](std::size_t i) {  // of a problem about its many rows, the axes that count them come last
    return std::pair(!(of_rows && counts_rows(list[i].first)), list[i].second);
  };
  std::vector<std::size_t> by_extent(list.size());
  std::iota(by_extent.begin(), by_extent.end(), std::size_t{0});
  std::ranges::sort(by_extent, std::greater<>(), order);
  for (const std::size_t i : by_extent) {
    const double excess = work(kind, list) / static_cast<double>(of_rows || costly ? kFittedWorkOfMany : kFittedWork);
    if (excess <= 1) break;
    const Limit* limit = limit_of(limits, list[i].first);
    if (limit != nullptr && limit->as_d) continue;
    put(i, legal_below(limit, static_cast<std::int64_t>(static_cast<double>(list[i].second) / excess)));
  }
  put_as_d();
  Sizes sizes;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (moved[i]) sizes.emplace_back(kKeys[static_cast<std::size_t>(list[i].first)], list[i].second);
  }
  return sizes;
}

std::string in_words(const std::vector<Limit>& limits) {
  std::string text;
  for (const Limit& limit : limits) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", kAxes.at(static_cast<std::size_t>(limit.axis)));
    if (limit.as_d) {
      text += " as d";
      continue;
    }
    text +=
        limit.least == limit.most ? fmt::format(" {}", limit.least) : fmt::format(" {} to {}", limit.least, limit.most);
    if (limit.step > 1) text += fmt::format(" by {}", limit.step);
  }
  return text;
}

}  // namespace flashproof
