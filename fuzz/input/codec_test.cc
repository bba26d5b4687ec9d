#include "fuzz/input/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "properties/generators/family.h"
#include "reference/problem/random.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr ProblemKind kProblems[] = {ProblemKind::softmax, ProblemKind::merge, ProblemKind::attention};

std::vector<std::uint8_t> random_bytes(Random& random, std::int64_t longest) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(random.integer(0, longest)));
  for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(random.next_u32());
  return bytes;
}

TEST(Codec, any_bytes_mean_an_input_that_has_the_same_bytes_again) {
  Random random(1, 1);
  for (int n = 0; n < 20000; ++n) {
    const ProblemKind problem = kProblems[n % 3];
    const FuzzInput input = decode_input(problem, random_bytes(random, 120));
    const auto bytes = encode_input(input);
    ASSERT_TRUE(bytes) << describe(input);
    EXPECT_EQ(decode_input(problem, *bytes), input) << describe(input);
  }
}

TEST(Codec, every_byte_of_a_recipe_changes_the_input) {
  FuzzInput input{.kernel = 3, .law = 7};
  input.origin.spec = parse_case_spec("attention:staircase:7:format=f16,sq=33,chunk=16,order=reverse,scale=0.3");
  input.origin.mutations = {{0xdeadbeef, 5, 0x1234}, {1, 0, 0}};
  input.schedule = {1, 2, 3};
  const std::vector<std::uint8_t> bytes = *encode_input(input);
  EXPECT_EQ(decode_input(ProblemKind::attention, bytes), input);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::vector<std::uint8_t> changed = bytes;
    changed[i] ^= 1;
    EXPECT_NE(decode_input(ProblemKind::attention, changed), input) << "byte " << i;
  }
}

TEST(Codec, recipes_and_data_are_found_again) {
  for (const ProblemKind problem : kProblems) {
    for (const Family& family : families()) {
      if (!family.serves(problem)) continue;
      FuzzInput input;
      input.origin.spec = {problem, std::string(family.name), 0xffffffffffffffff, {{"format", "bf16"}}};
      input.origin.mutations = {{9, 1, 2}};
      const auto bytes = encode_input(input);
      ASSERT_TRUE(bytes) << describe(input);
      EXPECT_EQ(decode_input(problem, *bytes), input);
    }
  }
  const Case c = make_case(parse_case_spec("merge:normal:5:n=3,rows=2,dv=4"));
  const auto bytes = data_input(format_witness({c, {{"kernel", "x"}}}));
  ASSERT_TRUE(bytes);
  EXPECT_EQ(case_of(ProblemKind::merge, decode_input(ProblemKind::merge, *bytes)), c);
}

TEST(Codec, what_has_no_byte_is_refused_and_not_rounded) {
  FuzzInput input;
  for (const char* line : {"softmax:normal:1:rows=19", "softmax:normal:1:cols=5000", "attention:normal:1:scale=0.7",
                           "softmax:normal:1:order=99", "softmax:no_such_family:1"}) {
    input.origin.spec = parse_case_spec(line);
    EXPECT_FALSE(encode_input(input)) << line;
  }
  input.origin.spec = parse_case_spec("softmax:normal:1");
  EXPECT_TRUE(encode_input(input));
  input.origin.mutations = {{1, 0x10000, 0}};
  EXPECT_FALSE(encode_input(input));
  input.origin.mutations = {{1, 0, 0}};
  input.schedule.assign(kMostScheduleBytes + 1, 0);
  EXPECT_FALSE(encode_input(input));
  EXPECT_FALSE(data_input(std::vector<std::byte>(kLongestInput)));
  EXPECT_FALSE(data_input({}));
}

TEST(Codec, one_byte_of_a_key_changes_that_key_alone) {
  FuzzInput input;
  input.origin.spec = parse_case_spec("attention:normal:1:b=1,hq=2,hk=1,sq=5,sk=33,d=16,dv=16,chunk=16");
  const std::vector<std::uint8_t> bytes = *encode_input(input);
  std::size_t changed_keys = 0;
  for (std::size_t i = 11; i < bytes.size() - 1; ++i) {  // behind kernel, law, family and seed; before the schedule
    std::vector<std::uint8_t> other = bytes;
    other[i] = 2;
    const CaseSpec spec = decode_input(ProblemKind::attention, other).origin.spec;
    std::size_t different = 0;
    for (const auto& [key, value] : spec.keys) {
      const auto was = input.origin.spec.keys.find(key);
      different += was == input.origin.spec.keys.end() || was->second != value ? 1 : 0;
    }
    EXPECT_LE(different, 1U) << "byte " << i;
    changed_keys += different;
  }
  EXPECT_GE(changed_keys, 12U);
}

