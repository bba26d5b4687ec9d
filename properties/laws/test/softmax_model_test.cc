// The declaration is the code: every softmax kernel's output on the CPU is, bit by bit, what the executable model of its
// declared arithmetic computes with the kernels' own exponential and logarithm.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/run/run.h"
#include "kernels/simt/det_math/det_math.h"
#include "properties/generators/family.h"
#include "reference/bound/bound.h"
#include "reference/model/model.h"

namespace flashproof {
namespace {

const Functions kDetFunctions = {.exp = [](float x) { return cpu::det_exp(x); },
                                 .exp2 = [](float x) { return cpu::det_exp2(x); },
                                 .log = [](float x) { return cpu::det_log(x); },
                                 .log2 = [](float x) { return cpu::det_log2(x); }};

/// Any NaN for any NaN: payloads are not arithmetic.
bool same(const Tensor& a, const Tensor& b, std::int64_t at) {
  return a.bits(at) == b.bits(at) ||
         (std::isnan(decode(a.format, a.bits(at))) && std::isnan(decode(b.format, b.bits(at))));
}

struct ModelCounts {
  std::int64_t elements = 0, different = 0;
  std::int64_t refused = 0;  // rows made NaN because they leave the range of an unshifted form
  std::string first;         // difference
};

/// A row that the kernel may refuse and does is only counted; refused inside the range it is a difference.
void compare(const Kernel& kernel, const Arithmetic& declared, const Problem& problem, const std::string& what,
             ModelCounts& tally) {
  const Output made = run(kernel, problem);
  const Output modelled = run_model(problem, declared, {.functions = &kDetFunctions});
  const OutputShape shape = output_shape(problem);
  const Bound bound = kernel.contract.refuses_beyond_range ? compute_bound(problem, declared) : Bound{};
  for (std::int64_t r = 0; r < shape.rows; ++r) {
    const bool refused =
        kernel.contract.refuses_beyond_range && std::isnan(made.lse.at({r})) && !same(made.lse, modelled.lse, r);
    if (refused && !bound.domain[static_cast<std::size_t>(r)].form.holds()) {
      ++tally.refused;
      continue;
    }
    std::int64_t different = same(made.lse, modelled.lse, r) ? 0 : 1;
    for (std::int64_t c = 0; c < shape.width; ++c) {
      different += same(made.o, modelled.o, r * shape.width + c) ? 0 : 1;
    }
    tally.elements += shape.width + 1;
    tally.different += different;
    if (different > 0 && tally.first.empty()) tally.first = what + " row " + std::to_string(r);
  }
}

std::string line_of(std::string_view family, std::uint64_t seed, const char* format, bool whole_blocks) {
  return "softmax:" + std::string(family) + ":" + std::to_string(seed) + ":format=" + format +
         (whole_blocks ? ",cols=512" : "");
}

ModelCounts agreement(const Kernel& kernel, const Arithmetic& declared, std::uint64_t seeds) {
  ModelCounts tally;
  // What is published is the arithmetic of rows in which nothing special happens.
  const bool published = kernel.form == Form::published;
  for (const Family& family : families()) {
    if (!family.serves(ProblemKind::softmax)) continue;
    if (published && family.name != "normal" && family.name != "descending" && family.name != "chunk_order") continue;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      for (const char* format : {"f32", "f16", "bf16"}) {
        const std::string line = line_of(family.name, seed, format, published);
        const Problem problem = make_case(parse_case_spec(line)).problem;
        if (kernel.unsupported(problem).empty()) compare(kernel, declared, problem, line, tally);
      }
    }
  }
  return tally;
}

TEST(SoftmaxModel, every_kernel_is_its_declaration_bit_by_bit) {
  std::int64_t refused = 0;
  for (const Kernel& kernel : kernels()) {
    if (kernel.problem != ProblemKind::softmax || kernel.form == Form::broken) continue;
    const ModelCounts tally = agreement(kernel, kernel.arithmetic, 2);
    EXPECT_EQ(tally.different, 0) << kernel.id << ": of " << tally.elements << ", first in " << tally.first;
    EXPECT_GE(tally.elements, 5000) << kernel.id;
    refused += tally.refused;
  }
  EXPECT_GE(refused, 10) << "no row leaves the range of the unshifted forms";
}

TEST(SoftmaxModel, long_rows_are_too) {
  const struct {
    const char* kernel;
    const char* line;
  } cases[] = {
      {"softmax.fused_row.hardened", "softmax:normal:0:rows=1,cols=20000,layout=dense"},
      {"softmax.fused_row.hardened", "softmax:normal:1:rows=1,cols=32765,layout=padded"},
      {"softmax.fused_row.hardened", "softmax:normal:2:rows=1,cols=65536,format=bf16,layout=dense"},
      {"softmax.fused_row.hardened", "softmax:normal:3:rows=1,cols=30000,format=f16,layout=dense"},
      {"softmax.split_row.hardened", "softmax:normal:4:rows=1,cols=131072,chunk=8192,layout=dense"},
      {"softmax.split_row.hardened", "softmax:normal:5:rows=1,cols=100000,chunk=30000,format=bf16,layout=dense"}};
  for (const auto& c : cases) {
    ModelCounts tally;
    const Kernel& kernel = *find_kernel(c.kernel);
    compare(kernel, kernel.arithmetic, make_case(parse_case_spec(c.line)).problem, c.line, tally);
    EXPECT_EQ(tally.different, 0) << c.kernel << " " << c.line;
  }
}

TEST(SoftmaxModel, a_declaration_of_another_order_is_found) {
  const auto differences = [](const char* id, const auto& change) {
    const Kernel& kernel = *find_kernel(id);
    Arithmetic other = kernel.arithmetic;
    change(other);
    return agreement(kernel, other, 1).different;
  };
  EXPECT_GT(differences("softmax.warp_per_row.hardened", [](Arithmetic& a) { a.vector_bytes = 0; }), 0);
  EXPECT_GT(
      differences("softmax.online_chunk.hardened", [](Arithmetic& a) { a.reduction = Reduction::chunked_online; }), 0);
  EXPECT_GT(differences("softmax.safe.hardened", [](Arithmetic& a) { a.warps = 1; }), 0);
  EXPECT_GT(differences("softmax.fused_row.hardened", [](Arithmetic& a) { a.ending = Ending::divide; }), 0);
}

}  // namespace
}  // namespace flashproof
