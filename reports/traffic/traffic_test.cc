#include "reports/traffic/traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "reference/system/error.h"
#include "reference/system/test/temporary_folder.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

TEST(Traffic, claims_read_as_the_document_prints_them) {
  EXPECT_EQ(to_string(ElementCount{5, 2}), "5MN+2M");
  EXPECT_EQ(to_string(ElementCount{1, 0}), "MN");
  EXPECT_DOUBLE_EQ((ElementCount{5, 2}.in_mn(1024)), 5 + 2.0 / 1024);
  ASSERT_NE(find_claim("softmax.online_two_pass.hardened"), nullptr);
  EXPECT_EQ(find_claim("softmax.online_two_pass.hardened"), find_claim("softmax.online_two_pass.published"));
  EXPECT_EQ(find_claim("softmax.online_two_passes.published"), nullptr);
  EXPECT_EQ(find_claim("softmax"), nullptr);
}

// The chunk of online_two_pass is read for its maximum and again for its sum, and once more in pass 2: 3MN where the
// source, whose chunk stays in registers, claims 2MN. online_block holds the row in registers.
TEST(Traffic, counts_what_the_kernels_do) {
  for (const Format format : {Format::f32, Format::bf16}) {
    const CountedTraffic two_pass = count_traffic(*find_kernel("softmax.online_two_pass.hardened"), format, 3, 300);
    EXPECT_EQ(two_pass.reads, 3);
    EXPECT_EQ(two_pass.writes, 1);
    EXPECT_EQ(two_pass.distinct_reads, 1);
    const CountedTraffic block = count_traffic(*find_kernel("softmax.online_block.hardened"), format, 3, 300);
    EXPECT_EQ(block.reads, 1);
    EXPECT_EQ(block.writes, 1);
    EXPECT_EQ(block.distinct_writes, 1);
  }
  // Tensors of this size lie right beside the stacks of the threads.
  EXPECT_EQ(count_traffic(*find_kernel("softmax.online_block.hardened"), Format::f32, 16, 2048).distinct_writes, 1);
  // The published form drops the columns beyond the last multiple of 512: here all of them.
  const CountedTraffic dropped = count_traffic(*find_kernel("softmax.online_block.published"), Format::f32, 3, 300);
  EXPECT_EQ(dropped.reads, 0);
  EXPECT_EQ(dropped.writes, 0);
}

class Measured : public testing::Test {
 protected:
  std::string file(const std::string& text) const {
    const auto path = folder_ / "measured.csv";
    std::ofstream(path) << text;
    return path.string();
  }
  std::string error(const std::string& text) const {
    try {
      read_measured(file(text), Format::f32);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "(nothing was thrown)";
  }

 private:
  const TemporaryFolder temporary;
  const std::filesystem::path folder_ = temporary.path();
};

const std::string kHead = "kernel,format,rows,cols,dram_read,dram_write,requested_read,requested_write\n";
const std::string kKernel = "softmax.online_block.hardened";

TEST_F(Measured, bytes_become_units_of_mn) {
  const auto measured = read_measured(
      file(kHead + kKernel + ",f32,10,100,4000,8000,12000,2000\n" + kKernel + ",f16,10,100,1,1,1,1\n"), Format::f32);
  ASSERT_EQ(measured.size(), 1U);
  const MeasuredTraffic& m = measured.at(kKernel);
  EXPECT_EQ(m.rows, 10);
  EXPECT_EQ(m.dram_reads, 1);
  EXPECT_EQ(m.dram_writes, 2);
  EXPECT_EQ(m.requested_reads, 3);
  EXPECT_EQ(m.requested_writes, 0.5);
  const Kernel* const kernels[] = {find_kernel(kKernel)};
  const std::string table = traffic_table(kernels, Format::f32, 2, 64, measured);
  EXPECT_THAT(table, HasSubstr("measured at M = 10, N = 100"));
  EXPECT_THAT(table, HasSubstr("0.500"));
}

TEST_F(Measured, refuses_with_the_line) {
  EXPECT_THAT(error(""), HasSubstr("measured.csv:1: the first line"));
  EXPECT_THAT(error("kernel\n"), HasSubstr(":1: the first line"));
  EXPECT_THAT(error(kHead + "x,f32,1,1,1,1,1,1\n"), HasSubstr(":2: unknown kernel \"x\""));
  EXPECT_THAT(error(kHead + kKernel + ",f33,1,1,1,1,1,1\n"), HasSubstr("unknown format"));
  EXPECT_THAT(error(kHead + kKernel + ",f32,0,1,1,1,1,1\n"), HasSubstr("rows \"0\""));
  EXPECT_THAT(error(kHead + kKernel + ",f32,1,-1,1,1,1,1\n"), HasSubstr("cols \"-1\""));
  EXPECT_THAT(error(kHead + kKernel + ",f32,1,1,1,1,1\n"), HasSubstr("7 fields, expected 8"));
  EXPECT_THAT(error(kHead + kKernel + ",f32,1,1,1,1,1,1,1\n"), HasSubstr("requested_write"));
  EXPECT_THAT(error(kHead + kKernel + ",f32,1,1,1e3,1,1,1\n"), HasSubstr("dram_read \"1e3\""));
  EXPECT_THAT(error(kHead + kKernel + ",f32,1,1,1,1,1,1\n" + kKernel + ",f32,1,1,1,1,1,1\n"),
              HasSubstr(":3: " + kKernel + " a second time"));
  EXPECT_THROW(read_measured("/nonexistent.csv", Format::f32), UsageError);
}

}  // namespace
}  // namespace flashproof
