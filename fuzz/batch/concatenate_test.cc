#include "fuzz/batch/concatenate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "kernels/run/run.h"
#include "properties/generators/family.h"

namespace flashproof {
namespace {

std::vector<Problem> problems_of(const std::string& recipe, const std::string& keys, int count) {
  std::vector<Problem> list;
  for (int seed = 1; seed <= count; ++seed)
    list.push_back(make_case(parse_case_spec(recipe + ":" + std::to_string(seed) + ":" + keys)).problem);
  return list;
}

std::vector<const Problem*> pointers(const std::vector<Problem>& problems) {
  std::vector<const Problem*> list;
  for (const Problem& p : problems) list.push_back(&p);
  return list;
}

/// The kernels here let no row see another's, whatever the grid: together they must give the bits that they give alone.
void expect_same_bits(const char* kernel, const std::vector<Problem>& problems) {
  const Kernel* subject = find_kernel(kernel);
  ASSERT_NE(subject, nullptr) << kernel;
  const auto list = pointers(problems);
  for (const Problem& p : problems) {
    ASSERT_NE(join_key(p), "");
    ASSERT_EQ(join_key(p), join_key(problems.front()));
  }
  const Output whole = run(*subject, concatenate(list));
  std::int64_t row = 0;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const Output alone = run(*subject, problems[i]);
    const Output part = part_of(whole, row, problems[i]);
    row += output_shape(problems[i]).rows;
    EXPECT_EQ(part.o, alone.o) << kernel << " " << i;
    EXPECT_EQ(part.lse, alone.lse) << kernel << " " << i;
  }
  EXPECT_EQ(row, whole.lse.shape[0]);
}

TEST(Concatenate, softmax_rows_give_the_same_bits) {
  expect_same_bits("softmax.online_block.hardened",
                   problems_of("softmax:normal", "rows=2,cols=65,chunk=16,order=forward,layout=dense", 5));
  expect_same_bits("softmax.online_two_pass.hardened",
                   problems_of("softmax:normal", "rows=1,cols=40,chunk=16,order=reverse,format=bf16,layout=dense", 3));
}

TEST(Concatenate, merge_rows_give_the_same_bits_with_masses_and_trees) {
  expect_same_bits("merge.ring_update.hardened",
                   problems_of("merge:normal", "n=5,rows=3,dv=8,form=sum,order=7,layout=dense", 4));
  for (const char* keys : {"n=6,rows=2,dv=8,layout=dense,form=sum,order=reverse",
                           "n=6,rows=2,dv=8,layout=dense,form=concat,order=forward"})
    expect_same_bits("merge.nway.hardened", problems_of("merge:normal", keys, 3));
}

TEST(Concatenate, attention_sequences_give_the_same_bits_with_bias_slopes_and_lengths) {
  const std::string shape =
      "b=2,hq=2,hk=1,sq=5,sk=33,d=16,dv=16,scale=0.25,causal=1,chunk=16,order=forward,layout=dense";
  for (const char* family : {"attention:normal", "attention:alibi", "attention:zero_length", "attention:descale"}) {
    std::map<std::string, std::vector<Problem>> by_key;  // a family may leave its bias or lengths out, by seed
    for (Problem& p : problems_of(family, shape, 12)) by_key[join_key(p)].push_back(std::move(p));
    std::size_t most = 0;
    for (const auto& [key, problems] : by_key) {
      if (!key.empty()) expect_same_bits("attention.deferred.hardened", problems);
      most = std::max(most, key.empty() ? 0 : problems.size());
    }
    EXPECT_GE(most, 2U) << family;
  }
}

TEST(Concatenate, what_must_not_be_joined_has_another_key_or_none) {
  const auto key = [](const char* line) { return join_key(make_case(parse_case_spec(line)).problem); };
  const char* base = "softmax:normal:1:rows=2,cols=65,chunk=16,order=forward,layout=dense";
  ASSERT_NE(key(base), "");
  EXPECT_EQ(key(base), key("softmax:huge:9:rows=7,cols=65,chunk=16,order=forward,layout=dense"));
  EXPECT_NE(key(base), key("softmax:normal:1:rows=2,cols=64,chunk=16,order=forward,layout=dense"));
  EXPECT_NE(key(base), key("softmax:normal:1:rows=2,cols=65,chunk=16,order=forward,layout=dense,format=f16"));
  EXPECT_NE(key(base), key("softmax:normal:1:rows=2,cols=65,chunk=7,order=forward,layout=dense"));
  EXPECT_EQ(key("softmax:normal:1:rows=3,cols=65,layout=padded"), "");
  EXPECT_EQ(key("attention:sink:1:layout=dense"), "");
  EXPECT_EQ(key("attention:paged:1"), "");
  EXPECT_EQ(key("attention:packed:1"), "");
  EXPECT_NE(key("attention:normal:1:sq=4,sk=8,scale=1,chunk=4,order=forward,causal=0,layout=dense"),
            key("attention:normal:1:sq=4,sk=8,scale=1,chunk=4,order=forward,causal=1,layout=dense"));
}

TEST(Concatenate, one_problem_joined_is_itself_in_every_family) {
  int joined = 0, windows = 0, softcaps = 0;
  for (const Family& family : families()) {
    for (const ProblemKind problem : {ProblemKind::softmax, ProblemKind::merge, ProblemKind::attention}) {
      for (std::uint64_t seed = 0; seed < 12 && family.serves(problem); ++seed) {
        const CaseSpec spec{problem, std::string(family.name), seed, {{"layout", "dense"}}};
        const Problem p = make_case(spec).problem;
        if (join_key(p).empty()) continue;
        const Problem* one[] = {&p};
        EXPECT_EQ(concatenate(one), p) << to_string(spec);
        ++joined;
        const auto* a = std::get_if<AttentionProblem>(&p);
        windows += a != nullptr && a->window_left >= 0 ? 1 : 0;
        softcaps += a != nullptr && a->softcap > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(joined, 500);
  EXPECT_GT(windows, 0);
  EXPECT_GT(softcaps, 0);
}

}  // namespace
}  // namespace flashproof
