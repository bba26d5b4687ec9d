// The same source, compiled by g++ and run on fibers, compiled by nvcc and run here: every output bit equal (NaN as one value), on a
// case of every input family, for every kernel whose PTX is there.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "kernels/dense_features.h"
#include "kernels/ptx/test/twin_target.h"
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

void run_both(TwinTarget& target, const Kernel& kernel, const Case& made, Count& count) {
  Problem problem = made.problem;
  if (!kernel.supports(format_of(problem)) || !kernel.unsupported(problem).empty()) return;
  if (const AttentionProblem* attention = attention_of(problem);
      attention != nullptr && !has_dense_features(*attention))
    problem = with_dense_features(problem);
  const std::string what = std::string(kernel.id) + " on " + to_string(made.spec);
  Output ptx;
  try {
    ptx = target.run(kernel, problem);
  } catch (const NoSuchEntry&) {
    ++count.missing;
    return;
  } catch (const std::exception& error) {
    ADD_FAILURE() << what << ": " << error.what();
    return;
  }
  const Output fibers = run(kernel, problem);
  ++count.runs;
  for (const Part part : parts(kernel.problem))
    compare(what + " " + std::string(name(part)), fibers[part], ptx[part], count);
}

/// Every kernel whose PTX is there, with this math.
void compare_all(Math math, std::uint64_t least_runs) {
  TwinTarget target(FLASHPROOF_PTX_FOLDER);
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
    const Output ptx = TwinTarget(folder).run(kernel, problem), fibers = run(kernel, problem);
    Count count;
    for (const Part part : parts(kernel.problem)) compare("output", fibers[part], ptx[part], count);
    said = count.first;
  } catch (const LaunchFinding& finding) {
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
#endif

}  // namespace
}  // namespace flashproof::ptx
