// Cases from campaigns and from property tests into the files of the source tree.
#include "fuzz/campaign/regressions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "fuzz/archive/archive.h"
#include "fuzz/input/elite_line.h"
#include "properties/generators/backward_case.h"
#include "properties/generators/family.h"
#include "reference/system/error.h"
#include "reference/system/test/temporary_folder.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Regressions : public testing::Test {
 protected:
  std::string read(const fs::path& file) const { return read_file(folder / file); }
  /// A campaign with one elite: the recipe with a change.
  fs::path campaign(const char* name, double ratio, const char* recipe, std::uint32_t change) const {
    FuzzInput input;
    input.origin.spec = parse_case_spec(recipe);
    input.origin.mutations = {{change, 1, 2}};
    const fs::path root = folder / name;
    fs::create_directories(root);
    Archive archive(root / "archive.sqlite", Archive::Open::create);
    Elite elite;
    elite.subject = {"merge", "merge.nway.hardened", "bf16", "cpu", "det"};
    elite.shape_class = "plain";
    elite.term = "o.weights";
    elite.ratio = ratio;
    elite.input = *encode_input(input);
    archive.offer(elite);
    elite.subject.target = "schedule";
    elite.subject.kernel = "somebody";
    archive.offer(elite);
    archive.flush();
    return root;
  }
  std::string refusal(const std::vector<std::string>& cases) const {
    try {
      add_seeds(cases, folder);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  const TemporaryFolder temporary;
  const fs::path folder = temporary.path();
};

TEST_F(Regressions, the_worst_of_all_campaigns_and_of_the_file_stays) {
  const fs::path file = folder / "elites.txt";
  const fs::path a = campaign("a", 0.5, "merge:normal:3:n=5", 77), b = campaign("b", 0.75, "merge:huge:4:rows=3", 78);
  write_regressions(std::vector{a}, file);
  EXPECT_THAT(read("elites.txt"),
              HasSubstr("\nmerge.nway.hardened bf16 o.weights 0.5 merge:normal:3:format=bf16,n=5 77:1:2\n"));
  write_regressions(std::vector{b}, file);
  const std::string worse = read("elites.txt");
  EXPECT_THAT(worse, HasSubstr("\nmerge.nway.hardened bf16 o.weights 0.75 merge:huge:4:format=bf16,rows=3 78:1:2\n"));
  EXPECT_THAT(worse, testing::Not(HasSubstr("merge:normal")));
  EXPECT_THAT(worse, testing::Not(HasSubstr("somebody"))) << "a schedule's input is no single case";
  write_regressions(std::vector{a}, file);
  EXPECT_EQ(read("elites.txt"), worse);
}

TEST_F(Regressions, a_line_is_read_as_it_was_written) {
  const EliteLine line = parse_elite_line("a.b f16 dq 0.125 attention:normal:7:sk=3 1:2:3 4:5:6");
  EXPECT_EQ(parse_elite_line(to_string(line)), line);
  EXPECT_EQ(line.origin.mutations.size(), 2U);
  for (const char* wrong :
       {"", "a", "a f32 o 0.5", "a f32 o x attention:normal:7", "a f32 o -1 attention:normal:7",
        "a f32 o nan attention:normal:7", "a f32 o 0.5 attention", "a f32 o 0.5 attention:normal:7 1:2"}) {
    EXPECT_THROW(parse_elite_line(wrong), UsageError) << wrong;
  }
}

TEST_F(Regressions, a_folder_without_a_campaign_and_a_file_of_something_else_are_refused) {
  EXPECT_THROW(write_regressions(std::vector{folder}, folder / "elites.txt"), UsageError);
  EXPECT_FALSE(fs::exists(folder / "elites.txt"));
  std::ofstream(folder / "other.txt") << "hello\n";
  EXPECT_THROW(write_regressions(std::vector{campaign("a", 0.5, "merge:normal:3:n=5", 1)}, folder / "other.txt"),
               UsageError);
  EXPECT_EQ(read("other.txt"), "hello\n");
}

TEST_F(Regressions, a_recipe_becomes_a_line_once) {
  std::ofstream(folder / "merge.txt") << "# seeds\nmerge:normal:1";  // without an end of line
  add_seeds(std::vector<std::string>{"merge:huge:7:n=5", "attention_backward:normal:3:sq=5"}, folder);
  add_seeds(std::vector<std::string>{"merge:huge:7:n=5", "merge:normal:1"}, folder);
  EXPECT_EQ(read("merge.txt"), "# seeds\nmerge:normal:1\nmerge:huge:7:n=5\n");
  EXPECT_EQ(read("backward.txt"), "attention_backward:normal:3:sq=5\n");
}

TEST_F(Regressions, a_witness_becomes_its_recipe_if_that_still_makes_it_else_an_input) {
  Case made = make_case(parse_case_spec("merge:normal:5:n=3,rows=2,dv=4,layout=padded"));
  write_witness(folder / "whole.safetensors", {made, {{"law", "within_bound"}}});
  std::get<MergeProblem>(made.problem).lse.set({0, 0}, 1.5);  // as a shrunk case differs from its recipe
  write_witness(folder / "shrunk.safetensors", {made, {}});
  add_seeds(std::vector<std::string>{(folder / "whole.safetensors").string()}, folder);
  EXPECT_EQ(read("merge.txt"), "merge:normal:5:dv=4,layout=padded,n=3,rows=2\n");
  add_seeds(std::vector<std::string>{(folder / "shrunk.safetensors").string()}, folder);
  ASSERT_TRUE(fs::is_directory(folder / "merge"));
  const fs::path input = *fs::directory_iterator(folder / "merge");
  const std::string bytes = read(input);
  const FuzzInput decoded =
      decode_input(ProblemKind::merge, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  ASSERT_TRUE(decoded.is_data());
  EXPECT_EQ(std::get<MergeProblem>(case_of(ProblemKind::merge, decoded).problem).lse.at({0, 0}), 1.5);
}

TEST_F(Regressions, a_recipe_with_an_extent_that_has_no_byte_becomes_an_input) {
  add_seeds(std::vector<std::string>{"softmax:normal:1:rows=1,cols=37",
                                     "attention_backward:normal:2:b=1,hq=1,hk=1,sq=1,sk=1,d=19,dv=1"},
            folder);
  EXPECT_FALSE(fs::exists(folder / "softmax.txt"));
  EXPECT_TRUE(fs::is_directory(folder / "softmax"));
  EXPECT_TRUE(fs::is_directory(folder / "backward"));
}

TEST_F(Regressions, what_is_no_case_is_refused_in_one_line) {
  EXPECT_THAT(refusal({"merge"}), HasSubstr("no family"));
  EXPECT_THAT(refusal({"merge:nothing:1"}), HasSubstr("nothing"));
  EXPECT_THAT(refusal({"merge:normal:1:n=banana"}), HasSubstr("banana"));
  EXPECT_THAT(refusal({(folder / "no.safetensors").string()}), HasSubstr("no.safetensors"));
  EXPECT_THAT(refusal({"softmax:normal:1:rows=7,cols=2000"}), HasSubstr("more than 4096 bytes"));
  EXPECT_TRUE(fs::is_empty(folder));
}

}  // namespace
}  // namespace flashproof
