// A kernel that declares mask isolation: NaN and inf in k and v of a key change no bit of the rows that do not see it, by
// length, causality, window or a bias of −inf. First in all keys that no row of their head sees, then in one key of every
// head that some rows see and some do not: those that do not keep their bits. With a kernel that is
// not deterministic they stay within both bounds.
#include <limits>

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare.h"
#include "properties/laws/support/layout.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof::law::hidden_nan_is_isolated {
namespace {

constexpr std::string_view kName = "hidden_nan_is_isolated";
constexpr std::string_view kTeeth[] = {"attention.broken.hidden_value_times_zero", "attention.broken.mask_added_to_nan",
                                       "attention_backward.broken.hidden_pair_times_zero"};
constexpr double kSpecial[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
constexpr std::string_view kSpecialNames[] = {"NaN", "inf"};

/// Keys by their place in k, which is dense: sequences may share pages.
std::size_t place(const AttentionProblem& p, std::int64_t s, std::int64_t h, std::int64_t j) {
  return static_cast<std::size_t>(p.k_offset(s, p.kv_head(h), j) / p.head_dim());
}

template <class Visit>
void for_each_seen(const AttentionProblem& p, std::int64_t s, std::int64_t h, std::int64_t i, Visit visit) {
  const auto keys = p.visible_keys(s, i);
  for (std::int64_t j = keys.first; j < keys.last; ++j) {
    if (!p.hidden_by_bias(s, h, i, j)) visit(place(p, s, h, j));
  }
}

void plant(AttentionProblem& p, std::size_t key, double value) {
  const auto at = static_cast<std::int64_t>(key);
  for (std::int64_t c = 0; c < p.head_dim(); ++c) p.k.set_bits(at * p.head_dim() + c, encode(p.k.format, value));
  for (std::int64_t c = 0; c < p.value_dim(); ++c) p.v.set_bits(at * p.value_dim() + c, encode(p.v.format, value));
}

/// One key for every sequence and kv head that some of its rows see and some do not; drawn.
std::vector<std::uint8_t> partly_seen(const AttentionProblem& p, Random& random) {
  const auto places = static_cast<std::size_t>(p.k.elements() / p.head_dim());
  std::vector<std::uint8_t> chosen(places, 0);
  std::vector<std::int64_t> count(places, 0);
  const std::int64_t group = p.q_heads() / p.k_heads();
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t first = 0; first < p.q_heads(); first += group) {
      for (std::int64_t j = 0; j < p.visible_length(s); ++j) count[place(p, s, first, j)] = 0;
      for (std::int64_t h = first; h < first + group; ++h) {
        for (std::int64_t i = 0; i < p.q_length(s); ++i) {
          for_each_seen(p, s, h, i, [&](std::size_t key) { ++count[key]; });
        }
      }
      std::vector<std::size_t> partly;
      for (std::int64_t j = 0; j < p.visible_length(s); ++j) {
        const std::size_t key = place(p, s, first, j);
        if (count[key] > 0 && count[key] < group * p.q_length(s)) partly.push_back(key);
      }
      if (partly.empty()) continue;
      chosen[partly[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(partly.size()) - 1))]] = 1;
    }
  }
  return chosen;
}

/// 1 for a row that sees none of these keys.
std::vector<std::uint8_t> rows_that_see_none(const AttentionProblem& p, const std::vector<std::uint8_t>& keys) {
  std::vector<std::uint8_t> rows(static_cast<std::size_t>(output_shape(Problem(p)).rows), 1);
  for_each_query(p, [&](std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t row) {
    for_each_seen(p, s, h, i, [&](std::size_t key) {
      if (keys[key] != 0) rows[static_cast<std::size_t>(row)] = 0;
    });
  });
  return rows;
}

Verdict relate(Trial& trial) {
  if (!trial.contract().isolates_hidden) return unsupported("the kernel does not declare mask isolation");
  const auto* given = std::get_if<AttentionProblem>(&trial.problem());
  if (given == nullptr) return unsupported("only attention has keys that a mask hides");
  AttentionProblem dense = *given;
  dense.k = packed_together(dense.k);
  dense.v = packed_together(dense.v);
  if (std::string why = trial.refusal(dense); !why.empty()) return unsupported(std::move(why));

  std::vector<std::uint8_t> unseen(static_cast<std::size_t>(dense.k.elements() / dense.head_dim()), 1);
  for_each_query(dense, [&](std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t) {
    for_each_seen(dense, s, h, i, [&](std::size_t key) { unseen[key] = 0; });
  });
  Random random = trial.random(kName);
  const std::vector<std::uint8_t> partly = partly_seen(dense, random);

  std::optional<Output> base;
  Comparison tally;
  for (const auto& keys : {unseen, partly}) {
    if (std::ranges::find(keys, 1) == keys.end()) continue;
    if (!base) base = trial.run(dense);
    for (int special = 0; special < 2; ++special) {
      AttentionProblem changed = dense;
      for (std::size_t key = 0; key < keys.size(); ++key) {
        if (keys[key] != 0) plant(changed, key, kSpecial[special]);
      }
      const Output output = trial.run(changed);
      const std::vector<std::uint8_t> rows = rows_that_see_none(dense, keys);
      if (std::ranges::find(rows, 1) == rows.end()) continue;
      tally.add(same_outputs(trial, output, *base, rows), Failure::leak,
                ", " + std::string(kSpecialNames[special]) +
                    " in k and v of keys that the row does not see against as given");
    }
  }
  return tally.verdict("no key is hidden from any row");
}

}  // namespace

Law hidden_nan_is_isolated() {
  return {
      .summary = "NaN and inf in keys that a query does not see, and in queries that see no key, leave its bits alone",
      .must_reject = kTeeth,
      .relate = relate,
      .of_gradients = hidden_nan_of_gradients,
      .promised = [](ProblemKind problem, const Contract& contract) {
        return forward_kind(problem) == ProblemKind::attention && contract.isolates_hidden;
      }};
}

}  // namespace flashproof::law::hidden_nan_is_isolated
