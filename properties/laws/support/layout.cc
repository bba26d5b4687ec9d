#include "properties/laws/support/layout.h"

#include <numeric>

#include "properties/laws/support/change.h"

namespace flashproof {

Tensor relaid(const Tensor& tensor, std::span<const int> order, std::span<const std::int64_t> room) {
  Tensor result = tensor;
  std::int64_t step = 1;
  for (std::size_t n = order.size(); n-- > 0;) {
    const auto a = static_cast<std::size_t>(order[n]);
    result.stride[a] = step;
    step *= tensor.shape[a] + room[a];
  }
  if (tensor.elements() == 0) step = 0;
  result.storage.assign(static_cast<std::size_t>(step * bytes_of(tensor.format)), std::byte{0xff});
  std::vector<std::int64_t> to;
  to.reserve(static_cast<std::size_t>(tensor.elements()));
  for_each_offset(result, [&](std::int64_t offset) { to.push_back(offset); });
  std::size_t n = 0;
  for_each_offset(tensor, [&](std::int64_t offset) { result.set_bits(to[n++], tensor.bits(offset)); });
  return result;
}

Tensor packed_together(const Tensor& tensor) {
  std::vector<int> order(tensor.shape.size());
  std::iota(order.begin(), order.end(), 0);
  return relaid(tensor, order, std::vector<std::int64_t>(order.size(), 0));
}

}  // namespace flashproof
