// The figure is from above, by what the kernel counts as resident, and refused in one line.
#include "reference/oracle/gpu/certification_memory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "reference/oracle/gpu/certification.h"
#include "reference/oracle/gpu/gpu_tier.h"
#include "reference/system/error.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FLASHPROOF_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FLASHPROOF_SANITIZED 1
#endif
#endif

namespace flashproof {
namespace {

std::string refusal(const ProductionShape& shape, const CertificationRows& rows, int threads, std::int64_t limit) {
  try {
    require_certification_memory(shape, rows, threads, limit);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

TEST(CertificationMemory, TheOptionThatDrivesItIsNamed) {
  const auto starts = [](const std::string& text, const std::string& with) { return text.starts_with(with); };
  const ProductionShape usual{.format = Format::f32};
  EXPECT_EQ(refusal(usual, {.count = 256}, 2, 8 * kGiB), "");
  EXPECT_TRUE(starts(refusal({.heads = 8, .kv_heads = 8, .length = 1 << 20, .depth = 128, .format = Format::f32},
                             {.count = 1}, 2, 8 * kGiB),
                     "--length 1048576: certify would need "));
  EXPECT_TRUE(starts(refusal({.heads = 65535, .kv_heads = 65535, .length = 256, .depth = 128, .format = Format::f32},
                             {.count = 1}, 2, 8 * kGiB),
                     "--heads 65535: certify would need "));
  EXPECT_TRUE(starts(refusal(usual, {.count = 8192}, 2, kGiB), "--rows 8192: certify would need "));
}

// The figures are doubles: no product of extents overflows.
TEST(CertificationMemory, LargestShapesHaveAFigure) {
  const ProductionShape most{.heads = 16, .kv_heads = 16, .length = 1 << 20, .depth = 127, .format = Format::f32};
  const double bytes = certification_bytes(most, {.count = 1 << 20}, 4096);
  EXPECT_GT(bytes, 16.0 * 0x1p20 * 127 * (3 * 4 + 2 * 32));
  EXPECT_LT(bytes, 0x1p45);
}

// What a GPU certifies by default, and on the host: q, k and v are 402 MB.
TEST(CertificationMemory, ThirtyTwoHeadsOfF32PassOnAGpu) {
  const ProductionShape shape{.heads = 32, .kv_heads = 32, .length = 8192, .depth = 128, .format = Format::f32};
  const double bytes = certification_bytes(shape, {.gpu = true, .count = 64}, 128);
  EXPECT_GT(bytes, 3.0 * 32 * 8192 * 128 * 4);
  EXPECT_LT(bytes, 8.0 * kGiB);
  // q, o and radii of 262144 rows; k and v of as many keys.
  EXPECT_GT(gpu_tier_bytes(production_outline(shape)), 5.0 * 32 * 8192 * 128 * 8);
}

std::int64_t kilobytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1));
  }
  return -1;
}

TEST(CertificationMemory, IsFromAbove) {
#ifdef FLASHPROOF_SANITIZED
  GTEST_SKIP() << "a sanitizer's own memory is resident too";
#endif
  if (!has_fp64_tier()) GTEST_SKIP() << "no AVX2 and FMA";
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak begins again
  const std::int64_t before = kilobytes("VmRSS");
  if (before < 0 || kilobytes("VmHWM") > before + 4096) GTEST_SKIP() << "the peak cannot be read";
  const ProductionShape shape{.heads = 4, .kv_heads = 4, .length = 4096, .depth = 128, .format = Format::f32};
  const Certification result = certify_on_cpu(production_problem(shape, Threads(2)), 256, 1, Threads(2));
  EXPECT_EQ(result.fault(), "");
  const double grown = 1024.0 * static_cast<double>(kilobytes("VmHWM") - before);
  EXPECT_LE(grown, certification_bytes(shape, {.count = 256}, 2));
  EXPECT_GE(grown, 2.0 * 4 * 4096 * 128 * 4) << "the measure saw no inputs";
}

}  // namespace
}  // namespace flashproof
