// What every reader of a problem may rely on. The first argument that does not fit is named with its legal range.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "reference/problem/error.h"
#include "reference/problem/problems.h"

namespace flashproof {
namespace {

using Shape = std::vector<std::int64_t>;

std::string text(const Shape& shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

/// Rank, format, extents, strides and the size of the storage.
void check_tensor(std::string_view name, const Tensor& tensor, std::size_t rank, bool f32_only) {
  const bool legal_format =
      tensor.format == Format::f32 || (!f32_only && (tensor.format == Format::f16 || tensor.format == Format::bf16));
  if (!legal_format) {
    throw UsageError(
        fmt::format("{}: format {} must be {}", name, info(tensor.format).name, f32_only ? "f32" : "f32, f16 or bf16"));
  }
  if (tensor.shape.size() != rank) {
    throw UsageError(fmt::format("{}: {} axes, must be {}", name, tensor.shape.size(), rank));
  }
  std::int64_t elements = 1;
  for (std::int64_t extent : tensor.shape) {
    if (extent < 0 || extent > kMaxExtent) {
      throw UsageError(fmt::format("{}: shape {}, every extent must be 0..{}", name, text(tensor.shape), kMaxExtent));
    }
    // Also where another axis is 0. The product could reach 2^71, hence the division.
    if (extent > 0 && elements > kMaxElements / extent) {
      throw UsageError(fmt::format("{}: shape {}, must have at most 2^40 elements", name, text(tensor.shape)));
    }
    if (extent > 0) elements *= extent;
  }
  std::int64_t needed = 0;
  try {
    needed = storage_bytes(tensor.format, tensor.shape, tensor.stride);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", name, error.what()));
  }
  const auto size = static_cast<std::int64_t>(tensor.storage.size());
  if (size < needed || size % bytes_of(tensor.format) != 0) {
    throw UsageError(fmt::format("{}: {} bytes of storage, must be at least {} and a multiple of {}", name, size,
                                 needed, bytes_of(tensor.format)));
  }
}

void check_axis(std::string_view argument, std::int64_t extent, std::int64_t lo, std::int64_t hi) {
  if (extent < lo || extent > hi) throw UsageError(fmt::format("{}: {}, must be {}..{}", argument, extent, lo, hi));
}

void check_shape(std::string_view name, const Tensor& tensor, const Shape& expected) {
  if (tensor.shape != expected) {
    throw UsageError(fmt::format("{}: shape {}, must be {}", name, text(tensor.shape), text(expected)));
  }
}

void check_same_format(std::string_view name, const Tensor& tensor, const Tensor& query) {
  if (tensor.format != query.format) {
    throw UsageError(
        fmt::format("{}: format {}, must be that of q, {}", name, info(tensor.format).name, info(query.format).name));
  }
}

/// The factors come from checked shapes: neither can overflow.
void check_output(std::int64_t rows, std::int64_t width) {
  if (rows > kMaxExtent || (width > 0 && rows > kMaxExtent / width)) {
    throw UsageError(fmt::format("output: {} x {} elements, must be at most {}", rows, width, kMaxExtent));
  }
}

void check_lengths(std::string_view argument, const std::vector<std::int32_t>& lengths, std::int64_t count,
                   std::int64_t longest) {
  if (lengths.empty()) return;
  if (static_cast<std::int64_t>(lengths.size()) != count) {
    throw UsageError(fmt::format("{}: {} lengths, must be none or {}", argument, lengths.size(), count));
  }
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0 || lengths[i] > longest) {
      throw UsageError(fmt::format("{}[{}]: {}, must be 0..{}", argument, i, lengths[i], longest));
    }
  }
}

void check_permutation(std::string_view argument, const std::vector<std::int32_t>& order, std::int64_t count) {
  if (static_cast<std::int64_t>(order.size()) != count) {
    throw UsageError(fmt::format("{}: {} entries, must be {}", argument, order.size(), count));
  }
  std::vector<bool> seen(order.size(), false);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] < 0 || order[i] >= count || seen[static_cast<std::size_t>(order[i])]) {
      throw UsageError(fmt::format("{}[{}]: {}, must be a permutation of 0..{}", argument, i, order[i], count - 1));
    }
    seen[static_cast<std::size_t>(order[i])] = true;
  }
}

