#include "reports/plugin/refusals.h"

#include <string>

#include "properties/laws/support/change.h"
#include "properties/laws/support/layout.h"
#include "reference/problem/fields.h"
#include "reference/problem/random.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

bool takes(const Kernel& kernel, const Problem& problem, const RunOptions& options) {
  try {
    run(kernel, problem, options);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

/// Empty, or under which circumstances the kernel takes what it has refused.
std::string taken_otherwise(const Kernel& kernel, const Problem& problem, const RunOptions& options, bool anew) {
  RunOptions other = options;
  if (takes(kernel, problem, other)) return "when it is asked again";
  const Problem plain = with_plain_numbers(problem, options.placement);
  if (takes(kernel, plain, other)) return "with other numbers of the same shape";
  other.placement = 0;
  if (takes(kernel, problem, other)) {
    return "where every tensor is aligned to 256 bytes, for which \"alignment\" in its description can ask";
  }
  if (!anew) return {};
  other = options;
  other.new_process = true;
  if (takes(kernel, problem, other)) return "in a new process";
  return takes(kernel, plain, other) ? "in a new process with other numbers" : "";
}

}  // namespace

Problem with_plain_numbers(Problem problem, std::uint64_t seed) {
  constexpr std::uint64_t kStream = 0x706c61696e;
  Random random(seed, kStream);
  const auto* merge = std::get_if<MergeProblem>(&problem);
  const Tensor* sums = merge == nullptr ? nullptr : &merge->l;
  std::visit(
      [&](auto& p) {
        for_each_tensor(p, [&](const Field&, Tensor& tensor) {
          const double least = &tensor == sums ? 0 : -1;
          for_each_offset(tensor, [&](std::int64_t offset) {
            tensor.set_bits(offset, encode(tensor.format, random.uniform(least, 1)));
          });
        });
      },
      problem);
  return problem;
}

Runner runner_that_asks_again() {
  return [anew = true](const Kernel& kernel, const Problem& problem, const RunOptions& options) mutable {
    try {
      return run(kernel, problem, options);
    } catch (const UsageError& refused) {
      if (!kernel.foreign || !kernel.unsupported(problem).empty()) throw;
      const std::string how = taken_otherwise(kernel, problem, options, anew);
      anew = false;
      if (how.empty()) throw;
      throw KernelFault("the kernel refuses what it takes " + how + ": " + refused.what());
    }
  };
}

}  // namespace flashproof
