// The same source, compiled by g++ and run on fibers, compiled by nvcc and run here: every output bit equal (NaN as one value), on a
// case of every input family, for every kernel whose PTX is there.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "kernels/ptx/test/own_run.h"
#include "kernels/run/run.h"
#include "properties/generators/family.h"
#include "reference/problem/random.h"
#include "reference/system/error.h"
#include "reference/system/read_file.h"

#ifndef FLASHPROOF_PTX_FOLDER
#error "the folder with the PTX files"
#endif

namespace flashproof::ptx {
namespace {

struct Count {
  std::uint64_t runs = 0, values = 0, different = 0, missing = 0;
  std::string first;
};

void compare(const std::string& what, const Tensor& fibers, const Tensor& ptx, Count& count) {
  for (std::int64_t i = 0; i < fibers.elements(); ++i) {
    const std::uint64_t a = fibers.bits(i), b = ptx.bits(i);
    ++count.values;
    if (a == b || (std::isnan(decode(fibers.format, a)) && std::isnan(decode(ptx.format, b)))) continue;
    if (count.different++ == 0) count.first = fmt::format("{}[{}]: fibers {:#x}, ptx {:#x}", what, i, a, b);
  }
}

/// `finding`: where a finding of the launch goes; null: it is a failure.
void run_both(OwnKernels& target, const Kernel& kernel, const Case& made, Count& count,
              std::string* finding = nullptr) {
  const Problem& problem = made.problem;
  if (!kernel.supports(format_of(problem)) || !kernel.unsupported(problem).empty()) return;
  const std::string what = std::string(kernel.id) + " on " + to_string(made.spec);
  Output ptx;
  try {
    ptx = run_as_ptx(target, kernel, problem);
  } catch (const NoSuchEntry&) {
    ++count.missing;
    return;
  } catch (const std::exception& error) {
    if (finding == nullptr) ADD_FAILURE() << what << ": " << error.what();
    if (finding != nullptr) *finding = error.what();
    return;
  }
  const Output fibers = run(kernel, problem);
  ++count.runs;
  for (const Part part : parts(kernel.problem))
    compare(what + " " + std::string(name(part)), fibers[part], ptx[part], count);
}

/// Every kernel whose PTX is there, with this math.
void compare_all(Math math, std::uint64_t least_runs) {
  OwnKernels target(FLASHPROOF_PTX_FOLDER);
  std::map<std::string, Count> counts;
  for (const Kernel& declared : kernels()) {
    if (declared.fault != nullptr || declared.form == flashproof::Form::broken || !declared.contract.deterministic)
      continue;
    Kernel kernel = declared;
    kernel.math = math;
    Count& count = counts[std::string(kernel.id)];
    for (const Family& family : families()) {
      if (!family.serves(kernel.problem)) continue;
      for (const Format format : kernel.formats) {
        CaseSpec spec{kernel.problem, std::string(family.name), 1, {{"format", std::string(info(format).name)}}};
        try {
          run_both(target, kernel, make_case(spec), count);
        } catch (const UsageError&) {  // a family with formats of its own
        }
      }
    }
  }
  Count all;
  std::string table;
  for (const auto& [id, count] : counts) {
    EXPECT_EQ(count.different, 0U) << count.first;
    all.runs += count.runs;
    all.values += count.values;
    if (count.runs > 0)
      table +=
          fmt::format("{}: {} runs, {} values, {} runs without PTX\n", id, count.runs, count.values, count.missing);
  }
  std::printf("%s%zu entries, %lu runs, %lu values, %lu million instructions\n", table.c_str(), target.entries(),
              all.runs, all.values, target.instructions() / 1000000);
  EXPECT_GE(all.runs, least_runs) << "too little of it was compared";
}

TEST(Twin, fibers_and_ptx_have_the_same_bits) { compare_all(Math::det, FLASHPROOF_PTX_LEAST_RUNS); }

/// A case of every family, and one of several warps and a width that no entry has for its own.
std::vector<CaseSpec> cases_of(const Kernel& kernel, Format format) {
  const std::string name(info(format).name);
  std::vector<CaseSpec> list;
  for (const Family& family : families()) {
    if (family.serves(kernel.problem))
      list.push_back({kernel.problem, std::string(family.name), 1, {{"format", name}}});
  }
  if (kernel.problem == ProblemKind::attention)
    list.push_back(parse_case_spec("attention:normal:1:sq=40,sk=200,d=80,dv=72,chunk=64,format=" + name));
  return list;
}

/// What the first case that shows anything says of the kernels that file `stem` replaces, with this text for its own: a finding, or a bit
/// that differs; "" if none does.
std::string first_sign(const std::string& stem, const std::string& text) {
  std::string folder = testing::TempDir() + "ptx-XXXXXX";
  EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/k.ptx") << text;
  OwnKernels target(folder);
  std::string said;
  for (const Kernel& kernel : kernels()) {
    std::string id(kernel.id);
    std::ranges::replace(id, '.', '_');
    if (kernel.fault != nullptr || kernel.form == flashproof::Form::broken || !id.starts_with(stem)) continue;
    for (const Format format : kernel.formats) {
      for (const CaseSpec& spec : cases_of(kernel, format)) {
        Count count;
        try {
          if (said.empty()) run_both(target, kernel, make_case(spec), count, &said);
        } catch (const UsageError&) {  // a family with formats of its own
        }
        if (said.empty()) said = count.first;
      }
    }
  }
  std::filesystem::remove_all(folder);
  return said;
}

/// Barriers that order nothing: behind them no thread writes what was read before.
constexpr std::pair<std::string_view, int> kRedundant[] = {{"softmax_three_pass.ptx", 1},
                                                           {"softmax_three_pass.ptx", 3},
                                                           {"softmax_split_row.ptx", 1},
                                                           {"softmax_split_row.ptx", 3}};

/// One file after another, every barrier of it by itself. The gradient's kernels are launched with one that no file has.
TEST(Twin, a_barrier_that_is_missing_is_found) {
  int deleted = 0, races = 0;
  for (const auto& file : std::filesystem::directory_iterator(FLASHPROOF_PTX_FOLDER)) {
    const std::string name = file.path().filename().string();
    if (!name.ends_with(".ptx") || name.find(".native") != std::string::npos || name.starts_with("attention_backward"))
      continue;
    const std::string text = read_file(file.path().string(), 16 << 20);
    int number = 0;
    for (std::size_t at = text.find("bar.sync"); at != std::string::npos;
         at = text.find("bar.sync", at + 1), ++number) {
      std::string without = text;
      without.replace(at, 2, "//");
      const std::string said = first_sign(file.path().stem().string(), without);
      const bool redundant =
          std::ranges::find(kRedundant, std::pair(std::string_view(name), number)) != std::end(kRedundant);
      EXPECT_EQ(said.empty(), redundant) << name << " without its barrier " << number << ": " << said;
      ++deleted;
      races += said.find("race: ") != std::string::npos ? 1 : 0;
    }
  }
  std::printf("%d barriers deleted, %d of them told as races\n", deleted, races);
  EXPECT_GT(deleted, 20);
}

#if defined(FLASHPROOF_PTX_LEAST_NATIVE_RUNS)
TEST(Twin, the_same_with_native_math) { compare_all(Math::native, FLASHPROOF_PTX_LEAST_NATIVE_RUNS); }

Problem mma_problem() {
  AttentionProblem p;
  p.q = Tensor::dense(Format::f16, {1, 1, 40, 64});
  p.k = Tensor::dense(Format::f16, {1, 1, 200, 64});
  p.v = Tensor::dense(Format::f16, {1, 1, 200, 64});
  Random random(1, 0);
  for (Tensor* tensor : {&p.q, &p.k, &p.v}) {
    for (std::int64_t i = 0; i < tensor->elements(); ++i) tensor->set_bits(i, encode(Format::f16, random.normal()));
  }
  p.scale = 0.125F;
  p.plan = ChunkPlan::uniform(200, 64);
  return p;
}

/// What a run of the text says, "" where every bit is that of the fibers.
std::string outcome(const std::string& text, const Problem& problem) {
  std::string folder = testing::TempDir() + "ptx-XXXXXX";
  EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/k.ptx") << text;
  const Kernel& kernel = *find_kernel("attention.mma_f16.hardened");
  std::string said;
  try {
    OwnKernels target(folder);
    const Output ptx = run_as_ptx(target, kernel, problem), fibers = run(kernel, problem);
    Count count;
    for (const Part part : parts(kernel.problem)) compare("output", fibers[part], ptx[part], count);
    said = count.first;
  } catch (const KernelFault& finding) {
    said = finding.what();
  }
  std::filesystem::remove_all(folder);
  return said;
}

TEST(Twin, a_wait_for_copies_that_is_missing_is_found) {
  const std::string all = read_file(FLASHPROOF_PTX_FOLDER "/attention_mma.ptx", 16 << 20);
  const std::size_t second = all.find(".visible .entry", all.find(".visible .entry") + 1);
  const std::string text = all.substr(0, second);  // the entry for d = 64
  const Problem problem = mma_problem();
  EXPECT_EQ(outcome(text, problem), "");
  std::size_t waits = 0, found = 0;
  for (std::size_t at = 0; (at = text.find("cp.async.wait_group", at)) != std::string::npos; ++at, ++waits) {
    std::string without = text;
    without.replace(at, text.find('\n', at) - at, "");
    const std::string said = outcome(without, problem);
    if (said.find("a cp.async writes which was not waited for") != std::string::npos) {
      ++found;
    } else {
      EXPECT_EQ(said, "");
      EXPECT_EQ(text.find("ldmatrix", at), std::string::npos);
    }
  }
  EXPECT_EQ(waits, 3U);
  EXPECT_EQ(found, 2U) << "the one at the end of the kernel has nothing to wait for";
}

// As the fibers have it: a launch that CUDA would refuse is a finding, no refusal of the kernel's.
TEST(Twin, a_launch_that_is_refused_is_a_finding) {
  std::string text = read_file(FLASHPROOF_PTX_FOLDER "/attention_mma.ptx", 16 << 20);
  for (std::size_t at = 0; (at = text.find(".maxntid 128", at)) != std::string::npos;)
    text.replace(at, 12, ".maxntid 32");
  EXPECT_THAT(outcome(text, mma_problem()), testing::HasSubstr("32"));
}
#endif

}  // namespace
}  // namespace flashproof::ptx
