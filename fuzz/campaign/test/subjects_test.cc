#include "fuzz/campaign/subjects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/system/error.h"
#include "reference/system/test/message_of.h"

namespace flashproof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const char* const kList = "a.one\thardened\tf32\na.one\thardened\tf16\na.two\tpublished\tf32\na.bad\tbroken\tf16\n";

std::vector<std::string> names(const std::vector<Listed>& listed) {
  std::vector<std::string> result;
  result.reserve(listed.size());
  for (const Listed& one : listed) result.push_back(subject_folder(one));
  return result;
}

std::vector<std::string> chosen(const std::vector<std::string>& kernels, const std::vector<std::string>& formats) {
  return names(choose(parse_list(kList).subjects, kernels, formats));
}

TEST(Subjects, are_the_hardened_ones_unless_named) {
  EXPECT_THAT(chosen({}, {}), ElementsAre("a.one.f16", "a.one.f32"));
  EXPECT_THAT(chosen({"*"}, {"f32"}), ElementsAre("a.one.f32", "a.two.f32"));
  EXPECT_THAT(chosen({"a.bad", "a.one"}, {"f16"}), ElementsAre("a.bad.f16", "a.one.f16"));
}

TEST(Subjects, a_glob_that_matches_nothing_is_a_usage_error_with_near_matches) {
  EXPECT_THAT(message_of<UsageError>([] { chosen({"a.onne"}, {}); }), HasSubstr("near: a.one"));
  EXPECT_THAT(message_of<UsageError>([] { chosen({}, {"f33"}); }), HasSubstr("unknown format"));
  EXPECT_THAT(message_of<UsageError>([] { chosen({"a.two"}, {"f16"}); }), HasSubstr("together nothing"));
}

TEST(Subjects, of_a_target_without_kernels) {
  const auto listed = parse_list("\tany\t\n").subjects;
  EXPECT_THAT(names(choose(listed, {}, {})), ElementsAre("all"));
  EXPECT_TRUE(expected_right(listed[0]));
}

TEST(Subjects, come_with_the_hash_of_the_tables_and_comments) {
  const TargetList list = parse_list(std::string("#tables 00ff\n# more\n") + kList);
  EXPECT_EQ(list.tables, "00ff");
  EXPECT_EQ(list.subjects.size(), 4U);
  EXPECT_EQ(parse_list(kList).tables, "");
}

TEST(Subjects, a_list_that_is_none_is_the_machines_fault) {
  for (const char* wrong : {"", "kernel", "kernel\tform", "a b\tform\tf32", "a\tform\tf32\textra", "#tables 00ff\n",
                            "#tables \na\tform\tf32", "#tables a b\na\tform\tf32", "\x1b[2J\tform\tf32"}) {
    const std::string said = message_of<InfrastructureError>([&] { parse_list(wrong); });
    EXPECT_THAT(said, HasSubstr("--list")) << wrong;
    EXPECT_EQ(said.find_first_of("\n\x1b"), std::string::npos);
  }
}

TEST(Subjects, names_of_files_stay_in_their_folder) {
  EXPECT_EQ(file_name("a/../b|c"), "a+..+b+c");
  EXPECT_EQ(file_name(".."), "+..");
  EXPECT_EQ(file_name(""), "+");
  EXPECT_LE(file_name(std::string(1000, 'a')).size(), 150U);
}

TEST(Subjects, every_key_of_a_finding_has_its_own_name) {
  Finding one;
  one.subject = {"softmax", "a.one", "f32", "cpu", "det"};
  one.what = "crash", one.term = "deadly signal in f(int)";
  Finding other = one;
  other.hits = 7, other.detail = "elsewhere";
  EXPECT_EQ(finding_name(one), finding_name(other));
  other.term = "deadly signal in f[int]";  // the readable part is the same
  EXPECT_NE(finding_name(one), finding_name(other));
  other = one, other.shape_class = "causal";
  EXPECT_NE(finding_name(one), finding_name(other));
}

}  // namespace
}  // namespace flashproof
