// Runs one instruction on many inputs, for the tests of forms.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace flashproof::ptx {

/// One input of an instruction: up to three operands of 64 bits.
struct Input {
  std::uint64_t a = 0, b = 0, c = 0;
};

/// The instruction reads %d1..%d3 (b64), %w1..%w3 (b32, their low halves), %h1..%h3 (b16) or %p1..%p3 (their bits 0), and writes %od,
/// %ow, %oh or %q: the result, zero-extended, for each input.
std::vector<std::uint64_t> run_form(const std::string& instruction, const std::vector<Input>& inputs);

/// The instruction's result for each input is `expected`; says for which it first is not.
void expect_form(const std::string& instruction, const std::vector<Input>& inputs,
                 const std::function<std::uint64_t(const Input&)>& expected);

/// Each of these operands alone, or every pair or triple of them.
std::vector<Input> tuples_of(const std::vector<std::uint64_t>& values, int operands);
/// Every pair, or triple, of nasty f32, and random ones.
std::vector<Input> float_inputs(int operands);
/// The same of integers of so many bits; `shifts`: the last operand is small more often than not.
std::vector<Input> integer_inputs(int bits, int operands, bool shifts = false);

/// The text of a module around this body, whose entry "k" has the parameters a, b, c, o (u64) and n (u32); %i is the thread's number.
std::string module_of(const std::string& body);

/// What running `ptx` says: its findings, one a line, or the refusal; "" if all went well.
struct RunResult {
  std::string said;
  std::uint64_t instructions = 0;
  std::string printed = {};  // by printf
};
RunResult run_module(const std::string& ptx, std::vector<std::uint64_t>& a, std::vector<std::uint64_t>& o,
                     unsigned blocks, unsigned threads, unsigned dynamic_shared = 0,
                     std::int64_t max_instructions = 50'000'000);

/// The same of a body that threads share memory in: %n, the thread's number in its block; %w1, its place in 1024 bytes of shared memory s, %w2 that
/// of the thread 32 further on or back; %C, the first of 256 elements 77, and %O, the thread's own; %p1, whether it is of the first warp.
std::string said_of_threads(const std::string& body, unsigned threads = 64, unsigned blocks = 1);

}  // namespace flashproof::ptx
