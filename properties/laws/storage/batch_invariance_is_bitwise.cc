// Where the contract says so, a row, a head or a batch entry alone has the bits that it has in the whole; of a kernel that does not
// declare itself deterministic the numbers, within both bounds.
//
// What is left keeps every argument: positions count from the bottom right, so the queries that stay are the last ones; the
// plan is an argument too, and a packed sequence alone would have a shorter one, so the longest sequence stays beside it.
#include <algorithm>
#include <functional>
#include <optional>

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare.h"
#include "properties/laws/support/fewest.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof::law::batch_invariance_is_bitwise {
namespace {

constexpr std::string_view kName = "batch_invariance_is_bitwise";
constexpr std::string_view kTeeth[] = {"attention.broken.split_count_by_batch",
                                       "attention_backward.broken.key_order_by_batch"};

using Index = std::vector<std::int64_t>;

/// What stays of a problem, and which row of the whole every row of it is.
struct Part {
  Problem problem;
  Index rows;
  std::string name;
};

template <class T>
std::vector<T> picked(const std::vector<T>& from, const Index& index) {
  std::vector<T> result;
  for (const std::int64_t i : index) {
    if (!from.empty()) result.push_back(from[static_cast<std::size_t>(i)]);
  }
  return result;
}

void keep(Tensor& tensor, int axis, const Index& index) {
  if (!tensor.shape.empty()) tensor = gather(tensor, axis, index);
}

template <class P>
Part part_of(const P& p, const Index& rows, std::string name) {
  P part = p;
  keep_along(part, Axis::rows, rows);
  return {part, rows, std::move(name)};
}

/// "a row alone", "64 rows alone"
std::string alone(std::int64_t count, std::string_view one, std::string_view many) {
  return (count == 1 ? std::string(one) : std::to_string(count) + " " + std::string(many)) + " alone";
}

using Takes = std::function<bool(const Problem&)>;
std::optional<Part> if_taken(const Takes& takes, Part part) {
  if (!takes(part.problem)) return std::nullopt;
  return part;
}

/// One row, or as few as the kernel takes, and the rows from a drawn one on.
template <class P>
std::vector<Part> parts_of(const P& p, Random& random, const Takes& takes) {
  const std::int64_t rows = output_shape(p).rows;
  if (rows < 2) return {};
  std::vector<Part> parts;
  const auto few = [&](std::int64_t first, std::int64_t count) {
    return if_taken(takes, part_of(p, neighbours(first, count), alone(count, "a row", "rows")));
  };
  if (std::optional<Part> part = fewest(rows, random, few)) parts.push_back(std::move(*part));
  const std::int64_t first = random.integer(1, rows - 1);
  parts.push_back(part_of(p, neighbours(first, rows - first), "the last rows alone"));
  return parts;
}

/// Sequences and heads as listed, of every sequence the queries from `first` on, or its last one.
Part part_of(const AttentionProblem& p, const Index& sequences, const Index& heads, std::int64_t first,
             std::string name) {
  Part result{p, {}, std::move(name)};
  auto& part = std::get<AttentionProblem>(result.problem);
  Index kv_heads;
  for (const std::int64_t h : heads) {
    if (kv_heads.empty() || kv_heads.back() != p.kv_head(h)) kv_heads.push_back(p.kv_head(h));
  }
  const auto first_query = [&](std::int64_t s) {
    return std::min(first, std::max<std::int64_t>(p.q_length(s) - 1, 0));
  };
  if (p.packed()) {
    Index queries, keys;
    part.q_start = {0};
    part.k_start.clear();
    if (!p.k_start.empty()) part.k_start = {0};
    for (const std::int64_t s : sequences) {
      for (std::int64_t i = first_query(s); i < p.q_length(s); ++i) queries.push_back(p.q_start[s] + i);
      part.q_start.push_back(static_cast<std::int32_t>(queries.size()));
      if (p.k_start.empty()) continue;
      for (std::int64_t j = 0; j < p.k_length(s); ++j) keys.push_back(p.k_start[s] + j);
      part.k_start.push_back(static_cast<std::int32_t>(keys.size()));
    }
    keep(part.q, 2, queries);
    if (!p.k_start.empty()) {
      keep(part.k, 2, keys);
      keep(part.v, 2, keys);
    }
  } else {
    const Index queries = neighbours(first_query(0), p.q_length() - first_query(0));
    keep(part.q, 0, sequences);
    keep(part.q, 2, queries);
    keep(part.bias, 0, sequences);
    keep(part.bias, 2, queries);
    if (!p.paged()) {
      keep(part.k, 0, sequences);
      keep(part.v, 0, sequences);
    }
  }
  keep_along(part, Axis::q_heads, heads);
  keep_along(part, Axis::k_heads, kv_heads);
  for (Tensor* factors : {&part.alibi, &part.q_descale, &part.k_descale, &part.v_descale}) keep(*factors, 0, sequences);
  part.key_length = picked(p.key_length, sequences);
  if (p.paged()) {
    part.page_table.clear();
    for (const std::int64_t s : sequences) {
      const auto from = p.page_table.begin() + s * p.pages_per_sequence();
      part.page_table.insert(part.page_table.end(), from, from + p.pages_per_sequence());
    }
  }
  result.rows.resize(static_cast<std::size_t>(output_shape(part).rows));
  for_each_query(part, [&](std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t row) {
    const std::int64_t whole = sequences[static_cast<std::size_t>(s)];
    result.rows[static_cast<std::size_t>(row)] =
        p.output_row(whole, heads[static_cast<std::size_t>(h)], first_query(whole) + i);
  });
  return result;
}

/// Neighbours; a packed sequence alone would have a shorter plan, so the longest stays beside it.
Index sequences_from(const AttentionProblem& p, std::int64_t first, std::int64_t count) {
  Index kept = neighbours(first, count);
  if (!p.packed() || p.paged()) return kept;
  const auto is_longest = [&](std::int64_t s) { return p.k_length(s) == p.k_length(); };
  if (std::ranges::any_of(kept, is_longest)) return kept;
  const Index all = iota(p.sequences());
  kept.push_back(*std::ranges::find_if(all, is_longest));
  return kept;
}

std::vector<Part> parts_of(const AttentionProblem& p, Random& random, const Takes& takes) {
  if (output_shape(p).rows == 0) return {};
  const Index every_sequence = iota(p.sequences()), every_head = iota(p.q_heads());
  const std::int64_t group = p.q_heads() / p.k_heads();
  std::int64_t queries = 0;
  for (const std::int64_t s : every_sequence) queries = std::max(queries, p.q_length(s));
  Index sequence = every_sequence, head = every_head;
  std::vector<Part> parts;
  const auto add = [&](std::optional<Part> part) {
    if (part) parts.push_back(std::move(*part));
  };
  add(fewest(p.sequences(), random, [&](std::int64_t first, std::int64_t count) {
    sequence = sequences_from(p, first, count);
    if (sequence.size() == every_sequence.size()) return std::optional<Part>();
    return if_taken(takes, part_of(p, sequence, every_head, 0, alone(count, "a batch entry", "batch entries")));
  }));
  add(fewest(p.q_heads(), random, [&](std::int64_t first, std::int64_t count) {
    if (count % group != 0 && group % count != 0) return std::optional<Part>();  // no whole groups, nor part of one
    head = neighbours(first, count);
    return if_taken(takes, part_of(p, every_sequence, head, 0, alone(count, "a head", "heads")));
  }));
  // The first queries of a mask that is aligned top left see the first keys: none but the whole ends as it does.
  if (!p.top_left && queries > 1) {
    const auto last = [&](std::int64_t count) {
      return part_of(p, every_sequence, every_head, queries - count, "the last queries alone");
    };
    Part drawn = last(random.integer(1, queries - 1));
    std::optional<Part> taken = if_taken(takes, drawn);
    if (!taken) taken = fewest(queries, random, [&](auto, std::int64_t count) { return if_taken(takes, last(count)); });
    parts.push_back(taken ? std::move(*taken) : std::move(drawn));
  }
  if (queries > 0 && (sequence.size() < every_sequence.size() || head.size() < every_head.size())) {
    parts.push_back(
        part_of(p, sequence, head, p.top_left ? 0 : queries - 1,
                p.top_left ? "a head of a batch entry alone" : "the last query of a head of a batch entry alone"));
  }
  return parts;
}

Verdict relate(Trial& trial) {
  if (!trial.contract().batch_invariant) return unsupported("the kernel declares itself not batch invariant");
  Random random = trial.random(kName);
  const std::vector<Part> parts = visit_forward(
      [&](const auto& p) {
        return parts_of(p, random, [&](const Problem& part) { return trial.refusal(part).empty(); });
      },
      trial.problem());
  Comparison tally;
  for (const Part& part : parts) {
    if (!tally.taken(trial.refusal(part.problem))) continue;
    const Output output = trial.run(part.problem);
    const bool same =
        tally.add(same_answers(trial, {part.problem, output}, {trial.problem(), trial.output()}, part.rows),
                  Failure::nondeterministic, ", " + part.name + " against the whole");
    if (!same) break;
  }
  return tally.verdict("there is one row, it is alone already");
}

}  // namespace

Law batch_invariance_is_bitwise() {
  return {.summary =
              "a row, a head or a batch entry alone, of gradients also the last queries or keys, gives the same bits "
              "as in the whole",
          .must_reject = kTeeth,
          .relate = relate,
          .of_gradients = batch_invariance_of_gradients,
          .promised = [](ProblemKind, const Contract& contract) {
            return contract.deterministic && contract.batch_invariant;
          }};
}

}  // namespace flashproof::law::batch_invariance_is_bitwise
