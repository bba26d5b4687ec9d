#include "fuzz/campaign/worker/crashes.h"

#include <gtest/gtest.h>

#include <csignal>

namespace flashproof {
namespace {

constexpr int exited(int code) { return code << 8; }

TEST(Deaths, of_every_kind) {
  const CrashReport nothing, sanitizer{"ERROR: x", "x", true};
  EXPECT_EQ(classify(exited(0), false, nothing), Ending::done);
  EXPECT_EQ(classify(exited(1), false, nothing), Ending::finding);
  EXPECT_EQ(classify(exited(1), false, sanitizer), Ending::sanitizer);  // its own code, where nobody set another
  EXPECT_EQ(classify(exited(2), false, nothing), Ending::usage);
  EXPECT_EQ(classify(exited(3), true, nothing), Ending::infrastructure);
  EXPECT_EQ(classify(exited(70), false, nothing), Ending::hang);
  EXPECT_EQ(classify(exited(71), false, nothing), Ending::memory);
  EXPECT_EQ(classify(exited(72), true, nothing), Ending::done);
  EXPECT_EQ(classify(exited(75), false, nothing), Ending::restart);
  EXPECT_EQ(classify(exited(77), false, nothing), Ending::crash);
  EXPECT_EQ(classify(exited(77), true, sanitizer), Ending::sanitizer);
  EXPECT_EQ(classify(exited(127), false, nothing), Ending::odd);
  EXPECT_EQ(classify(SIGSEGV, false, nothing), Ending::crash);
  EXPECT_EQ(classify(SIGSEGV, true, nothing), Ending::crash);  // we sent no such signal
  EXPECT_EQ(classify(SIGKILL, false, nothing), Ending::restart);
  EXPECT_EQ(classify(SIGKILL, true, nothing), Ending::done);
  EXPECT_EQ(classify(SIGTERM, true, nothing), Ending::done);
}

TEST(Deaths, a_report_is_the_same_wherever_it_happens) {
  const auto report = [](const char* folder, const char* address) {
    return read_report(std::string("INFO: seed\n==81==ERROR: AddressSanitizer: heap-buffer-overflow on address ") +
                       address + " at pc\n    #0 " + address + " in row_max " + folder + "softmax.cu:12:3\n" +
                       "SUMMARY: AddressSanitizer: heap-buffer-overflow " + folder +
                       "softmax.cu:12:3 in row_max\nmore\n");
  };
  const CrashReport here = report("/home/a/", "0x602000000051"), there = report("/srv/b c/kernels/", "0x7f0000000051");
  EXPECT_EQ(here.stable, "AddressSanitizer: heap-buffer-overflow softmax.cu:12:3 in row_max");
  EXPECT_TRUE(here.sanitizer);
  EXPECT_EQ(here.line, "==81==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000051 at pc");
  EXPECT_TRUE(there.stable.ends_with("softmax.cu:12:3 in row_max"));
}

TEST(Deaths, without_symbols_the_build_id_and_folder_go) {
  EXPECT_EQ(read_report("SUMMARY: AddressSanitizer: SEGV (/x/y/fuzz_softmax+0x1234) (BuildId: 00ff)\n").stable,
            "AddressSanitizer: SEGV (fuzz_softmax+0x1234)");
}

TEST(Deaths, of_a_signal_says_where) {
  const CrashReport report = read_report(
      "==9== ERROR: libFuzzer: deadly signal\n"
      "    #0 0x55 in __sanitizer_print_stack_trace (/x/fuzz+0x1)\n"
      "    #1 0x56 in fuzzer::Fuzzer::CrashCallback() (/x/fuzz+0x2)\n"
      "    #2 0x57  (/lib/x86_64-linux-gnu/libc.so.6+0x3c04f)\n"
      "    #3 0x58 in abort (/lib/x86_64-linux-gnu/libc.so.6+0x2)\n"
      "    #4 0x59 in flashproof::rescale(float) /a/kernels/x.cu:3:1\n"
      "    #5 0x5a in main /a/b.cc:3:1\n"
      "SUMMARY: libFuzzer: deadly signal\n");
  EXPECT_EQ(report.stable, "deadly signal in flashproof::rescale");
  EXPECT_FALSE(report.sanitizer);
}

TEST(Deaths, of_undefined_behaviour_is_a_sanitizers) {
  const CrashReport report = read_report(
      "/a/b.cc:3:5: runtime error: signed integer overflow: 1 + 2147483647\n"
      "SUMMARY: UndefinedBehaviorSanitizer: undefined-behavior /a/b.cc:3:5\n");
  EXPECT_TRUE(report.sanitizer);
  EXPECT_EQ(report.stable, "UndefinedBehaviorSanitizer: undefined-behavior b.cc:3:5");
}

TEST(Deaths, silence_leaves_the_signals_name) {
  EXPECT_EQ(read_report("").stable, "");
  EXPECT_EQ(crash_key(SIGABRT, {}), "ABRT");
  EXPECT_EQ(crash_key(exited(77), {}), "exit 77");
}

TEST(Deaths, hostile_logs_are_bounded) {
  const CrashReport report =
      read_report(std::string(1 << 20, '/') + "ERROR: \x1b[2J" + std::string(1 << 20, 'x') + "\nERROR: b");
  EXPECT_LT(report.line.size(), 400U);
  EXPECT_EQ(report.line.find('\x1b'), std::string::npos);
  EXPECT_LT(report.stable.size(), 200U);
}

}  // namespace
}  // namespace flashproof
