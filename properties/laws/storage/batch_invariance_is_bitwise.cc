// Where the contract says so, a row, a head or a batch entry alone has the bits that it has in the whole; of a kernel that does not
// declare itself deterministic the numbers, within both bounds.
//
// What is left keeps every argument: positions count from the bottom right, so the queries that stay are the last ones; the
// plan is an argument too, and a packed sequence alone would have a shorter one, so the longest sequence stays beside it.
#include <algorithm>

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof {
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

Index range(std::int64_t first, std::int64_t end) {
  Index index;
  for (std::int64_t i = first; i < end; ++i) index.push_back(i);
  return index;
}

template <class P>
Part part_of(const P& p, const Index& rows, std::string name) {
  P part = p;
  keep_along(part, Axis::rows, rows);
  return {part, rows, std::move(name)};
}

/// One row, and the rows from a drawn one on.
template <class P>
std::vector<Part> parts_of(const P& p, Random& random) {
  const std::int64_t rows = output_shape(p).rows;
  if (rows < 2) return {};
  const std::int64_t alone = random.integer(0, rows - 1), first = random.integer(1, rows - 1);
  return {part_of(p, {alone}, "a row alone"), part_of(p, range(first, rows), "the last rows alone")};
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
    const Index queries = range(first_query(0), p.q_length());
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

std::vector<Part> parts_of(const AttentionProblem& p, Random& random) {
  if (output_shape(p).rows == 0) return {};
  const Index every_sequence = iota(p.sequences()), every_head = iota(p.q_heads());
  const Index head = {random.integer(0, p.q_heads() - 1)};
  Index sequence = {random.integer(0, p.sequences() - 1)};
  if (p.packed() && !p.paged() && p.k_length(sequence[0]) < p.k_length()) {
    const auto longest = std::ranges::find_if(every_sequence, [&](auto s) { return p.k_length(s) == p.k_length(); });
    sequence.push_back(*longest);
  }
  std::int64_t queries = 0;
  for (const std::int64_t s : every_sequence) queries = std::max(queries, p.q_length(s));
  // The first queries of a mask that is aligned top left see the first keys: none but the whole ends as it does.
  const std::int64_t first = queries < 2 || p.top_left ? 0 : random.integer(1, queries - 1);
  const bool fewer_sequences = sequence.size() < every_sequence.size(), fewer_heads = p.q_heads() > 1;
  std::vector<Part> parts;
  if (fewer_sequences) parts.push_back(part_of(p, sequence, every_head, 0, "a batch entry alone"));
  if (fewer_heads) parts.push_back(part_of(p, every_sequence, head, 0, "a head alone"));
  if (first > 0) parts.push_back(part_of(p, every_sequence, every_head, first, "the last queries alone"));
  if (queries > 0 && (fewer_sequences || fewer_heads)) {
    parts.push_back(
        part_of(p, sequence, head, p.top_left ? 0 : queries - 1,
                p.top_left ? "a head of a batch entry alone" : "the last query of a head of a batch entry alone"));
  }
  return parts;
}

Verdict relate(Trial& trial) {
  if (!trial.contract().batch_invariant) return unsupported("the kernel declares itself not batch invariant");
  Random random = trial.random(kName);
  const std::vector<Part> parts = visit_forward([&](const auto& p) { return parts_of(p, random); }, trial.problem());
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
          .relate = relate,
          .of_gradients = batch_invariance_of_gradients,
          .promised = [](const Contract& contract) { return contract.deterministic && contract.batch_invariant; },
          .must_reject = kTeeth};
}

}  // namespace flashproof
