#include "reference/oracle/gpu/certification_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "reference/oracle/double_double/double_double_tier.h"
#include "reference/oracle/fp64/attention.h"
#include "reference/oracle/gpu/gpu_tier.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

// Truths alive at a time: values and their Σ p|v| on the CPU; device, host and planted ones with a GPU.
constexpr double kCpuTruths = 2, kGpuTruths = 3;
constexpr double kBall = sizeof(Ball);  // four columns need less
// Of a row: its tier and cause in each truth, the list of rows (grown by doubling: old and new), the list of those with
// a radius, and a node of the set that the sample is drawn into.
constexpr double kRow = 256;
constexpr double kWorker = 4 << 20;  // of a thread, whatever it does: stacks and pages of allocators and libraries

struct Option {
  std::string name;
  std::int64_t value;
};
std::string larger(const Option& a, const Option& b) {
  const Option& most = a.value >= b.value ? a : b;
  return fmt::format("{} {}", most.name, most.value);
}

struct Share {
  double bytes;
  std::string what, option;
};

double gib(double bytes) { return bytes * 0x1p-30; }

std::array<Share, 3> shares(const ProductionShape& shape, const CertificationRows& chosen, int threads) {
  const AttentionProblem problem = production_outline(shape);
  const Option heads{"--heads", shape.heads}, length{"--length", shape.length};
  const std::int64_t all = shape.heads * shape.length;
  const std::int64_t rows =
      chosen.gpu ? std::min(chosen.count, all) : shape.heads * std::min(chosen.count, shape.length);
  // No row: what the threads need whatever the rows.
  const auto scratch = static_cast<double>(fp64_attention_memory(problem, 0, threads));
  const auto states = static_cast<double>(fp64_attention_memory(problem, rows, threads)) - scratch;
  const auto slow = static_cast<double>(double_double_tier_bytes(problem));
  double inputs = 0;
  for (const Tensor* tensor : {&problem.q, &problem.k, &problem.v}) {
    inputs += static_cast<double>(storage_bytes(tensor->format, tensor->shape, tensor->stride));
  }
  // The plan's chunks; what a query sees, which is uploaded.
  inputs += static_cast<double>(shape.length) * 16;
  const double truths = chosen.gpu ? kGpuTruths : kCpuTruths;
  const Option asked{chosen.gpu ? "--sample" : "--rows", chosen.count};
  return {Share{inputs, fmt::format("q, k and v in {}", info(shape.format).name), larger(length, heads)},
          Share{static_cast<double>(rows) * (truths * static_cast<double>(shape.depth + 1) * kBall + kRow) + states,
                fmt::format("{} rows", rows), chosen.gpu ? larger(asked, asked) : larger(asked, heads)},
          // The tiers run one after the other.
          Share{std::max(scratch, slow) + threads * kWorker,
                fmt::format("what {} thread{} work{} with", threads, threads == 1 ? "" : "s", threads == 1 ? "s" : ""),
                larger(length, length)}};
}

}  // namespace

double certification_bytes(const ProductionShape& shape, const CertificationRows& rows, int threads) {
  double total = 0;
  for (const Share& share : shares(shape, rows, threads)) total += share.bytes;
  return total;
}

void require_certification_memory(const ProductionShape& shape, const CertificationRows& rows, int threads,
                                  std::int64_t limit) {
  const std::array<Share, 3> all = shares(shape, rows, threads);
  const double total = certification_bytes(shape, rows, threads);
  if (total > static_cast<double>(limit)) {
    const auto most = std::ranges::max_element(all, {}, &Share::bytes);
    std::string made_of;
    for (const Share& share : all) {
      made_of += fmt::format("{}{:.2f} for {}", made_of.empty() ? "" : ", ", gib(share.bytes), share.what);
    }
    throw UsageError(fmt::format("{}: certify would need {:.2f} GiB of memory ({}), --memory allows {:.2f} GiB",
                                 most->option, gib(total), made_of, gib(static_cast<double>(limit))));
  }
  if (!rows.gpu) return;
  const double needed = gpu_tier_bytes(production_outline(shape)), free = gpu_free_bytes();
  if (needed > free) {
    throw UsageError(fmt::format("{}: certify would need {:.2f} GiB of the GPU's memory, {:.2f} GiB are free",
                                 larger({"--length", shape.length}, {"--heads", shape.heads}), gib(needed), gib(free)));
  }
}

}  // namespace flashproof