void check_plan(const ChunkPlan& plan, std::int64_t length) {
  const auto& boundary = plan.boundary;
  if (boundary.empty() || boundary.front() != 0 || boundary.back() != length) {
    throw UsageError(fmt::format("plan.boundary: must begin with 0 and end with the length {}", length));
  }
  for (std::size_t i = 1; i < boundary.size(); ++i) {
    if (boundary[i] <= boundary[i - 1]) {
      throw UsageError(fmt::format("plan.boundary[{}]: {}, must be {}..{} (every chunk has a key)", i, boundary[i],
                                   std::int64_t{boundary[i - 1]} + 1, length));
    }
  }
  check_permutation("plan.order", plan.order, static_cast<std::int64_t>(boundary.size()) - 1);
}

}  // namespace

void validate(const SoftmaxProblem& problem) {
  check_tensor("x", problem.x, 2, false);
  check_output(problem.x.shape[0], problem.x.shape[1]);
  check_lengths("row_length", problem.row_length, problem.x.shape[0], problem.x.shape[1]);
  check_plan(problem.plan, problem.x.shape[1]);
}

void validate(const MergeProblem& problem) {
  check_tensor("o", problem.o, 3, false);
  check_tensor("lse", problem.lse, 2, true);
  const Shape& shape = problem.o.shape;
  check_axis("o axis 0 (states)", shape[0], 1, kMaxExtent);
  check_axis("o axis 2 (dv)", shape[2], 1, kMaxHeadDim);
  check_shape("lse", problem.lse, {shape[0], shape[1]});
  if (problem.form != MergeForm::sum && problem.form != MergeForm::concat) {
    throw UsageError("form: must be sum or concat");
  }
  check_output(shape[1], shape[2] * (problem.form == MergeForm::concat ? shape[0] : 1));
  check_permutation("order", problem.order, shape[0]);
}

void validate(const AttentionProblem& problem) {
  check_tensor("q", problem.q, 4, false);
  check_tensor("k", problem.k, 4, false);
  check_tensor("v", problem.v, 4, false);
  check_same_format("k", problem.k, problem.q);
  check_same_format("v", problem.v, problem.q);
  const std::int64_t batch = problem.batch(), q_heads = problem.q_heads(), k_heads = problem.k_heads();
  check_axis("q axis 3 (d)", problem.head_dim(), 1, kMaxHeadDim);
  check_axis("v axis 3 (dv)", problem.value_dim(), 1, kMaxHeadDim);
  check_axis("k axis 1 (heads)", k_heads, 1, kMaxExtent);
  check_axis("q axis 1 (heads)", q_heads, 1, kMaxExtent);
  if (q_heads % k_heads != 0) {
    throw UsageError(fmt::format("q axis 1 (heads): {}, must be a multiple of the {} heads of k", q_heads, k_heads));
  }
  check_shape("k", problem.k, {batch, k_heads, problem.k_length(), problem.head_dim()});
  check_shape("v", problem.v, {batch, k_heads, problem.k_length(), problem.value_dim()});
  if (!std::isfinite(problem.scale)) throw UsageError("scale: must be finite");
  if (problem.has_bias()) {
    check_tensor("bias", problem.bias, 4, true);
    check_shape("bias", problem.bias, {batch, q_heads, problem.q_length(), problem.k_length()});
  } else if (!problem.bias.stride.empty() || !problem.bias.storage.empty()) {
    throw UsageError("bias: without a shape it must have no stride and no storage");
  }
  check_output(batch * q_heads * problem.q_length(), problem.value_dim());
  check_lengths("key_length", problem.key_length, batch, problem.k_length());
  check_plan(problem.plan, problem.k_length());
}

void validate(const Problem& problem) {
  std::visit([](const auto& p) { validate(p); }, problem);
}

}  // namespace flashproof
