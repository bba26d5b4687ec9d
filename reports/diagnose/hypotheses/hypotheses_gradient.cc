// What a backward pass may have computed in place of the gradient. Its inputs are what it read, so that o and lse are taken as
// they are stored (BackwardMode::stage).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "reports/diagnose/hypotheses/hypothesis.h"

namespace flashproof {
namespace {

template <class Apply>
Hypothesis of(const std::string& id, const std::string& sentence, Apply apply, int complexity = 1) {
  return {.id = id, .sentence = sentence, .complexity = complexity, .problem = [apply](Problem& any) {
            auto& p = std::get<BackwardProblem>(any);
            p.mode = BackwardMode::stage;
            return apply(p);
          }};
}

template <class Gone>
bool zero_where(Tensor& t, Gone gone) {
  const Tensor from = t;
  t = Tensor::dense(from.format, from.shape);
  bool any = false;
  for (std::int64_t b = 0; b < from.shape[0]; ++b)
    for (std::int64_t h = 0; h < from.shape[1]; ++h)
      for (std::int64_t i = 0; i < from.shape[2]; ++i)
        for (std::int64_t c = 0; c < from.shape[3]; ++c) {
          const bool zero = gone(b, h, i, c);
          any |= zero;
          t.set_bits(t.offset({b, h, i, c}), zero ? 0 : from.bits(from.offset({b, h, i, c})));
        }
  return any;
}

using Index = std::int64_t;

bool set_scale(BackwardProblem& p, double scale) {
  const auto rounded = static_cast<float>(scale);
  return std::isfinite(rounded) && std::exchange(p.forward.scale, rounded) != rounded;
}

bool dense_lse(BackwardProblem& p) {
  const auto dense = dense_stride(p.lse.shape);
  if (p.lse.stride == dense) return false;
  p.lse.stride = dense;
  const auto bytes = static_cast<std::size_t>(storage_bytes(p.lse.format, p.lse.shape, dense));
  if (bytes > p.lse.storage.size()) p.lse.storage.resize(bytes, std::byte{0xff});
  return true;
}

void add_dropped(std::vector<Hypothesis>& list) {
  for (const Index n : {4, 2, 1}) {
    list.push_back(of("group.cut", fmt::format("dk and dv take at most {} of the query heads that read a kv head", n),
                      [n](BackwardProblem& p) {
                        const Index group = p.group();
                        return group > n &&
                               zero_where(p.d_out, [=](Index, Index h, Index, Index) { return h % group >= n; });
                      }));
  }
  list.push_back(
      of("group.last_missing", "the last query head of a group has no part in dk and dv", [](BackwardProblem& p) {
        const Index group = p.group();
        return group > 1 && zero_where(p.d_out, [=](Index, Index h, Index, Index) { return h % group == group - 1; });
      }));
  for (const Index n : {16, 32, 64}) {
    list.push_back(of(
        "queries.last_tile_missing", fmt::format("the last tile of {} queries has no part in dk and dv", n),
        [n](BackwardProblem& p) {
          const Index first = (p.forward.q_length() - 1) / n * n;
          return p.forward.q_length() > 0 &&
                 zero_where(p.d_out, [=](Index, Index, Index i, Index) { return i >= first; });
        },
        2));
  }
  for (const Index n : {64, 128, 256}) {
    list.push_back(
        of("columns.dp_cut", fmt::format("dO v leaves out the columns from {} on", n), [n](BackwardProblem& p) {
          return zero_where(p.forward.v, [n](Index, Index, Index, Index c) { return c >= n; });
        }));
  }
  for (const int bits : {2, 3, 4, 5, 6, 8, 10}) {
    list.push_back(of(
        "d_out.small_dropped", fmt::format("a query whose dO is below 2^-{} everywhere is left out", bits),
        [bits](BackwardProblem& p) {
          const double limit = std::ldexp(1.0, -bits);
          const Tensor& t = p.d_out;
          const Tensor from = t;
          return zero_where(p.d_out, [&](Index b, Index h, Index i, Index) {
            double most = 0;
            for (Index c = 0; c < from.shape[3]; ++c) most = std::max(most, std::fabs(from.at({b, h, i, c})));
            return most > 0 && most < limit;
          });
        },
        2));
  }
}

}  // namespace

void add_gradient_hypotheses(std::vector<Hypothesis>& list) {
  list.push_back(of("gradient.delta_missing", "the row sum D is not subtracted: dS is P dP", [](BackwardProblem& p) {
    return zero_where(p.o, [](Index, Index, Index, Index) { return true; });
  }));
  list.push_back(of("gradient.nan_delta_zero", "the row sum D is taken for 0 where it is NaN", [](BackwardProblem& p) {
    const Tensor o = p.o;
    return zero_where(p.o, [&](Index b, Index h, Index i, Index) {
      bool nan = false;
      for (Index c = 0; c < o.shape[3]; ++c) nan = nan || std::isnan(o.at({b, h, i, c}));
      return nan;
    });
  }));
  list.push_back(of("scale.twice", "the scale is applied twice to the scores", [](BackwardProblem& p) {
    return set_scale(p, static_cast<double>(p.forward.scale) * p.forward.scale);
  }));
  list.push_back(of("scale.ignored", "the scale is not applied", [](BackwardProblem& p) { return set_scale(p, 1); }));
  list.push_back(of("scale.default", "the scale of the call is ignored: 1/sqrt(d) is taken", [](BackwardProblem& p) {
    return set_scale(p, 1 / std::sqrt(static_cast<double>(p.forward.head_dim())));
  }));
  list.push_back(of("causal.ignored", "causality is ignored",
                    [](BackwardProblem& p) { return std::exchange(p.forward.causal, false); }));
  list.push_back(of("window.ignored", "the window is ignored", [](BackwardProblem& p) {
    const bool had = p.forward.window_left >= 0 || p.forward.window_right >= 0;
    p.forward.window_left = p.forward.window_right = -1;
    return had;
  }));
  list.push_back(of("window.right_ignored", "the right side of the window is ignored",
                    [](BackwardProblem& p) { return std::exchange(p.forward.window_right, -1) >= 0; }));
  list.push_back(of("bias.ignored", "the bias is ignored",
                    [](BackwardProblem& p) { return p.forward.has_bias() && (p.forward.bias = Tensor{}, true); }));
  list.push_back(of("alibi.ignored", "the ALiBi slopes are ignored",
                    [](BackwardProblem& p) { return p.forward.has_alibi() && (p.forward.alibi = Tensor{}, true); }));
  list.push_back(of("length.ignored", "key_length is ignored", [](BackwardProblem& p) {
    const bool had = !p.forward.key_length.empty();
    p.forward.key_length.clear();
    return had;
  }));
  list.push_back(of("stride.lse_dense", "lse is read as if it were dense, whatever its strides", dense_lse));
  add_dropped(list);
}

}  // namespace flashproof
