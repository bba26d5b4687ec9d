// Measures on tensors and shapes: what is stored, where, and what no row may look at.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "properties/generators/difficulty/difficulty_parts.h"
#include "properties/laws/support/change.h"

namespace flashproof {
namespace {

struct Stored {
  double elements = 0, subnormal = 0, near_max = 0;
};

void count_numbers(const Tensor& tensor, Stored& stored) {
  const double normal = min_normal(tensor.format), large = info(tensor.format).max_finite / 2;
  for_each_offset(tensor, [&](std::int64_t offset) {
    const double size = std::abs(decode(tensor.format, tensor.bits(offset)));
    if (std::isnan(size)) return;
    stored.elements += 1;
    stored.subnormal += size > 0 && size < normal;
    stored.near_max += std::isfinite(size) && size >= large;
  });
}

void measure_layout(const Tensor& tensor, Difficulty& result) {
  if (tensor.shape.empty() || tensor.elements() == 0) return;
  std::int64_t distinct = 1;
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    const bool shared = tensor.stride[axis] == 0 && tensor.shape[axis] > 1;
    result.broadcast += shared;
    if (!shared) distinct *= tensor.shape[axis];
  }
  const std::int64_t room = std::ssize(tensor.storage) / bytes_of(tensor.format);
  result.padding += static_cast<double>(std::max<std::int64_t>(room - distinct, 0));
  if (room < distinct) result.overlap = 1;
}

/// Rows that end inside a chunk, and the share of the lengths that stand at the edge of one.
void measure_lengths(std::span<const ScoreRow> rows, Difficulty& result) {
  double edges = 0, lengths = 0;
  for (const ScoreRow& row : rows) {
    const auto& boundary = row.plan.boundary;
    std::int32_t longest = 0;
    for (std::size_t c = 0; c + 1 < boundary.size(); ++c) longest = std::max(longest, boundary[c + 1] - boundary[c]);
    std::int64_t end = std::ssize(row.hidden);
    while (end > 0 && row.hidden[static_cast<std::size_t>(end - 1)]) --end;
    if (end > 0) {
      const auto behind = std::ranges::lower_bound(boundary, end);
      const bool short_last = end == boundary.back() && *behind - *(behind - 1) < longest;
      result.partial_tiles += *behind != end || short_last;
    }
    if (row.length == 0) continue;
    const std::int64_t first = boundary[1], rest = row.length % first;
    lengths += 1;
    edges += row.length == 1 || rest == 0 || rest == 1 || rest == first - 1;
  }
  result.tile_edges = share(edges, lengths);
}

/// What no row, or not every row, may look at.
void count_hidden(double number, Difficulty& result) {
  result.hidden_nans += std::isnan(number);
  result.hidden_infs += std::isinf(number);
}

void measure(const SoftmaxProblem& p, std::span<const ScoreRow>, Stored& stored, Difficulty& result) {
  count_numbers(p.x, stored);
  measure_layout(p.x, result);
  for (std::int64_t r = 0; r < p.x.shape[0] && !p.row_length.empty(); ++r) {
    for (std::int64_t j = p.row_length[static_cast<std::size_t>(r)]; j < p.x.shape[1]; ++j) {
      count_hidden(p.x.at({r, j}), result);
    }
  }
}

void measure(const MergeProblem& p, std::span<const ScoreRow> rows, Stored& stored, Difficulty& result) {
  count_numbers(p.o, stored);
  count_numbers(p.lse, stored);
  for (const Tensor* tensor : {&p.o, &p.lse, &p.l}) measure_layout(*tensor, result);
  result.joins = static_cast<double>(p.joins.size());
  result.features = static_cast<double>(p.features().size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < rows[r].hidden.size(); ++c) {
      if (!rows[r].hidden[c]) continue;
      count_hidden(p.o.at({static_cast<std::int64_t>(c), static_cast<std::int64_t>(r), 0}), result);
    }
  }
}

struct Specials {
  bool nan = false, inf = false;
};

void look_at(const Tensor& tensor, std::int64_t offset, Specials& found) {
  for (std::int64_t t = 0; t < tensor.shape[3]; ++t) {
    const double number = decode(tensor.format, tensor.bits(offset + t * tensor.stride[3]));
    found.nan |= std::isnan(number);
    found.inf |= std::isinf(number);
  }
}

void measure_hidden_keys(const AttentionProblem& p, std::span<const ScoreRow> rows, Difficulty& result) {
  std::map<std::int64_t, bool> everywhere;  // by the offset in k: seen by every row of its head
  for (const ScoreRow& row : rows) {
    for (std::int64_t j = 0; j < p.visible_length(row.sequence); ++j) {
      const auto [found, inserted] = everywhere.try_emplace(p.k_offset(row.sequence, row.kv_head, j), true);
      found->second = found->second && !row.hidden[static_cast<std::size_t>(j)];
    }
  }
  for (std::int64_t a = 0; a < p.k.shape[0]; ++a) {
    for (std::int64_t h = 0; h < p.k_heads(); ++h) {
      for (std::int64_t j = 0; j < p.k.shape[2]; ++j) {
        const std::int64_t at = p.k.offset({a, h, j, 0});
        const auto found = everywhere.find(at);
        if (found != everywhere.end() && found->second) continue;
        Specials key;
        look_at(p.k, at, key);
        look_at(p.v, p.v.offset({a, h, j, 0}), key);
        result.hidden_nans += key.nan;
        result.hidden_infs += key.inf;
      }
    }
  }
}