TEST(Codec, malformed_data_is_refused_in_one_line) {
  Random random(2, 2);
  int refused = 0;
  for (int n = 0; n < 2000; ++n) {
    std::vector<std::uint8_t> bytes = random_bytes(random, 300);
    bytes.insert(bytes.begin(), kDataTag);
    const FuzzInput input = decode_input(ProblemKind::softmax, bytes);
    if (!input.is_data()) continue;
    try {
      case_of(ProblemKind::softmax, input);
    } catch (const UsageError& error) {
      ++refused;
      EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("\n")));
    }
  }
  EXPECT_GT(refused, 1000);
  FuzzInput merge;
  merge.witness = format_witness({make_case(parse_case_spec("merge:normal:5:n=3,rows=2,dv=4")), {}});
  EXPECT_THROW(case_of(ProblemKind::softmax, merge), UsageError);
}

TEST(Codec, the_law_byte_leaves_most_inputs_without_a_law) {
  int none = 0;
  for (int b = 0; b < 256; ++b) none += chosen_law(static_cast<std::uint8_t>(b), 30) ? 0 : 1;
  EXPECT_EQ(none, kNoLaw);
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(chosen_law(law_byte(i), 30), i);
}

TEST(Codec, the_schedule_is_the_executors) {
  FuzzInput input;
  EXPECT_EQ(to_string(input.order()), "fifo");
  input.schedule = {0x02, 0xff};
  EXPECT_EQ(to_string(input.order()), "bytes:02ff");
  input.schedule = {0x03, 0xff};
  EXPECT_EQ(to_string(input.order()), "bytes:03ff+lazy");
}

TEST(Codec, a_change_is_one_mutation_more_or_changed_data) {
  FuzzInput input;
  input.origin.spec = parse_case_spec("softmax:normal:3:rows=2,cols=9,layout=dense");
  const auto more = changed(ProblemKind::softmax, input, {17, 1, 0});
  ASSERT_TRUE(more);
  EXPECT_EQ(more->origin.mutations.size(), 1U);
  const Case c = case_of(ProblemKind::softmax, *more);
  FuzzInput data;
  data.witness = format_witness({case_of(ProblemKind::softmax, input), {}});
  const auto other = changed(ProblemKind::softmax, data, {17, 1, 0});
  ASSERT_TRUE(other);
  EXPECT_EQ(case_of(ProblemKind::softmax, *other).problem, c.problem);
}

TEST(Codec, a_gradient_is_its_forward_recipe_with_the_changes_made_first) {
  FuzzInput input;
  input.origin.spec = parse_case_spec("attention_backward:normal:3:b=1,hq=1,hk=1,sq=2,sk=5,d=4,dv=4");
  const Case plain = case_of(ProblemKind::backward, input);
  EXPECT_EQ(plain, make_case(input.origin.spec));
  const auto gradient = [](const Case& c) -> const BackwardProblem& { return std::get<BackwardProblem>(c.problem); };
  input.origin.mutations = {{17, 0, 0}};
  const Case other = case_of(ProblemKind::backward, input);
  EXPECT_NE(gradient(other).forward, gradient(plain).forward);
  EXPECT_EQ(gradient(other).d_out, gradient(plain).d_out);
  input.origin.mutations = {{17, 0, 3 | kChangesDOut}};
  const Case third = case_of(ProblemKind::backward, input);
  EXPECT_EQ(gradient(third).forward, gradient(plain).forward);
  EXPECT_NE(gradient(third).d_out, gradient(plain).d_out);
  EXPECT_EQ(decode_input(ProblemKind::backward, *encode_input(input)), input);
  input.origin.mutations[0].column = 1 << 15;  // the bytes have no such column
  EXPECT_FALSE(encode_input(input));
  FuzzInput data;
  data.witness = format_witness({other, {}});
  EXPECT_EQ(case_of(ProblemKind::backward, data).problem, other.problem);
  EXPECT_FALSE(changed(ProblemKind::backward, data, {1, 0, 0}));
}

}  // namespace
}  // namespace flashproof
