#include "properties/generators/fill.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "properties/generators/numbers.h"
#include "properties/generators/plan.h"
#include "properties/generators/shape.h"

namespace flashproof {
namespace {

template <Format format>
void store_as(Tensor& tensor, std::int64_t offset, std::int64_t stride, std::span<const double> values) {
  for (const double value : values) {
    const std::uint64_t bits = encode(format, value);
    std::memcpy(tensor.storage.data() + offset * bytes_of(format), &bits, bytes_of(format));  // little endian
    offset += stride;
  }
}

/// Tensor::set() of a run of elements: the format is looked at once.
void store_run(Tensor& tensor, std::int64_t offset, std::int64_t stride, std::span<const double> values) {
  switch (tensor.format) {
    case Format::f64:
      return store_as<Format::f64>(tensor, offset, stride, values);
    case Format::f32:
      return store_as<Format::f32>(tensor, offset, stride, values);
    case Format::f16:
      return store_as<Format::f16>(tensor, offset, stride, values);
    case Format::bf16:
      return store_as<Format::bf16>(tensor, offset, stride, values);
    case Format::e4m3fn:
      return store_as<Format::e4m3fn>(tensor, offset, stride, values);
    case Format::e5m2:
      return store_as<Format::e5m2>(tensor, offset, stride, values);
  }
}

void put(SoftmaxProblem& problem, Random& random, const LogitRow& row, const LogitOptions&) {
  const FormatInfo& format = info(problem.x.format);
  std::vector<double> logits(static_cast<std::size_t>(problem.x.shape[1]));
  for (std::int64_t r = 0; r < problem.x.shape[0]; ++r) {
    row(random, {problem.plan, r, format.precision, format.max_finite}, logits);
    store_run(problem.x, problem.x.offset({r, 0}), problem.x.stride[1],
              std::span(logits).first(static_cast<std::size_t>(row_length(problem, r))));
  }
}

void put(MergeProblem& problem, Random& random, const LogitRow& row, const LogitOptions&) {
  const FormatInfo& format = info(Format::f32);
  const ChunkPlan plan = state_plan(problem.order);
  std::vector<double> logits(problem.order.size());
  for (std::int64_t r = 0; r < problem.lse.shape[1]; ++r) {
    row(random, {plan, r, format.precision, format.max_finite}, logits);
    store_run(problem.lse, problem.lse.offset({0, r}), problem.lse.stride[0], logits);
  }
}

/// The numbers value(0), value(1), ... along the last axis of a tensor, from index `first` on.
template <class Value>
void set_row(Tensor& tensor, std::int64_t offset, std::int64_t first, Value value) {
  std::vector<double> row;
  row.reserve(static_cast<std::size_t>(tensor.shape.back()));
  for (std::int64_t t = first; t < tensor.shape.back(); ++t) row.push_back(value(t));
  store_run(tensor, offset + first * tensor.stride.back(), tensor.stride.back(), row);
}

}  // namespace

double query_amplitude(const AttentionProblem& problem, double deviation) {
  const double scale = std::abs(static_cast<double>(problem.scale));
  const double root = std::sqrt(static_cast<double>(problem.head_dim()));
  return scale == 0 ? 1 : std::clamp(deviation / (scale * root), pow2(-12), pow2(10));
}

namespace {

// The random part of q and k, from axis `first` of the head on: the scaled score gets the standard deviation `noise`.
void put_noise(AttentionProblem& problem, Random& random, double noise, std::int64_t first) {
  const double amplitude = noise == 0 ? 0 : query_amplitude(problem, noise);
  for (std::int64_t b = 0; b < problem.sequences(); ++b) {
    for (std::int64_t h = 0; h < problem.q_heads(); ++h) {
      for (std::int64_t i = 0; i < problem.q_length(b); ++i) {
        set_row(problem.q, problem.q_offset(b, h, i), first, [&](std::int64_t) { return amplitude * random.normal(); });
      }
    }
    for (std::int64_t h = 0; h < problem.k_heads(); ++h) {
      for (std::int64_t j = 0; j < problem.visible_length(b); ++j) {
        set_row(problem.k, problem.k_offset(b, h, j), first, [&](std::int64_t) { return random.normal(); });
      }
    }
  }
}

// f16 holds 65504: a component of up to 2^13 times one of up to 2^14. The limit is the same for every format, so that
// the format does not decide which carrier a case gets.
constexpr double kMaxKey = 8192, kMaxQuery = 16384;

void plant_in_dots(AttentionProblem& problem, Random& random, const LogitRow& row, double noise) {
  const double scale = problem.scale;
  put_noise(problem, random, noise, 1);
  std::vector<double> logits(static_cast<std::size_t>(problem.k_length()));
  const LogitSite site{problem.plan, 0, info(problem.k.format).precision, kMaxKey * kMaxQuery * std::abs(scale)};
  const std::int64_t group = problem.q_heads() / problem.k_heads();
  for (std::int64_t b = 0; b < problem.sequences(); ++b) {
    for (std::int64_t h = 0; h < problem.k_heads(); ++h) {
      row(random, {site.plan, b * problem.k_heads() + h, site.precision, site.max_logit}, logits);
      double largest = 0;
      for (const double logit : logits) largest = std::max(largest, std::abs(logit));
      double gain = 1;  // a power of two: it adds no rounding
      while (largest > kMaxKey * gain * std::abs(scale)) gain *= 2;
      for (std::int64_t hq = h * group; hq < (h + 1) * group; ++hq) {
        for (std::int64_t i = 0; i < problem.q_length(b); ++i) {
          problem.q.set_bits(problem.q_offset(b, hq, i), encode(problem.q.format, gain));
        }
      }
      for (std::int64_t j = 0; j < problem.visible_length(b); ++j) {
        const double component = logits[static_cast<std::size_t>(j)] / (gain * scale);
        problem.k.set_bits(problem.k_offset(b, h, j), encode(problem.k.format, component));
      }
    }
  }
}

void put(AttentionProblem& problem, Random& random, const LogitRow& row, const LogitOptions& options) {
  const double scale = std::abs(static_cast<double>(problem.scale));
  const bool dots = random.chance(0.5);
  // With a scale far from 1 (only a key asks for that) q and k of f16 could not reach the logits.
  const bool reaches = scale >= pow2(-6) && scale <= pow2(6);
  if (problem.packed() || (dots && options.carrier == Carrier::any && !problem.has_bias() && reaches)) {
    plant_in_dots(problem, random, row, options.noise);
  } else {
    put_noise(problem, random, options.noise, 0);
    put_bias(problem, random, row);
  }
}

template <class Value>
void put_column_values(SoftmaxProblem&, Random&, const Value&) {}

template <class Value>
void put_column_values(MergeProblem& problem, Random& random, const Value& value) {
  for (std::int64_t c = 0; c < problem.o.shape[0]; ++c) {
    for (std::int64_t r = 0; r < problem.o.shape[1]; ++r) {
      if (problem.lse.at({c, r}) == -std::numeric_limits<double>::infinity()) continue;
      set_row(problem.o, problem.o.offset({c, r, 0}), 0, [&](std::int64_t t) { return value(random, c, t); });
    }
  }
}

template <class Value>
void put_column_values(AttentionProblem& problem, Random& random, const Value& value) {
  for (std::int64_t b = 0; b < problem.sequences(); ++b) {
    for (std::int64_t h = 0; h < problem.k_heads(); ++h) {
      for (std::int64_t j = 0; j < problem.visible_length(b); ++j) {
        set_row(problem.v, problem.v_offset(b, h, j), 0, [&](std::int64_t t) { return value(random, j, t); });
      }
    }
  }
}

}  // namespace

void put_logits(Problem& problem, Random& random, const LogitRow& row, const LogitOptions& options) {
  visit_forward([&](auto& p) { put(p, random, row, options); }, problem);
}

void put_values(Problem& problem, Random& random, const Value& value) {
  visit_forward([&](auto& p) { put_column_values(p, random, value); }, problem);
}

void put_values(Problem& problem, Random& random) {
  const auto normal = [](Random& r, std::int64_t, std::int64_t) { return r.normal(); };
  visit_forward([&](auto& p) { put_column_values(p, random, normal); }, problem);
}

void put_queries(AttentionProblem& problem, Random& random, double amplitude) {
  for (std::int64_t b = 0; b < problem.sequences(); ++b) {
    for (std::int64_t h = 0; h < problem.q_heads(); ++h) {
      for (std::int64_t i = 0; i < problem.q_length(b); ++i) {
        set_row(problem.q, problem.q_offset(b, h, i), 0, [&](std::int64_t) { return amplitude * random.normal(); });
      }
    }
  }
}

void put_keys(AttentionProblem& problem, Random& random, double amplitude) {
  for (std::int64_t b = 0; b < problem.sequences(); ++b) {
    for (std::int64_t h = 0; h < problem.k_heads(); ++h) {
      for (std::int64_t j = 0; j < problem.visible_length(b); ++j) {
        set_row(problem.k, problem.k_offset(b, h, j), 0, [&](std::int64_t) { return amplitude * random.normal(); });
      }
    }
  }
}

void put_bias(AttentionProblem& problem, Random& random, const LogitRow& row) {
  Tensor& bias = bias_of(problem);  // packed sequences take none
  const FormatInfo& format = info(Format::f32);
  std::vector<double> logits(static_cast<std::size_t>(problem.k_length()));
  std::int64_t at = 0;
  for (std::int64_t b = 0; b < problem.batch(); ++b) {
    for (std::int64_t h = 0; h < problem.q_heads(); ++h) {
      for (std::int64_t i = 0; i < problem.q_length(); ++i, ++at) {
        row(random, {problem.plan, at, format.precision, format.max_finite}, logits);
        store_run(bias, bias.offset({b, h, i, 0}), bias.stride[3],
                  std::span(logits).first(static_cast<std::size_t>(problem.visible_length(b))));
      }
    }
  }
}

void put_lengths(Problem& problem, const std::function<std::int64_t(std::int64_t index)>& length) {
  if (auto* softmax = std::get_if<SoftmaxProblem>(&problem)) {
    softmax->row_length.clear();
    for (std::int64_t r = 0; r < softmax->x.shape[0]; ++r) {
      softmax->row_length.push_back(static_cast<std::int32_t>(length(r)));
    }
  } else if (auto* attention = std::get_if<AttentionProblem>(&problem)) {
    attention->key_length.clear();
    for (std::int64_t b = 0; b < attention->sequences(); ++b) {
      attention->key_length.push_back(static_cast<std::int32_t>(length(b)));
    }
  }
}

std::int64_t row_length(const SoftmaxProblem& problem, std::int64_t r) {
  return problem.row_length.empty() ? problem.x.shape[1] : problem.row_length[static_cast<std::size_t>(r)];
}

}  // namespace flashproof
