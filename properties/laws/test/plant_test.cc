// What is planted stands where it is said to stand, and what a row is said to see makes it NaN.
#include "properties/laws/support/plant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "properties/generators/shape.h"
#include "properties/laws/support/change.h"
#include "properties/laws/test/teeth_check.h"

namespace flashproof {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

const Tensor& tensor_of(const Problem& problem, std::string_view name) {
  if (const auto* p = std::get_if<SoftmaxProblem>(&problem)) return p->x;
  if (const auto* p = std::get_if<MergeProblem>(&problem)) return name == "lse" ? p->lse : name == "l" ? p->l : p->o;
  const auto& p = std::get<AttentionProblem>(problem);
  return name == "q" ? p.q : name == "k" ? p.k : name == "v" ? p.v : p.bias;
}

Planted plant(const Problem& problem, std::int64_t turn, Random& random) {
  const std::vector<std::uint8_t> in_domain(static_cast<std::size_t>(output_shape(problem).rows), 1);
  if (const auto* p = std::get_if<AttentionProblem>(&problem)) return planted(*p, turn, random, true, in_domain);
  if (const auto* p = std::get_if<MergeProblem>(&problem)) return planted(*p, turn, random, true, in_domain);
  return planted(std::get<SoftmaxProblem>(problem), turn, random);
}

double at(const Tensor& t, const std::vector<std::int64_t>& i) {
  return i.size() == 2 ? t.at({i[0], i[1]}) : i.size() == 3 ? t.at({i[0], i[1], i[2]}) : t.at({i[0], i[1], i[2], i[3]});
}
bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

struct Counts {
  int plants = 0, seen = 0, unseen = 0;
};

void check(const Problem& problem, std::uint64_t seed, Counts& counts) {
  for (int turn = 0; turn < kPlants; ++turn) {
    Random random(seed, static_cast<std::uint64_t>(turn));
    const Planted result = plant(problem, turn, random);
    for (const Plant& plant : result.plants) {
      const std::string text = to_string(plant);
      const Tensor& now = tensor_of(result.problem, plant.tensor);
      ASSERT_EQ(plant.index.size(), now.shape.size()) << text;
      EXPECT_TRUE(same(at(now, plant.index), plant.value)) << text;
      EXPECT_FALSE(same(at(tensor_of(problem, plant.tensor), plant.index), plant.value))
          << text << ": was there before";
      ++counts.plants;
    }
    const std::size_t rows = result.lse.size(), width = result.o.size() / std::max<std::size_t>(rows, 1);
    for (std::size_t r = 0; r < rows; ++r) {
      const auto is_nan = [](Expect expect) { return expect == Expect::nan; };
      const auto row = std::span(result.o).subspan(r * width, width);
      const bool nan = is_nan(result.lse[r]) || std::ranges::any_of(row, is_nan);
      EXPECT_TRUE(!nan || result.seen[r] >= 0) << "row " << r << " is NaN of nothing";
      EXPECT_LT(result.seen[r], static_cast<std::int32_t>(result.plants.size()));
      if (result.seen[r] >= 0 && kind_of(problem) != ProblemKind::attention) {  // a row sees its own alone
        const Plant& plant = result.plants[static_cast<std::size_t>(result.seen[r])];
        EXPECT_EQ(plant.index[plant.tensor == "x" ? 0 : 1], static_cast<std::int64_t>(r)) << to_string(plant);
      }
      ++(result.seen[r] >= 0 ? counts.seen : counts.unseen);
    }
  }
}

TEST(Plant, stands_where_it_is_said_to_stand) {
  for (const char* line :
       {"softmax:normal:1:rows=7,cols=40,chunk=16,format=f32", "merge:normal:1:rows=7,n=3,dv=4,format=f16",
        "attention:normal:1:b=2,hq=4,hk=2,sq=5,sk=9,d=16,dv=8,causal=1,format=bf16"}) {
    const Problem problem = make_case(parse_case_spec(line)).problem;
    Counts all;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      check(problem, seed, all);
    }
    EXPECT_GT(all.plants, 50) << line;
    EXPECT_GT(all.seen, 50) << line;
    EXPECT_GT(all.unseen, 5) << line;
  }
}

/// Whether what a row reads in the storage of the problem makes its column NaN: of all keys that it sees, whichever sequence it was planted for.
bool reads_nan(const AttentionProblem& p, std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t column) {
  const auto holds_nan = [](const Tensor& t, std::int64_t offset) {
    for (std::int64_t c = 0; c < t.shape[3]; ++c) {
      if (std::isnan(decode(t.format, t.bits(offset + c * t.stride[3])))) return true;
    }
    return false;
  };
  const auto seen = p.visible_keys(s, i);
  const std::int64_t kv = p.kv_head(h);
  for (std::int64_t j = seen.first; j < seen.last; ++j) {
    if (holds_nan(p.q, p.q_offset(s, h, i)) || holds_nan(p.k, p.k_offset(s, kv, j))) return true;
    if (std::isnan(decode(p.v.format, p.v.bits(p.v_offset(s, kv, j) + column * p.v.stride[3])))) return true;
  }
  return false;
}