/// Entries of the page table with keys whose page another such entry leads to, and of those the ones whose page stands at another place of
/// its sequence there.
void measure_pages(const AttentionProblem& p, Difficulty& result) {
  struct Users {
    std::int64_t count = 0, first = -1;
    bool moved = false;
  };
  std::map<std::int32_t, Users> users;
  const std::int64_t per_sequence = p.pages_per_sequence(), size = p.k.shape[2];
  const auto each_entry = [&](const auto& visit) {
    for (std::int64_t s = 0; s < p.sequences(); ++s) {
      for (std::int64_t page = 0; page * size < p.k_length(s); ++page) {
        visit(p.page_table[static_cast<std::size_t>(s * per_sequence + page)], page);
      }
    }
  };
  each_entry([&](std::int32_t page, std::int64_t place) {
    Users& of = users[page];
    if (of.count++ == 0) of.first = place;
    of.moved = of.moved || of.first != place;
  });
  each_entry([&](std::int32_t page, std::int64_t) {
    result.shared_pages += users[page].count > 1;
    result.moved_pages += users[page].moved;
  });
}

void measure_sequences(const AttentionProblem& p, Difficulty& result) {
  if (p.packed()) result.sequences = static_cast<double>(p.sequences());
  if (p.paged()) {
    result.page_size = static_cast<double>(p.k.shape[2]);
    measure_pages(p, result);
  }
  double edges = 0;
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    result.empty_sequences += p.packed() && (p.q_length(s) == 0 || p.k_length(s) == 0);
    if (!p.paged() || p.k_length(s) == 0) continue;
    const std::int64_t size = p.k.shape[2], rest = p.k_length(s) % size;
    result.partial_pages += rest != 0;
    edges += rest == 0 || rest == 1 || rest == size - 1;
  }
  result.page_edges = share(edges, static_cast<double>(p.sequences()));
}

void measure_scalars(const AttentionProblem& p, Difficulty& result) {
  for (std::int64_t h = 0; h < p.q_heads(); ++h) {
    if (p.has_sink()) result.sinks += std::isfinite(p.sink.at({h})) ? 1 / static_cast<double>(p.q_heads()) : 0;
    for (std::int64_t s = 0; s < p.sequences() && p.has_alibi(); ++s) {
      result.slope = std::max(result.slope, std::abs(p.alibi.at({s, h})));
    }
  }
  double changed = 0;
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t h = 0; h < p.k_heads(); ++h) {
      const bool any = std::ranges::any_of(std::array{&p.q_descale, &p.k_descale, &p.v_descale},
                                           [&](const Tensor* f) { return AttentionProblem::descale(*f, s, h) != 1; });
      changed += any;
    }
  }
  result.descale = share(changed, static_cast<double>(p.sequences() * p.k_heads()));
}

void measure(const AttentionProblem& p, std::span<const ScoreRow> rows, Stored& stored, Difficulty& result) {
  for (const Tensor* tensor : {&p.q, &p.k, &p.v}) count_numbers(*tensor, stored);
  for (const Tensor* tensor : {&p.q, &p.k, &p.v, &p.bias}) measure_layout(*tensor, result);
  measure_hidden_keys(p, rows, result);
  measure_sequences(p, result);
  measure_scalars(p, result);
  result.features = static_cast<double>(p.features().size());
  const std::int64_t group = p.q_heads() / p.k_heads();
  result.group = static_cast<double>(group);
  result.kv_equal = result.keys > 0 && p.k.shape == p.v.shape && dense_bytes(p.k) == dense_bytes(p.v);
  const auto odd = [](std::int64_t dim) { return dim % 4 != 0 || dim > 64; };
  result.odd_dims = odd(p.head_dim()) || odd(p.value_dim()) ? 1 : 0;
  double beside = 0;
  for (const ScoreRow& row : rows) {
    if (!std::isfinite(row.sink) || row.plan.order.empty()) continue;
    beside += visited_maxima(row).front() == -std::numeric_limits<double>::infinity();
  }
  result.sink_beside_empty = share(beside, static_cast<double>(rows.size()));
}

const std::vector<std::int32_t>& order_of(const Problem& problem) {
  if (const auto* softmax = std::get_if<SoftmaxProblem>(&problem)) return softmax->plan.order;
  if (const auto* merge = std::get_if<MergeProblem>(&problem)) return merge->order;
  return std::get<AttentionProblem>(problem).plan.order;
}

}  // namespace

void measure_storage(const Problem& problem, std::span<const ScoreRow> rows, Difficulty& result) {
  Stored stored;
  visit_forward([&](const auto& p) { measure(p, rows, stored, result); }, problem);
  result.subnormal_share = share(stored.subnormal, stored.elements);
  result.near_max_share = share(stored.near_max, stored.elements);
  const auto* attention = std::get_if<AttentionProblem>(&problem);
  result.least_bits = info(format_of(problem)).bits;
  if (attention != nullptr) result.least_bits = std::min<double>(result.least_bits, info(attention->k.format).bits);
  const std::vector<std::int32_t>& order = order_of(problem);
  result.chunks = static_cast<double>(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) result.permuted += order[i] != static_cast<std::int32_t>(i);
  if (std::holds_alternative<MergeProblem>(problem)) return;
  measure_lengths(rows, result);
}

}  // namespace flashproof
