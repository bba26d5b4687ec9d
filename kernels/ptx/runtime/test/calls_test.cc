// The entry points as nvcc's host code calls them, with a binary that is made here: no nvcc is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "kernels/ptx/runtime/abi.h"
#include "kernels/ptx/runtime/status.h"
#include "kernels/ptx/runtime/test/container.h"

extern "C" {
using flashproof::cudart::abi::Dim;
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*);
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int);
unsigned __cudaPushCallConfiguration(Dim grid, Dim block, std::size_t shared, void* stream);
int __cudaPopCallConfiguration(Dim* grid, Dim* block, std::size_t* shared, void* stream);
int cudaLaunchKernel(const void* kernel, Dim grid, Dim block, void** arguments, std::size_t shared, void* stream);
int cudaLaunchKernelExC(const flashproof::cudart::abi::LaunchConfig* config, const void* kernel, void** arguments);
int cudaFuncSetAttribute(const void* kernel, int attribute, int value);
int cudaFuncGetAttributes(flashproof::cudart::abi::FuncAttributes* attributes, const void* kernel);
int cudaMalloc(void** made, std::size_t bytes);
int cudaFree(void* data);
int cudaMemcpy(void* to, const void* from, std::size_t bytes, int direction);
int cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int direction);
int cudaDeviceSynchronize();
int cudaDeviceReset();
int cudaGetLastError();
int cudaPeekAtLastError();
int cudaGraphCreate();
int cudaGetDriverEntryPointByVersion(const char*, void**, unsigned, unsigned long long, int*);
}

namespace flashproof::cudart {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

constexpr int kToDevice = 1, kToHost = 2;

/// out[i] = factor * i for i < n; and a store of every thread to one place, of the thread's number.
constexpr const char* kPtx = R"(.version 8.0
.target sm_80
.address_size 64
.const .align 4 .f32 factor = 0f40000000;
.visible .entry scale(.param .u64 scale_0, .param .u32 scale_1) {
  .reg .pred %p<2>; .reg .b32 %r<3>; .reg .f32 %f<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [scale_0];
  ld.param.u32 %r1, [scale_1];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 bra DONE;
  cvt.rn.f32.u32 %f1, %r2;
  ld.const.f32 %f2, [factor];
  mul.rn.f32 %f3, %f1, %f2;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.f32 [%rd3], %f3;
DONE:
  ret;
}
.visible .entry racing(.param .u64 racing_0) {
  .reg .b32 %r<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [racing_0];
  mov.u32 %r1, %tid.x;
  st.global.u32 [%rd1], %r1;
  ret;
}
.visible .entry ordered(.param .u64 ordered_0) {
  .reg .b32 %r<3>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [ordered_0];
  mov.u32 %r1, %ctaid.x;
  atom.global.exch.b32 %r2, [%rd1], %r1;
  ret;
}
)";

class Cudart : public testing::Test {
 protected:
  Cudart() {
    ::setenv("FLASHPROOF_CUDART_ORDER", "both", 1);  // before the first call
    bytes_ = Container().ptx(80, kPtx, Packing::zstd).bytes();
    start();
  }
  ~Cudart() override {
    __cudaUnregisterFatBinary(handle_);
    cudaDeviceReset();
    cudaGetLastError();
  }

