#include "reports/statistics/heat.h"

#include <gtest/gtest.h>

#include "kernels/run/run.h"
#include "reference/error/judge.h"
#include "reference/problem/special_values.h"
#include "reference/system/error.h"
#include "reports/run/evaluate.h"

namespace flashproof {
namespace {

char heat(double computed, const Ball& truth, double bound, double range = 1e9) {
  const ElementBound b{bound, 0, 0, 0};
  const RowDomain domain;
  const std::uint64_t bits = encode(Format::f32, computed);
  const Element e{Part::o, 0, 0, Format::f32, bits, decode(Format::f32, bits), truth, b, range, domain};
  return heat_of({e, decide(e, Contract{})}, poison_bits(Format::f32));
}

TEST(Heat, a_character_per_way_of_being_wrong) {
  EXPECT_EQ(heat(1, {1}, 1), '0');
  EXPECT_EQ(heat(1.55, {1}, 1), '5');
  EXPECT_EQ(heat(1.999, {1}, 1), '9');
  EXPECT_EQ(heat(2.5, {1}, 1), 'X');
  // Undecided, and above the bound or against none.
  const auto open = [](double computed, double bound) {
    const ElementBound b{bound, 0, 0, 0};
    const RowDomain domain;
    const std::uint64_t bits = encode(Format::f32, computed);
    return heat_of({{Part::o, 0, 0, Format::f32, bits, computed, {1}, b, 1e9, domain}, {VerdictKind::inconclusive}},
                   poison_bits(Format::f32));
  };
  EXPECT_EQ(open(1.55, 1), '5');
  EXPECT_EQ(open(3, 1), 'X');
  EXPECT_EQ(open(3, kNan), 'X');
  EXPECT_EQ(heat(kNan, {1}, 1), 'N');
  EXPECT_EQ(heat(-kInfinity, {1}, 1), 'I');
  EXPECT_EQ(heat(kInfinity, {0, 0, 0, kNegInf}, 1), 'I');
  EXPECT_EQ(heat(5, {0, 0, 0, kNaN}, 1), 'F');
  EXPECT_EQ(heat(5, {0, 0, 0, kPosInf}, 1), 'F');
  EXPECT_EQ(heat(kNan, {0, 0, 0, kNaN}, 1), '.');         // right
  EXPECT_EQ(heat(1, {1}, kInfinity), '.');                // vacuous
  EXPECT_EQ(heat(1.1, {1, 0, kInfinity}, 1e30, 1), '.');  // nothing known
  const ElementBound b{1, 0, 0, 0};
  const RowDomain domain;
  const std::uint64_t poison = poison_bits(Format::f32);
  const Element unwritten{Part::o, 0, 0, Format::f32, poison, kNan, {0, 0, 0, kNaN}, b, 1, domain};
  EXPECT_EQ(heat_of({unwritten, {}}, poison), 'U');
}

TEST(Heat, a_block_shows_its_worst_and_a_large_tensor_stays_small) {
  const HeatMap small = heat_map("lse", 3, 1, [](std::int64_t i) { return i == 1 ? 'X' : '2'; });
  EXPECT_EQ(small.cells, (std::vector<std::string>{"2", "X", "2"}));
  const HeatMap large = heat_map("o", 129, 200, [](std::int64_t i) {
    const std::int64_t row = i / 200, col = i % 200;
    if (row == 128 && col == 199) return 'U';
    return row < 3 && col < 4 ? "X.FI0N123456"[row * 4 + col] : '.';
  });
  EXPECT_EQ(large.cell_rows, 3);
  EXPECT_EQ(large.cell_cols, 4);
  ASSERT_EQ(large.cells.size(), 43U);
  EXPECT_EQ(large.cells[0], "N" + std::string(49, '.'));
  EXPECT_EQ(large.cells[42], std::string(49, '.') + "U");
  EXPECT_NO_THROW(validate(large));
  EXPECT_TRUE(heat_map("o", 0, 5, [](std::int64_t) { return 'X'; }).empty());
}

TEST(Heat, travels_as_text_and_takes_nothing_else) {
  const HeatMap map = heat_map("dq", 5, 70, [](std::int64_t i) { return "019XFINU."[i % 9]; });
  EXPECT_EQ(HeatMap::deserialize(map.serialize()), map);
  EXPECT_EQ(HeatMap::deserialize(""), HeatMap{});
  const std::string good = map.serialize();
  for (const std::string& bad : {good + " 0", good + "0", good.substr(0, good.size() - 1), std::string("o 1 1"),
                                 std::string("o 0 1 ."), std::string("o 1 1 ?"), std::string("o x 1 .")}) {
    EXPECT_THROW(HeatMap::deserialize(bad), UsageError) << bad;
  }
}

}  // namespace
}  // namespace flashproof
