#include "reports/diagnose/row_look.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/error/element.h"

namespace flashproof {
namespace {

bool not_finite(double x) { return class_of(x) == kNaN || std::isinf(x); }

bool special_value(const RowTerms& t, std::size_t j) {
  if (t.values.empty()) return false;
  const std::int64_t columns = t.block > 0 ? t.block : t.width;
  for (std::int64_t c = 0; c < columns; ++c)
    if (not_finite(static_cast<double>(t.value(j, c)))) return true;
  return false;
}

void look_at_chunks(const RowTerms& t, RowLook& look) {
  const auto visits = static_cast<std::size_t>(std::max(t.visits, 1));
  std::vector<std::int64_t> keys(visits), visible(visits), nan(visits);
  std::vector<Real> most(visits, kNothing);
  std::vector<std::int64_t> of_part(static_cast<std::size_t>(std::max(t.parts, 1)));
  for (const Term& term : t.terms) {
    const auto v = static_cast<std::size_t>(term.visit);
    ++keys[v];
    look.longest_chunk = std::max(look.longest_chunk, keys[v]);
    if (!term.visible) continue;
    ++visible[v];
    nan[v] += std::isnan(term.score) ? 1 : 0;
    ++of_part[static_cast<std::size_t>(term.part)];
    if (!std::isnan(term.score)) most[v] = std::max(most[v], term.score);
  }
  Real running = t.sink, before = kNothing;
  bool first = true, was_empty = false;
  for (std::size_t v = 0; v < visits; ++v) {
    if (keys[v] == 0 && t.kind != ProblemKind::merge) continue;
    if (visible[v] == 0) {
      look.some_hidden = true;
      if (first) look.first_hidden = true;
      look.adjacent_empty |= was_empty;
      ++look.empty_groups;
    }
    was_empty = visible[v] == 0;
    first = false;
    look.nan_chunk |= visible[v] > 0 && nan[v] == visible[v];
    if (visible[v] == 0) continue;
    if (running != kNothing) look.rise = std::max(look.rise, most[v] - running);
    if (before != kNothing) look.fall = std::max(look.fall, before - most[v]);
    before = most[v];
    running = std::max(running, most[v]);
    look.dip = std::max(look.dip, running - most[v]);
    look.last_chunk = keys[v];
  }
  if (t.parts > 1) {
    look.empty_part = std::ranges::find(of_part, 0) != of_part.end();
    look.first_part_empty = of_part[0] == 0;
    std::vector<int> chunks(of_part.size()), within(of_part.size());
    for (int v = 0; v < t.visits; ++v) {
      const auto part = static_cast<std::size_t>(part_of_visit(v, t.visits, t.parts));
      ++chunks[part];
      within[part] += t.begins[static_cast<std::size_t>(v)] < t.length ? 1 : 0;
    }
    for (std::size_t p = 0; p < chunks.size(); ++p) look.part_beyond |= chunks[p] > 0 && within[p] == 0;
  }
}

}  // namespace

RowLook look_at(const RowTerms& t) {
  RowLook look;
  std::vector<Real> scores{t.sink};
  look.first_missing = t.length;
  for (std::size_t j = 0; j < t.terms.size(); ++j) {
    const Term& term = t.terms[j];
    if (term.visible) {
      ++look.visible;
      look.last_visible = term.position;
      look.nan_score |= std::isnan(term.score);
      look.nan_value |= special_value(t, j);
      look.most = std::max(look.most, term.score), look.least = std::min(look.least, term.score);
      scores.push_back(term.score);
    } else {
      ++look.hidden;
      look.first_missing = std::min(look.first_missing, term.position);
      look.hidden_nan_score |= std::isnan(term.score);
      look.hidden_nan_value |= special_value(t, j);
    }
  }
  look.lse = log_sum(scores);
  const auto first =
      std::ranges::min_element(t.terms, {}, [](const Term& x) { return std::pair(x.visit, x.position); });
  look.first_key_hidden = first != t.terms.end() && !first->visible;
  look_at_chunks(t, look);
  return look;
}

Real raw_score(const RowTerms& t) {
  Real most = 0;
  for (const Term& term : t.terms)
    if (term.visible) most = std::max(most, std::fabs(term.raw));
  return most;
}

bool special_behind(const AttentionProblem& p, bool keys, const RowTerms& t) {
  const Tensor& tensor = keys ? p.k : p.v;
  if (p.paged() || p.packed()) return false;
  const std::int64_t kv = p.kv_head(t.h);
  for (std::int64_t j = t.length; j < p.k_length(t.s); ++j) {
    const std::int64_t at = keys ? p.k_offset(t.s, kv, j) : p.v_offset(t.s, kv, j);
    for (std::int64_t c = 0; c < tensor.shape[3]; ++c)
      if (not_finite(decode(tensor.format, tensor.bits(at + c * tensor.stride[3])))) return true;
  }
  return false;
}

bool first_of_block_hidden(const AttentionProblem& p, const RowTerms& t, std::int64_t block) {
  AttentionProblem::Keys range{t.length, 0};
  const std::int64_t first = t.i / block * block, end = std::min(first + block, p.q_length(t.s));
  for (std::int64_t i = first; i < end; ++i) {
    const AttentionProblem::Keys keys = p.visible_keys(t.s, i);
    if (keys.first >= keys.last) continue;
    range.first = std::min(range.first, keys.first), range.last = std::max(range.last, keys.last);
  }
  std::int32_t visit = std::numeric_limits<std::int32_t>::max();
  for (const Term& term : t.terms)
    if (range.first <= term.position && term.position < range.last) visit = std::min(visit, term.visit);
  if (visit == std::numeric_limits<std::int32_t>::max()) return false;
  return std::ranges::none_of(t.terms, [&](const Term& term) { return term.visit == visit && term.visible; });
}

bool empty_join(const MergeProblem& p, const RowTerms& t) {
  std::vector<bool> empty(t.terms.size());
  for (const Term& term : t.terms) empty[static_cast<std::size_t>(term.visit)] = !term.visible;
  if (!p.joins.empty()) {
    bool any = false;
    for (const Join& join : p.joins) {
      const bool both = empty[static_cast<std::size_t>(join.left)] && empty[static_cast<std::size_t>(join.right)];
      any |= both;
      empty.push_back(both);
    }
    return any;
  }
  bool any = false;
  while (empty.size() > 1) {
    std::vector<bool> next;
    for (std::size_t i = 0; i < empty.size(); i += 2) {
      const bool both = empty[i] && (i + 1 == empty.size() || empty[i + 1]);
      any |= both && i + 1 < empty.size();
      next.push_back(both);
    }
    empty = next;
  }
  return any;
}

}  // namespace flashproof
