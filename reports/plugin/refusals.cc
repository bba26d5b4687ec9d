#include "reports/plugin/refusals.h"

#include <cmath>
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

/// What a kernel is asked again with: one that refuses by size of its numbers has to refuse all of these, and the families then,
/// whose numbers are mostly such ones.
constexpr Numbers kOthers[] = {{1, Numbers::uniform},
                               {0x1p-4, Numbers::normal},
                               {1, Numbers::normal},
                               {4, Numbers::normal},
                               {32, Numbers::normal}};

/// Empty, or under which circumstances the kernel takes what it has refused.
std::string taken_otherwise(const Kernel& kernel, const Problem& problem, const RunOptions& options, bool anew) {
  RunOptions other = options;
  if (takes(kernel, problem, other)) return "when it is asked again";
  for (const Numbers numbers : kOthers) {
    if (takes(kernel, with_numbers(problem, numbers, options.placement), other))
      return "with other numbers of the same shape";
  }
  other.placement = 0;
  if (takes(kernel, problem, other)) {
    return "where every tensor is aligned to 256 bytes, for which \"alignment\" in its description can ask";
  }
  if (!anew) return {};
  other = options;
  other.new_process = true;
  if (takes(kernel, problem, other)) return "in a new process";
  return takes(kernel, with_numbers(problem, kOthers[0], options.placement), other)
             ? "in a new process with other numbers"
             : "";
}

}  // namespace

Problem with_numbers(Problem problem, Numbers numbers, std::uint64_t seed) {
  constexpr std::uint64_t kStream = 0x706c61696e;
  Random random(seed, kStream);
  const auto* merge = std::get_if<MergeProblem>(&problem);
  const Tensor* sums = merge == nullptr ? nullptr : &merge->l;
  std::visit(
      [&](auto& p) {
        for_each_tensor(p, [&](const Field&, Tensor& tensor) {
          for_each_offset(tensor, [&](std::int64_t offset) {
            const double one = numbers.law == Numbers::normal ? random.normal() : random.uniform(-1, 1);
            const double drawn = numbers.scale * (&tensor == sums ? std::fabs(one) : one);
            tensor.set_bits(offset, encode(tensor.format, drawn));
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
