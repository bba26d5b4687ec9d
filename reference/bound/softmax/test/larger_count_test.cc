#include "reference/bound/softmax/larger_count.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <stdexcept>

#include "reference/problem/random.h"
#include "reference/problem/special_values.h"

namespace flashproof::bound {
namespace {

TEST(LargerCount, is_what_counting_one_by_one_finds) {
  Random random(1, 2);
  for (const std::size_t size : {0, 1, 2, 100, 255, 256, 257, 3000}) {
    for (const double spread : {0.0, 1.0, 0x1p120, 0x1p-140}) {
      std::vector<double> values(size);
      for (double& value : values) {
        value = static_cast<float>(random.normal() * spread);
        if (random.chance(0.3) && size > 1) value = values[size / 2];  // ties
        if (random.chance(0.1)) value = -0.0;
        if (random.chance(0.05)) value = random.chance(0.5) ? kInfinity : -kInfinity;
      }
      const std::vector<int> larger = larger_count(values);
      ASSERT_EQ(larger.size(), size);
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(larger[i], std::ranges::count_if(values, [&](double other) { return other > values[i]; }))
            << values[i] << " of " << size;
      }
    }
  }
}

TEST(LargerCount, refuses_what_is_no_f32) {
  for (const double value : {0.1, 1e300, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(larger_count(std::vector{1.0, value}), std::invalid_argument) << value;
}

}  // namespace
}  // namespace flashproof::bound
