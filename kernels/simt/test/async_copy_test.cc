// cp.async, eager and lazy: what lands when, what is never awaited stays NaN, what misuse says.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/simt/cpu/executor.h"
#include "kernels/simt/cpu/matrix.h"

namespace flashproof::cpu {
namespace {

using simt::Fault;
using simt::FaultKind;

enum class Form : std::uint8_t { right, no_wait, no_commit, one_group_early };

/// Two copies of 16 bytes in two groups; what shared memory holds after them.
__global__ void copy_kernel(Form form, const float* in, float* out) {
  FP_SHARED(float, tile, 8);
  for (int i = 0; i < 8; ++i) tile[i] = -1;
  cp_async_16(tile, in, true);
  if (form != Form::no_commit) cp_async_commit();
  cp_async_16(tile + 4, in + 4, true);
  if (form != Form::no_commit) cp_async_commit();
  if (form == Form::one_group_early) cp_async_wait<1>();
  if (form == Form::right || form == Form::no_commit) cp_async_wait<0>();
  for (int i = 0; i < 8; ++i) out[i] = tile[i];
}

std::vector<float> copied(Form form, const char* schedule) {
  alignas(16) float in[8];
  std::iota(in, in + 8, 1.0F);
  std::vector<float> out(8);
  const simt::ScopedSchedule guard(simt::parse_schedule(schedule));
  launch(copy_kernel, 1, 1, 0, {}, form, static_cast<const float*>(in), out.data());
  return out;
}

const std::vector<float> kAll = {1, 2, 3, 4, 5, 6, 7, 8};

TEST(AsyncCopy, EagerCopiesLandAtOnceWhateverTheWaits) {
  for (const Form form : {Form::right, Form::no_wait, Form::no_commit, Form::one_group_early}) {
    EXPECT_EQ(copied(form, "fifo"), kAll);
  }
}

TEST(AsyncCopy, LazyCopiesLandAtTheirWait) {
  EXPECT_EQ(copied(Form::right, "fifo+lazy"), kAll);
  EXPECT_EQ(copied(Form::right, "random:7+lazy"), kAll);
}

TEST(AsyncCopy, WithoutWaitOrCommitLazyDataIsPoison) {
  for (const Form form : {Form::no_wait, Form::no_commit}) {
    for (const float x : copied(form, "fifo+lazy")) EXPECT_TRUE(std::isnan(x));
  }
  const std::vector<float> half = copied(Form::one_group_early, "fifo+lazy");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(half[i], i + 1);
  for (int i = 4; i < 8; ++i) EXPECT_TRUE(std::isnan(half[i]));
}

__global__ void zero_fill_kernel(float* out) {
  FP_DYNAMIC_SHARED(float, tile);
  cp_async_16(tile, nullptr, false);
  cp_async_commit();
  cp_async_wait<0>();
  for (int i = 0; i < 4; ++i) out[i] = tile[i];
}

TEST(AsyncCopy, WhatIsNotValidBecomesZeroAndIsNotRead) {
  for (const char* schedule : {"fifo", "fifo+lazy"}) {
    std::vector<float> out(4, 9);
    const simt::ScopedSchedule guard(simt::parse_schedule(schedule));
    launch(zero_fill_kernel, 1, 1, 16, {}, out.data());
    EXPECT_EQ(out, std::vector<float>(4, 0));
  }
}

/// Every block starts a copy that it never awaits; the next block must not see it land.
__global__ void abandon_kernel(const float* in, float* out) {
  FP_SHARED(float, tile, 4);
  if (blockIdx.x == 0) {
    cp_async_16(tile, in, true);
    cp_async_commit();
    return;
  }
  for (int i = 0; i < 4; ++i) tile[i] = 5;
  cp_async_commit();
  cp_async_wait<0>();
  for (int i = 0; i < 4; ++i) out[i] = tile[i];
}

TEST(AsyncCopy, CopiesOfABlockEndWithIt) {
  alignas(16) const float in[4] = {1, 1, 1, 1};
  std::vector<float> out(4);
  const simt::ScopedSchedule guard(simt::parse_schedule("fifo+lazy"));
  launch(abandon_kernel, 2, 1, 0, {}, static_cast<const float*>(in), out.data());
  EXPECT_EQ(out, std::vector<float>(4, 5));
}

enum class Misuse : std::uint8_t { to_misaligned, from_misaligned, to_global, past_the_end };

__global__ void misuse_kernel(Misuse misuse, float* global) {
  FP_SHARED(float, tile, 8);
  float* const to = misuse == Misuse::to_misaligned  ? tile + 1
                    : misuse == Misuse::to_global    ? global
                    : misuse == Misuse::past_the_end ? tile + 8
                                                     : tile;
  cp_async_16(to, misuse == Misuse::from_misaligned ? global + 2 : global, true);
}

void expect_fault(Misuse misuse, FaultKind kind, const char* part) {
  alignas(16) float global[8] = {};
  for (const char* schedule : {"fifo", "fifo+lazy"}) {
    const simt::ScopedSchedule guard(simt::parse_schedule(schedule));
    try {
      launch(misuse_kernel, 1, 1, 0, {}, misuse, static_cast<float*>(global));
      ADD_FAILURE() << "no fault: " << part;
    } catch (const Fault& fault) {
      const std::string message = fault.what();
      EXPECT_EQ(fault.kind, kind) << message;
      EXPECT_NE(message.find("async_copy_test.cc:"), std::string::npos) << message;
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }
}

TEST(AsyncCopy, MisuseFaults) {
  expect_fault(Misuse::to_misaligned, FaultKind::misaligned, "cp_async_16 to: address is 4 bytes past");
  expect_fault(Misuse::from_misaligned, FaultKind::misaligned, "cp_async_16 from: address is 8 bytes past");
  expect_fault(Misuse::to_global, FaultKind::bad_argument, "not in shared memory");
  expect_fault(Misuse::past_the_end, FaultKind::bad_argument, "not in shared memory");
  alignas(16) float here[4] = {};
  EXPECT_THROW(cp_async_16(here, here, true), Fault);
  EXPECT_THROW(cp_async_commit(), Fault);
  EXPECT_THROW(cp_async_wait<0>(), Fault);
}

TEST(AsyncCopy, TheScheduleSaysWhichInItsText) {
  EXPECT_EQ(simt::to_string(simt::parse_schedule("random:17+lazy")), "random:17+lazy");
  EXPECT_TRUE(simt::parse_schedule("bytes:00ff+lazy").lazy_copies);
  EXPECT_FALSE(simt::parse_schedule("lifo").lazy_copies);
  EXPECT_ANY_THROW(simt::parse_schedule("fifo+lazy+lazy"));
  EXPECT_ANY_THROW(simt::parse_schedule("+lazy"));
}

}  // namespace
}  // namespace flashproof::cpu