/// What lies in a slot is seen by all sequences that read it, at any place.
TEST(Plant, of_a_page_that_sequences_share_is_seen_by_all_of_them) {
  int twice = 0;  // slots with two columns planted
  for (std::uint64_t seed = 0; seed < 160; ++seed) {
    const std::string line =
        "attention:paged:" + std::to_string(seed) + ":b=7,hq=2,hk=1,sq=3,sk=40,d=8,dv=8,layout=dense,format=f32";
    auto p = std::get<AttentionProblem>(make_case(parse_case_spec(line)).problem);
    p.bias = {};
    Random random(seed, 1);
    const std::vector<std::uint8_t> in_domain(static_cast<std::size_t>(output_shape(p).rows), 1);
    for (int turn = 0; turn < kPlants; ++turn) {
      const Planted result = planted(p, turn, random, true, in_domain);
      const auto& after = std::get<AttentionProblem>(result.problem);
      for_each_query(after, [&](std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t row) {
        for (std::int64_t c = 0; c < after.value_dim(); ++c) {
          const bool nan = result.o[static_cast<std::size_t>(row * after.value_dim() + c)] == Expect::nan;
          ASSERT_EQ(nan, reads_nan(after, s, h, i, c)) << line << ", row " << row << ", column " << c;
        }
      });
      std::map<std::vector<std::int64_t>, std::set<std::int64_t>> columns;
      for (const Plant& plant : result.plants) {
        if (plant.tensor == "v") columns[{plant.index.begin(), plant.index.end() - 1}].insert(plant.index.back());
      }
      for (const auto& [slot, of_slot] : columns) twice += of_slot.size() > 1 ? 1 : 0;
    }
  }
  EXPECT_GE(twice, 3);
}

TEST(Plant, is_told_with_tensor_index_and_value) {
  EXPECT_EQ(to_string(Plant{"k", {0, 1, 5, 3}, NAN}), "nan planted at k[0,1,5,3]");
  EXPECT_EQ(to_string(Plant{"x", {3, 2}, NAN, 4}), "nan planted at x[3,2] and 3 more");
  EXPECT_EQ(to_string(Plant{"bias", {0, 0, 2, 1}, INFINITY, 1, true}), "inf planted at bias[0,0,2,1], among -inf");
}

std::string told(const char* line, const char* kernel, const Runner& runner) {
  const Case c = make_case(parse_case_spec(line));
  Trial trial(*find_kernel(kernel), c, nullptr, {}, runner);
  return ask(*find_law("visible_nan_is_not_laundered"), trial).detail;
}

Output without_nan(const Kernel& kernel, const Problem& problem, const RunOptions& options) {
  Output output = run(kernel, problem, options);
  for (std::int64_t i = 0; i < output.o.elements(); ++i) {
    if (std::isnan(decode(output.o.format, output.o.bits(i)))) output.o.set_bits(i, 0);
  }
  return output;
}

Output all_nan(const Kernel& kernel, const Problem& problem, const RunOptions& options) {
  Output output = run(kernel, problem, options);
  bool any = false;
  for (std::int64_t r = 0; r < output.lse.elements(); ++r) any = any || std::isnan(output.lse.at({r}));
  for (std::int64_t r = 0; any && r < output.lse.elements(); ++r) output.lse.set({r}, NAN);
  return output;
}

TEST(Plant, the_law_says_what_the_row_sees) {
  const char* softmax = "softmax:normal:1:rows=4,cols=40,chunk=16,format=f32";
  EXPECT_THAT(told(softmax, "softmax.safe.hardened", without_nan),
              MatchesRegex("o\\[row [0-3], column [0-9]+\\]: 0, sees (nan|inf) planted at x\\[[0-3],[0-9]+\\].*"));
  EXPECT_THAT(
      told("attention:normal:1:b=1,hq=1,hk=1,sq=8,sk=8,d=16,dv=16,causal=1,format=f32", "attention.deferred.hardened",
           without_nan),
      MatchesRegex(
          "o\\[row [0-7], column [0-9]+\\]: 0, sees (nan|inf) planted at (q|k|v|bias)\\[0,0,[0-7],[0-9]+\\].*"));
  EXPECT_THAT(told(softmax, "softmax.safe.hardened", all_nan), HasSubstr("sees nothing of what was planted ("));
  EXPECT_THAT(told(softmax, "softmax.safe.hardened", Trial::run_kernel), testing::Not(HasSubstr("planted")));
}

}  // namespace
}  // namespace flashproof