  /// What nvcc's constructors do.
  void start() {
    wrapper_.container = bytes_.data();
    handle_ = __cudaRegisterFatBinary(&wrapper_);
    for (char* one : {scale_, racing_, ordered_})
      __cudaRegisterFunction(handle_, one, one, one, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    __cudaRegisterVar(handle_, factor_, factor_, factor_, 0, 4, 1, 0);
    __cudaRegisterFatBinaryEnd(handle_);
  }
  static float* allocate(std::size_t bytes) {
    void* made = nullptr;
    EXPECT_EQ(cudaMalloc(&made, bytes), success);
    return static_cast<float*>(made);
  }
  /// What scale<<<grid, 128>>>(out, n) is.
  template <class... Arguments>
  static int launch(const char* kernel, Dim grid, Arguments... values) {
    std::array<void*, sizeof...(values)> arguments = {static_cast<void*>(&values)...};
    Dim popped_grid, block;
    std::size_t shared = 0;
    void* stream = nullptr;
    __cudaPushCallConfiguration(grid, {128, 1, 1}, 0, nullptr);
    EXPECT_EQ(__cudaPopCallConfiguration(&popped_grid, &block, &shared, static_cast<void*>(&stream)), success);
    return cudaLaunchKernel(kernel, popped_grid, block, arguments.data(), shared, stream);
  }
  /// What the call prints to stderr.
  template <class Call>
  static std::string printed(const Call& call) {
    testing::internal::CaptureStderr();
    call();
    return testing::internal::GetCapturedStderr();
  }

  struct {
    std::uint32_t magic = 0x466243b1, version = 1;
    const void *container = nullptr, *more = nullptr;
  } wrapper_;
  std::vector<std::byte> bytes_;
  void** handle_ = nullptr;
  char scale_[6] = "scale", racing_[7] = "racing", ordered_[8] = "ordered", factor_[7] = "factor";
};

TEST_F(Cudart, runs_a_kernel_on_memory_of_the_device) {
  float* out = allocate(400);
  ASSERT_EQ(launch(scale_, {1, 1, 1}, out, 100), success);
  std::array<float, 100> host{};
  ASSERT_EQ(cudaMemcpy(host.data(), out, 400, kToHost), success);
  for (std::size_t i = 0; i < host.size(); ++i) EXPECT_EQ(host[i], 2.0F * static_cast<float>(i));
  const float five = 5;
  ASSERT_EQ(cudaMemcpyToSymbol(factor_, &five, 4, 0, kToDevice), success);
  ASSERT_EQ(launch(scale_, {1, 1, 1}, out, 100), success);
  ASSERT_EQ(cudaMemcpy(host.data(), out, 400, kToHost), success);
  EXPECT_EQ(host[99], 495.0F);
  EXPECT_EQ(cudaDeviceSynchronize(), success);
  EXPECT_EQ(cudaFree(out), success);
}

TEST_F(Cudart, reports_an_access_outside_of_an_allocation_and_is_broken_from_then_on) {
  float* out = allocate(400);
  const std::string text = printed([&] { EXPECT_EQ(launch(scale_, {1, 1, 1}, out, 101), success); });
  EXPECT_THAT(text, HasSubstr("flashproof: scale <<<(1, 1, 1), (128, 1, 1), 0>>>: was ended by a finding\n"));
  EXPECT_THAT(text, HasSubstr(".ptx:17: writes 4 bytes at 0x"));
  EXPECT_THAT(text, ContainsRegex("[(]0 bytes behind the end of allocation [0-9]+ of cudaMalloc, 400 bytes[)]"));
  EXPECT_THAT(text, HasSubstr("thread (100, 0, 0)\n      st.global.f32 [%rd3], %f3;\n"));
  EXPECT_THAT(text, HasSubstr("every call returns cudaErrorIllegalAddress (700) from here on\n"));
  EXPECT_EQ(cudaDeviceSynchronize(), illegal_address);
  EXPECT_EQ(cudaGetLastError(), illegal_address);
  EXPECT_EQ(cudaGetLastError(), illegal_address);
  EXPECT_EQ(cudaFree(out), illegal_address);
  EXPECT_EQ(cudaDeviceReset(), success);
  EXPECT_EQ(cudaDeviceSynchronize(), success);
}

TEST_F(Cudart, reports_memory_of_the_host_and_freed_memory_by_argument) {
  std::vector<float> host(100);
  EXPECT_THAT(
      printed([&] { launch(scale_, {1, 1, 1}, host.data(), 100); }),
      HasSubstr("argument 1 is " + testing::PrintToString(static_cast<void*>(host.data())) + ": memory of the host"));
  cudaDeviceReset();
  float* out = allocate(400);
  cudaFree(out);
  EXPECT_THAT(printed([&] { launch(scale_, {1, 1, 1}, out, 100); }), HasSubstr("which was freed"));
}

TEST_F(Cudart, reports_races_and_results_that_depend_on_the_order_of_blocks) {
  float* out = allocate(400);
  EXPECT_THAT(printed([&] { launch(racing_, {1, 1, 1}, out); }), HasSubstr("race: writes 4 bytes"));
  EXPECT_EQ(cudaDeviceSynchronize(), launch_failure);
  cudaDeviceReset();
  out = allocate(400);
  EXPECT_THAT(
      printed([&] { launch(ordered_, {4, 1, 1}, out); }),
      ContainsRegex("byte 0 of allocation [0-9]+ of cudaMalloc, 400 bytes is another one when blocks and warps run"));
}

TEST_F(Cudart, refuses_what_cuda_refuses_and_goes_on) {
  float* out = allocate(400);
  std::array<void*, 1> arguments = {static_cast<void*>(&out)};
  const auto status = [&](Dim block, std::size_t shared) {
    int found = 0;
    EXPECT_NE(printed([&] { found = cudaLaunchKernel(racing_, {1, 1, 1}, block, arguments.data(), shared, nullptr); }),
              "");
    return found;
  };
  EXPECT_EQ(status({2048, 1, 1}, 0), invalid_configuration);
  EXPECT_EQ(cudaPeekAtLastError(), invalid_configuration);
  EXPECT_EQ(cudaGetLastError(), invalid_configuration);
  EXPECT_EQ(cudaGetLastError(), success);
  EXPECT_EQ(status({1, 1, 1}, 49153), invalid_value);
  EXPECT_EQ(cudaFuncSetAttribute(racing_, 8, 232448), success);
  EXPECT_EQ(cudaLaunchKernel(racing_, {1, 1, 1}, {1, 1, 1}, arguments.data(), 49153, nullptr), success);
  EXPECT_THAT(printed([&] { EXPECT_EQ(cudaFuncSetAttribute(racing_, 8, 232449), invalid_value); }),
              HasSubstr("legal: 0 to 232448"));
  EXPECT_THAT(printed([&] { EXPECT_EQ(launch("nothing", {1, 1, 1}, out), invalid_device_function); }),
              HasSubstr("is no kernel"));
  abi::LaunchAttribute cluster{4, {}, {2, 1, 1}};
  const abi::LaunchConfig config{{2, 1, 1}, {1, 1, 1}, 0, nullptr, &cluster, 1};
  EXPECT_THAT(printed([&] { EXPECT_EQ(cudaLaunchKernelExC(&config, racing_, arguments.data()), not_supported); }),
              HasSubstr("a cluster of 2 x 1 x 1 blocks, legal: 1"));
}

TEST_F(Cudart, checks_what_is_copied_where) {
  float* out = allocate(400);
  std::array<float, 200> host{};
  const auto text = [&](void* to, const void* from, std::size_t bytes, int direction) {
    return printed([&] { EXPECT_EQ(cudaMemcpy(to, from, bytes, direction), invalid_value); });
  };
  EXPECT_THAT(text(host.data(), out, 404, kToHost), HasSubstr("cudaMemcpy: the source: 404 bytes at "));
  EXPECT_THAT(text(out, host.data(), 400, kToHost), HasSubstr("is memory of the device, not of the host"));
  EXPECT_THAT(text(host.data(), host.data(), 4, kToDevice),
              HasSubstr("is no memory of the device: memory of the host"));
  EXPECT_THAT(printed([&] { EXPECT_EQ(cudaMemcpyToSymbol(factor_, host.data(), 8, 0, kToDevice), invalid_value); }),
              HasSubstr("8 bytes from byte 0 of factor, which has 4 bytes"));
}

TEST_F(Cudart, refuses_by_name_what_is_not_there) {
  EXPECT_EQ(printed([&] { EXPECT_EQ(cudaGraphCreate(), not_supported); }),
            "flashproof: cudaGraphCreate: is not there on this device, which executes PTX on the CPU\n");
  void* function = nullptr;
  int found = -1;
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, 0, &found), success);
  EXPECT_TRUE(function != nullptr && found == 0);
  EXPECT_THAT(printed([&] { cudaGetDriverEntryPointByVersion("cuMemMap", &function, 12000, 0, &found); }),
              HasSubstr("cuMemMap of the driver is not there"));
  EXPECT_TRUE(function == nullptr && found == 1);
}

TEST_F(Cudart, says_which_flag_a_binary_without_ptx_lacks) {
  __cudaUnregisterFatBinary(handle_);
  bytes_ = Container().cubin(90).bytes();
  start();
  float* out = allocate(400);
  EXPECT_THAT(printed([&] { EXPECT_EQ(launch(scale_, {1, 1, 1}, out, 100), no_kernel_image); }),
              HasSubstr("compile with -gencode arch=compute_90,code=compute_90"));
}

}  // namespace
}  // namespace flashproof::cudart
