// The same attention in another layout: pages, one pack; and NaN into whatever is no key.
#include <limits>
#include <utility>

#include "reference/oracle/test/test_problems.h"
#include "reference/problem/special_values.h"

namespace flashproof::test {
namespace {

/// The vector at one offset to another; both of `count` components along the last axis.
void copy_vector(const Tensor& from, std::int64_t source, Tensor& to, std::int64_t target, std::int64_t count) {
  for (std::int64_t c = 0; c < count; ++c) {
    to.set_bits(target + c * to.stride[3], from.bits(source + c * from.stride[3]));
  }
}

/// 0..n−1 in random order.
std::vector<std::int32_t> permutation(std::int64_t n, Random& random) {
  std::vector<std::int32_t> order;
  for (std::int64_t i = 0; i < n; ++i) {
    order.push_back(static_cast<std::int32_t>(i));
    std::swap(order[i], order[random.integer(0, i)]);
  }
  return order;
}

std::int32_t anything(Random& random, std::int64_t pages) {
  using Limits = std::numeric_limits<std::int32_t>;
  const std::int32_t values[] = {-1, Limits::min(), Limits::max(), static_cast<std::int32_t>(pages),
                                 static_cast<std::int32_t>(random.integer(0, pages))};
  return values[random.integer(0, 4)];
}

/// Keys and values of a source in any layout to the places of a target in another.
void copy_keys(const AttentionProblem& source, AttentionProblem& target) {
  for (std::int64_t s = 0; s < source.sequences(); ++s) {
    for (std::int64_t h = 0; h < source.k_heads(); ++h) {
      for (std::int64_t j = 0; j < source.k_length(s); ++j) {
        copy_vector(source.k, source.k_offset(s, h, j), target.k, target.k_offset(s, h, j), source.head_dim());
        copy_vector(source.v, source.v_offset(s, h, j), target.v, target.v_offset(s, h, j), source.value_dim());
      }
    }
  }
}

/// Axis 3 longer; what is new belongs to no key and is NaN.
Tensor widened(const Tensor& bias, std::int64_t keys) {
  const auto& shape = bias.shape;
  Tensor result = Tensor::dense(Format::f32, {shape[0], shape[1], shape[2], keys});
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (std::int64_t h = 0; h < shape[1]; ++h) {
      for (std::int64_t i = 0; i < shape[2]; ++i) {
        copy_vector(bias, bias.offset({b, h, i, 0}), result, result.offset({b, h, i, 0}), shape[3]);
      }
    }
  }
  return result;
}

}  // namespace

void poison_unused(AttentionProblem& problem) {
  const std::int64_t inner = problem.k.shape[2];
  std::vector<bool> used(problem.k.shape[0] * inner);
  for (std::int64_t s = 0; s < problem.sequences(); ++s) {
    for (std::int64_t j = 0; j < problem.visible_length(s); ++j) {
      std::int64_t outer = s, at = j;
      if (problem.paged()) {
        outer = problem.page_table[s * problem.pages_per_sequence() + j / inner];
        at = j % inner;
      } else if (problem.packed()) {
        outer = 0;
        at = problem.k_start[s] + j;
      }
      used[outer * inner + at] = true;
    }
  }
  for (std::size_t place = 0; place < used.size(); ++place) {
    if (used[place]) continue;
    const std::int64_t outer = static_cast<std::int64_t>(place) / inner, at = static_cast<std::int64_t>(place) % inner;
    for (std::int64_t h = 0; h < problem.k_heads(); ++h) {
      for (std::int64_t c = 0; c < problem.k.shape[3]; ++c) problem.k.set({outer, h, at, c}, kNan);
      for (std::int64_t c = 0; c < problem.v.shape[3]; ++c) problem.v.set({outer, h, at, c}, kNan);
    }
  }
}

AttentionProblem in_pages(const AttentionProblem& source, std::int64_t page_size, Random& random) {
  const auto pages_for = [&](std::int64_t keys) { return (keys + page_size - 1) / page_size; };
  const std::int64_t per_sequence =
      std::max(pages_for(source.k_length()), std::int64_t{1}) + (random.chance(0.5) ? 1 : 0);
  const std::int64_t room = per_sequence * page_size;
  std::int64_t used = 0;
  bool full = true;
  AttentionProblem p = source;
  p.k_start.clear();
  for (std::int64_t s = 0; s < source.sequences(); ++s) {
    used += pages_for(source.k_length(s));
    full = full && source.k_length(s) == room;
    p.key_length.push_back(static_cast<std::int32_t>(source.k_length(s)));
  }
  if (full) p.key_length.clear();

  const std::int64_t pages = used + random.integer(0, 2);
  const std::vector<std::int32_t> order = permutation(pages, random);
  std::int64_t next = 0;
  for (std::int64_t s = 0; s < source.sequences(); ++s) {
    for (std::int64_t page = 0; page < per_sequence; ++page) {
      p.page_table.push_back(page < pages_for(source.k_length(s)) ? order[next++] : anything(random, pages));
    }
  }
  p.k = Tensor::dense(source.k.format, {pages, source.k_heads(), page_size, source.head_dim()});
  p.v = Tensor::dense(source.v.format, {pages, source.k_heads(), page_size, source.value_dim()});
  copy_keys(source, p);
  if (p.has_bias()) p.bias = widened(p.bias, room);
  p.plan = ChunkPlan::uniform(room, 5);
  return p;
}

AttentionProblem in_one_pack(const AttentionProblem& source) {
  AttentionProblem p = source;
  const std::int64_t queries = source.q_length(), keys = source.k_length();
  for (std::int64_t s = 0; s <= source.batch(); ++s) {
    p.q_start.push_back(static_cast<std::int32_t>(s * queries));
    p.k_start.push_back(static_cast<std::int32_t>(s * keys));
  }
  const std::int64_t batch = source.batch(), kv = source.k_heads();
  p.q = Tensor::dense(source.q.format, {1, source.q_heads(), batch * queries, source.head_dim()});
  p.k = Tensor::dense(source.k.format, {1, kv, batch * keys, source.head_dim()});
  p.v = Tensor::dense(source.v.format, {1, kv, batch * keys, source.value_dim()});
  copy_keys(source, p);
  for (std::int64_t s = 0; s < batch; ++s) {
    for (std::int64_t h = 0; h < source.q_heads(); ++h) {
      for (std::int64_t i = 0; i < queries; ++i) {
        copy_vector(source.q, source.q_offset(s, h, i), p.q, p.q_offset(s, h, i), source.head_dim());
      }
    }
  }
  return p;
}

}  // namespace flashproof::test
