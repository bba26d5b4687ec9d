// Fewer rows, keys, states, heads, dimensions, sequences, features, chunks.
#include <algorithm>
#include <functional>

#include "properties/laws/support/change.h"
#include "properties/shrink/sequences.h"
#include "properties/shrink/shrink.h"
#include "properties/shrink/tensors.h"

namespace flashproof {
namespace {

using Index = std::vector<std::int64_t>;

/// Parts of 0..n−1 to keep: halves, then all but one end.
std::vector<Index> parts(std::int64_t n) {
  std::vector<Index> result;
  const Index all = iota(n);
  const auto keep = [&](std::int64_t begin, std::int64_t end) {
    if (end > begin && end - begin < n) result.emplace_back(all.begin() + begin, all.begin() + end);
  };
  keep(0, 1);
  keep(0, n / 2);
  keep(n / 2, n);
  keep(0, n - n / 4);
  keep(n / 4, n);
  keep(0, n - 1);
  keep(1, n);
  return result;
}

Index all_but(std::int64_t n, std::int64_t gone) {
  Index kept = iota(n);
  kept.erase(kept.begin() + gone);
  return kept;
}

/// The plan over the kept keys: every boundary moves to the number of kept keys before it, empty chunks go.
ChunkPlan kept_plan(const ChunkPlan& plan, const Index& kept) {
  const auto before = [&](std::int32_t boundary) {
    return static_cast<std::int32_t>(std::ranges::lower_bound(kept, boundary) - kept.begin());
  };
  ChunkPlan result;
  result.boundary = {0};
  std::vector<std::int32_t> renamed(plan.order.size(), -1);
  for (std::size_t c = 0; c < plan.order.size(); ++c) {
    const std::int32_t end = before(plan.boundary[c + 1]);
    if (end == result.boundary.back()) continue;
    renamed[c] = static_cast<std::int32_t>(result.boundary.size()) - 1;
    result.boundary.push_back(end);
  }
  for (const std::int32_t chunk : plan.order) {
    if (renamed[static_cast<std::size_t>(chunk)] >= 0) result.order.push_back(renamed[static_cast<std::size_t>(chunk)]);
  }
  return result;
}

std::vector<ChunkPlan> simpler_plans(const ChunkPlan& plan) {
  const std::int64_t length = plan.boundary.empty() ? 0 : plan.boundary.back();
  if (length == 0) return {};
  std::vector<ChunkPlan> result = {ChunkPlan::uniform(length, length), ChunkPlan::uniform(length, (length + 1) / 2)};
  ChunkPlan sorted = plan;
  std::ranges::sort(sorted.order);
  result.push_back(sorted);
  for (int c = 1; c < plan.chunks() && c < 8; ++c) {  // one boundary less, chunk c joins the one before it
    ChunkPlan fewer = plan;
    fewer.boundary.erase(fewer.boundary.begin() + c);
    std::erase(fewer.order, c);
    for (std::int32_t& chunk : fewer.order) chunk -= chunk > c ? 1 : 0;
    result.push_back(std::move(fewer));
  }
  return result;
}

std::int32_t count_below(const Index& kept, std::int32_t length) {
  return static_cast<std::int32_t>(std::ranges::count_if(kept, [&](std::int64_t key) { return key < length; }));
}

/// Adds a candidate: a copy of the problem, changed.
template <class P>
struct Candidates {
  const P& problem;
  std::vector<Candidate> list;

