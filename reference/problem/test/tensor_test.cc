#include "reference/problem/tensor.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

TEST(Tensor, DenseIsRowMajorAndPoisoned) {
  for (Format format : kAllFormats) {
    Tensor t = Tensor::dense(format, {2, 3});
    EXPECT_EQ(t.stride, (std::vector<std::int64_t>{3, 1}));
    EXPECT_EQ(static_cast<int>(t.storage.size()), 6 * bytes_of(format));
    EXPECT_TRUE(std::isnan(t.at({1, 2})));
    t.set({1, 2}, -1.5);
    EXPECT_EQ(t.at({1, 2}), -1.5);
    EXPECT_EQ(t.bits(5), encode(format, -1.5));
    EXPECT_TRUE(std::isnan(t.at({1, 1}))) << "a neighbour was written";
  }
}

TEST(Tensor, SetRoundsToNearestEven) {
  Tensor t = Tensor::dense(Format::f16, {1});
  t.set({0}, 1.0 + 3 * 0x1p-11);
  EXPECT_EQ(t.at({0}), 1.0 + 0x1p-9);
}

TEST(Tensor, StridesAndBroadcast) {
  Tensor t = Tensor::strided(Format::f32, {3, 2, 2}, {10, 0, 4});
  EXPECT_EQ(t.storage.size(), (2 * 10 + 4 + 1) * 4U);
  EXPECT_EQ(t.offset({2, 1, 1}), 24);
  EXPECT_EQ(t.elements(), 12);
  t.set({2, 0, 1}, 7.0);
  EXPECT_EQ(t.at({2, 1, 1}), 7.0);
}

TEST(Tensor, EmptyOnes) {
  EXPECT_EQ(Tensor().elements(), 0);
  EXPECT_TRUE(dense_bytes(Tensor()).empty());
  const Tensor t = Tensor::dense(Format::f32, {4, 0, 3});
  EXPECT_EQ(t.elements(), 0);
  EXPECT_TRUE(t.storage.empty());
  EXPECT_TRUE(dense_bytes(t).empty());
  EXPECT_EQ(Tensor::strided(Format::f32, {kHuge, 0, kHuge}, {kHuge, 1, 1}).elements(), 0) << "no overflow on the way";
}

TEST(Tensor, RefusesWhatHasNoSize) {
  EXPECT_THROW(Tensor::dense(Format::f32, {-1, 2}), UsageError);
  EXPECT_THROW(Tensor::dense(Format::f32, {kHuge, 4}), UsageError);
  EXPECT_THROW(Tensor::dense(Format::f32, {2, kHuge, 4}), UsageError);
  EXPECT_THROW(Tensor::strided(Format::f32, {2}, {-1}), UsageError);
  EXPECT_THROW(Tensor::strided(Format::f32, {2}, {1, 1}), UsageError);
  EXPECT_THROW(Tensor::strided(Format::f32, {2}, {kHuge}), UsageError);
  EXPECT_THROW(Tensor::strided(Format::f32, {3, 3}, {kHuge / 2, kHuge / 2}), UsageError);
  EXPECT_THROW(Tensor::strided(Format::f32, {kHuge, 4}, {0, 0}), UsageError) << "elements, although one place";
}

TEST(Tensor, DenseBytesAndBack) {
  Tensor t = Tensor::strided(Format::f16, {2, 3, 2}, {1, 8, 4});  // no axis is contiguous
  std::vector<double> expected;
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      for (std::int64_t k = 0; k < 2; ++k) {
        t.set({i, j, k}, static_cast<double>(100 * i + 10 * j + k));
        expected.push_back(static_cast<double>(100 * i + 10 * j + k));
      }
    }
  }
  const std::vector<std::byte> bytes = dense_bytes(t);
  ASSERT_EQ(bytes.size(), 2 * expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + 2 * i, 2);
    EXPECT_EQ(decode(Format::f16, bits), expected[i]) << i;
  }
  const auto size = static_cast<std::int64_t>(t.storage.size());
  EXPECT_EQ(tensor_from_dense(t.format, t.shape, t.stride, size, bytes), t);
  const Tensor longer = tensor_from_dense(t.format, t.shape, t.stride, size + 4, bytes);
  EXPECT_EQ(longer.storage.size(), t.storage.size() + 4);
  EXPECT_EQ(longer.storage.back(), std::byte{0xff});
  EXPECT_THROW(tensor_from_dense(t.format, t.shape, t.stride, size - 2, bytes), UsageError);
  EXPECT_THROW(tensor_from_dense(t.format, t.shape, t.stride, size + 1, bytes), UsageError);
  EXPECT_THROW(tensor_from_dense(t.format, t.shape, t.stride, size, std::span(bytes).first(22)), UsageError);
}

TEST(Tensor, BroadcastElementsMustAgree) {
  const Tensor dense = tensor_from_dense(Format::bf16, {2, 2}, {0, 1}, 4, dense_bytes([] {
                                           Tensor t = Tensor::dense(Format::bf16, {2, 2});
                                           for (std::int64_t i = 0; i < 4; ++i) t.set_bits(i, i % 2 == 0 ? 5 : 6);
                                           return t;
                                         }()));
  EXPECT_EQ(dense.bits(0), 5U);
  std::vector<std::byte> bytes = dense_bytes(dense);
  bytes.back() ^= std::byte{1};
  EXPECT_THROW(tensor_from_dense(Format::bf16, {2, 2}, {0, 1}, 4, bytes), UsageError);
}

}  // namespace
}  // namespace flashproof
