#include "reference/problem/checks.h"

#include <fmt/format.h>

#include "reference/system/error.h"

namespace flashproof::checks {

namespace {

std::string text(const Shape& shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

}  // namespace

void check_tensor(std::string_view name, const Tensor& tensor, std::size_t rank, Legal formats) {
  const int bits = info(tensor.format).bits;
  const int least = formats == Legal::f32 ? 32 : formats == Legal::storage ? 16 : 8;
  if (bits > 32 || bits < least) {
    constexpr std::string_view kLegal[] = {"f32", "f32, f16 or bf16", "f32, f16, bf16, e4m3fn or e5m2"};
    throw UsageError(fmt::format("{}: format {} must be {}", name, info(tensor.format).name,
                                 kLegal[static_cast<std::size_t>(formats)]));
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

void check_absent(std::string_view name, const Tensor& tensor) {
  if (!tensor.stride.empty() || !tensor.storage.empty()) {
    throw UsageError(fmt::format("{}: without a shape it must have no stride and no storage", name));
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

void check_same_format(std::string_view name, const Tensor& tensor, std::string_view other_name, const Tensor& other) {
  if (tensor.format != other.format) {
    throw UsageError(fmt::format("{}: format {}, must be that of {}, {}", name, info(tensor.format).name, other_name,
                                 info(other.format).name));
  }
}

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

}  // namespace flashproof::checks