  template <class Change>
  void add(const Change& change) {
    list.push_back([problem = &problem, change]() -> Problem {
      P copy = *problem;
      change(copy);
      leave_out_outputs(copy);
      return copy;
    });
  }
  void add_dense() {
    add([](P& p) {
      for_each_tensor(p, [](const Field&, Tensor& tensor) { tensor = gather(tensor, 0, iota(tensor.shape[0])); });
    });
  }
  /// Fewer indices along an axis; `change` what follows from it.
  void add_parts(Axis axis, std::int64_t n, const std::function<void(P&, const Index&)>& change = {}) {
    for (const Index& kept : parts(n)) {
      add([=](P& p) {
        keep_along(p, axis, kept);
        if (change) change(p, kept);
      });
    }
  }
};

std::vector<Candidate> candidates(const SoftmaxProblem& problem) {
  Candidates<SoftmaxProblem> c{problem, {}};
  c.add_parts(Axis::rows, problem.x.shape[0]);
  c.add_parts(Axis::cols, problem.x.shape[1], [](SoftmaxProblem& p, const Index& kept) {
    p.plan = kept_plan(p.plan, kept);
    for (std::int32_t& length : p.row_length) length = count_below(kept, length);
  });
  c.add([](SoftmaxProblem& p) { p.row_length.clear(); });
  for (const ChunkPlan& plan : simpler_plans(problem.plan)) c.add([plan](SoftmaxProblem& p) { p.plan = plan; });
  c.add_dense();
  return c.list;
}

std::vector<Candidate> candidates(const MergeProblem& problem) {
  Candidates<MergeProblem> c{problem, {}};
  c.add([](MergeProblem& p) { p.joins.clear(); });
  c.add_parts(Axis::states, problem.o.shape[0], [](MergeProblem& p, const Index& kept) {
    p.joins.clear();
    std::vector<std::int32_t> order;
    for (const std::int32_t state : p.order) {
      const auto found = std::ranges::find(kept, state);
      if (found != kept.end()) order.push_back(static_cast<std::int32_t>(found - kept.begin()));
    }
    p.order = order;
  });
  c.add_parts(Axis::rows, problem.o.shape[1]);
  c.add_parts(Axis::dv, problem.o.shape[2]);
  c.add([](MergeProblem& p) { p.form = MergeForm::sum; });
  c.add([](MergeProblem& p) { std::ranges::sort(p.order); });
  c.add_dense();
  return c.list;
}

template <class P>
auto& forward_of(P& p) {
  if constexpr (ProblemOf<P, BackwardProblem>) {
    return p.forward;
  } else {
    return p;
  }
}

/// One kv head and its query heads.
template <class P>
void keep_kv_head(P& p, std::int64_t head) {
  const std::int64_t group = forward_of(p).q_heads() / forward_of(p).k_heads();
  Index queries;
  for (std::int64_t h = head * group; h < (head + 1) * group; ++h) queries.push_back(h);
  keep_along(p, Axis::q_heads, queries);
  keep_along(p, Axis::k_heads, Index{head});
}

/// One query head per kv head.
template <class P>
void keep_first_query_heads(P& p) {
  const AttentionProblem& f = forward_of(p);
  Index queries;
  for (std::int64_t h = 0; h < f.k_heads(); ++h) queries.push_back(h * f.q_heads() / f.k_heads());
  keep_along(p, Axis::q_heads, queries);
}

template <class P>
void keep_sequence(P& p, std::int64_t s) {
  AttentionProblem& f = forward_of(p);
  f = one_sequence(f, s, kept_plan(f.plan, iota(f.visible_length(s))));
  if constexpr (ProblemOf<P, BackwardProblem>) p.d_out = gather(p.d_out, 0, Index{s});
}

template <class P>
std::vector<Candidate> candidates_of_attention(const P& whole) {
  Candidates<P> c{whole, {}};
  const AttentionProblem& problem = forward_of(whole);
  const auto add = [&c](const auto& change) { c.add([change](P& p) { change(forward_of(p)); }); };
  for (std::int64_t s = 0; s < problem.sequences() && s < 8; ++s) c.add([s](P& p) { keep_sequence(p, s); });
  for (std::int64_t h = 0; h < problem.k_heads() && h < 8; ++h) c.add([h](P& p) { keep_kv_head(p, h); });
  c.add([](P& p) { keep_first_query_heads(p); });
  if (!problem.packed()) {
    const std::int64_t batch = problem.batch();
    std::vector<Index> some = parts(batch);
    for (std::int64_t s = 1; s + 1 < batch && s < 8; ++s) some.push_back(all_but(batch, s));
    for (const Index& kept : some) c.add([kept](P& p) { keep_sequences(p, kept); });
  }
  if (problem.paged()) {
    add(keep_used_pages);
    for (const Index& kept : parts(problem.pages_per_sequence())) {
      if (kept.front() > 0) continue;
      add([pages = std::ssize(kept)](AttentionProblem& p) {
        keep_first_pages(p, pages, kept_plan(p.plan, iota(pages * p.k.shape[2])));
      });
    }
  }
  if (!problem.packed() && !problem.paged()) {
    c.add_parts(Axis::k_length, problem.k_length(), [](P& p, const Index& kept) {
      for (std::int32_t& length : forward_of(p).key_length) length = count_below(kept, length);
      forward_of(p).plan = kept_plan(forward_of(p).plan, kept);
    });
  }
  if (!problem.packed()) c.add_parts(Axis::q_length, problem.q_length());
  c.add_parts(Axis::d, problem.head_dim());
  c.add_parts(Axis::dv, problem.value_dim());
  for_each_tensor(problem, [&](const Field& field, const Tensor&) {
    if (field.presence != Presence::optional) return;
    add([name = field.name](AttentionProblem& p) {
      for_each_tensor(p, [&](const Field& one, Tensor& tensor) {
        if (one.name == name) tensor = {};
      });
    });
  });
  add([](AttentionProblem& p) { p.q_descale = p.k_descale = p.v_descale = {}; });
  add([](AttentionProblem& p) { p.softcap = 0; });
  add([](AttentionProblem& p) { p.window_left = p.window_right = -1; });
  add([](AttentionProblem& p) { p.causal = false; });
  add([](AttentionProblem& p) { p.key_length.clear(); });
  add([](AttentionProblem& p) { p.scale = 1; });
  for (const ChunkPlan& plan : simpler_plans(problem.plan)) add([plan](AttentionProblem& p) { p.plan = plan; });
  c.add_dense();
  return c.list;
}

std::vector<Candidate> candidates(const AttentionProblem& problem) { return candidates_of_attention(problem); }
std::vector<Candidate> candidates(const BackwardProblem& problem) { return candidates_of_attention(problem); }

}  // namespace

std::vector<Candidate> structure_candidates(const Problem& problem) {
  return std::visit([](const auto& p) { return candidates(p); }, problem);
}

}  // namespace flashproof
