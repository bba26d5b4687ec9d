#include "reference/problem/witness/witness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "reference/problem/witness/samples.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

/// A directory of this test alone, removed at the end.
class WitnessFile : public testing::Test {
 protected:
  WitnessFile()
      : directory(fs::path(testing::TempDir()) / ("flashproof_" + std::to_string(::getpid()) + "_" +
                                                  testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(directory);
    fs::create_directories(directory);
  }
  ~WitnessFile() override { fs::remove_all(directory); }
  const fs::path directory;
};

std::vector<std::byte> bytes_of_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

TEST(Witness, RoundTripsEveryProblem) {
  for (const auto& [name, witness] : samples()) {
    const std::vector<std::byte> bytes = format_witness(witness);
    const Witness back = parse_witness(bytes, name);
    EXPECT_EQ(back, witness) << name << ": strides, storage size, gaps and notes included";
    EXPECT_EQ(format_witness(back), bytes) << name;
  }
}

TEST(Witness, RoundTripsEmptyProblems) {
  SoftmaxProblem softmax;
  softmax.x = Tensor::dense(Format::f32, {0, 3});
  softmax.plan = ChunkPlan::uniform(3, 3);
  AttentionProblem attention;
  attention.q = Tensor::dense(Format::f16, {1, 2, 0, 4});
  attention.k = attention.v = Tensor::dense(Format::f16, {1, 1, 0, 4});
  attention.scale = -0x1p-149F;
  attention.plan = ChunkPlan::uniform(0, 1);
  for (const Problem& problem : {Problem(softmax), Problem(attention)}) {
    Witness witness;
    witness.content.spec.problem = kind_of(problem);
    witness.content.spec.family = "empty";
    witness.content.problem = problem;
    EXPECT_EQ(parse_witness(format_witness(witness), "file"), witness);
  }
}

TEST(Witness, GapsComeBackAsPoison) {
  Witness witness = sample_softmax();
  Tensor& x = std::get<SoftmaxProblem>(witness.content.problem).x;
  x.storage[10] = std::byte{0};  // row 0 has 5 elements of 2 bytes: this is its padding
  EXPECT_EQ(parse_witness(format_witness(witness), "file"), sample_softmax());
}

TEST(Witness, RefusesToWriteWhatItCouldNotRead) {
  Witness witness = sample_softmax();
  witness.content.spec.problem = ProblemKind::merge;
  EXPECT_THROW(format_witness(witness), UsageError);
  witness = sample_softmax();
  witness.content.spec.family = "No family";
  EXPECT_THROW(format_witness(witness), UsageError);
  witness = sample_softmax();
  std::get<SoftmaxProblem>(witness.content.problem).row_length = {9, 9, 9};
  EXPECT_THROW(format_witness(witness), UsageError);
  witness = sample_softmax();
  witness.notes["Bad key"] = "";
  EXPECT_THROW(format_witness(witness), UsageError);
}

TEST(Witness, AGradientIsToldFromItsForwardProblem) {
  Witness forward = sample_backward();
  forward.content.problem = std::get<BackwardProblem>(sample_backward().content.problem).forward;
  EXPECT_THROW(format_witness(forward), UsageError) << "the line is a gradient's";
  forward.content.spec.problem = ProblemKind::attention;
  const auto bytes = format_witness(forward);
  EXPECT_EQ(parse_witness(bytes, "file"), forward);
  EXPECT_NE(bytes, format_witness(sample_backward()));
  Witness wrong = sample_backward();
  std::get<BackwardProblem>(wrong.content.problem).lse = Tensor::dense(Format::f32, {1, 2, 3});
  EXPECT_THROW(format_witness(wrong), UsageError);
}

TEST(Witness, NotesThatAreNotUtf8AreRepaired) {
  Witness witness = sample_softmax();
  witness.notes["verdict"] = "a\xff\x62";
  EXPECT_EQ(parse_witness(format_witness(witness), "file").notes["verdict"], "a\xef\xbf\xbd\x62");
}

TEST_F(WitnessFile, WritesAndReads) {
  const fs::path path = directory / "w.safetensors";
  write_witness(path, sample_attention());
  write_witness(path, sample_merge());  // over an existing one
  EXPECT_EQ(read_witness(path), sample_merge());
  EXPECT_EQ(std::distance(fs::directory_iterator(directory), {}), 1) << "a temporary file was left";
}

TEST_F(WitnessFile, ErrorsNameThePath) {
  const auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const UsageError& error) {
      return std::string("usage ") + error.what();
    } catch (const InfrastructureError& error) {
      return std::string("infrastructure ") + error.what();
    }
    return "nothing thrown";
  };
  const fs::path missing = directory / "missing";
  EXPECT_THAT(message([&] { read_witness(missing); }), StartsWith("usage " + missing.string() + ": "));
  EXPECT_THAT(message([&] { read_witness(directory); }), StartsWith("usage "));
  EXPECT_THAT(message([&] { read_witness("/dev/zero"); }), StartsWith("usage "));
  EXPECT_THAT(message([&] { write_witness(missing / "w", sample_merge()); }), StartsWith("infrastructure "));
  write_witness(directory / "w", sample_merge());
  fs::resize_file(directory / "w", 100);
  EXPECT_THAT(message([&] { read_witness(directory / "w"); }), HasSubstr("header length"));
  // Sparse: takes no room on the disk, and must be refused before it takes any in memory.
  fs::resize_file(directory / "w", std::uintmax_t{1} << 33);
  EXPECT_THAT(message([&] { read_witness(directory / "w"); }), HasSubstr("8589934592 bytes, must be at most"));
  EXPECT_EQ(message([&] { parse_witness({}, "a\nb"); }), "usage a\\x0ab: 0 bytes, a .safetensors file has at least 8");
}

TEST_F(WitnessFile, PlainTensors) {
  Tensor value = Tensor::strided(Format::f64, {2, 2}, {3, 1});
  for (std::int64_t i = 0; i < 4; ++i) value.set({i / 2, i % 2}, static_cast<double>(i) + 0.1);
  const fs::path path = directory / "truth.safetensors";
  write_tensors(path, {{"o", value}}, {{"case", "softmax:normal:1"}});
  const std::vector<std::byte> bytes = bytes_of_file(path);
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  const std::string text(reinterpret_cast<const char*>(bytes.data()) + 8, header);
  EXPECT_THAT(text, StartsWith(R"({"__metadata__":{"case":"softmax:normal:1"},)"
                               R"("o":{"data_offsets":[0,32],"dtype":"F64","shape":[2,2]}})"));
  ASSERT_EQ(bytes.size(), 8 + header + 32);
  double last = 0;
  std::memcpy(&last, bytes.data() + bytes.size() - 8, 8);
  EXPECT_EQ(last, 3.1) << "dense: the stride is gone";
}

// The files in the repository are what this code writes today: if this fails, the format changed and needs a version.
TEST(Witness, CorpusIsUpToDate) {
  for (const auto& [name, witness] : samples()) {
    const fs::path path = fs::path(FLASHPROOF_CORPUS) / (name + ".safetensors");
    EXPECT_EQ(bytes_of_file(path), format_witness(witness)) << path << ": write_samples makes it";
  }
}

}  // namespace
}  // namespace flashproof
