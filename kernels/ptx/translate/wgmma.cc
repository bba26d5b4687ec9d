// wgmma of translated code: each warp of the four does its own 16 rows, with the unit of mma (of 8 bits with its own, as
// kernels/probe/README.md has it). Matrices in shared memory by descriptor: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions";
// every type has 32 bytes of k, two chunks of 16 bytes.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/ptx/run/access.h"
#include "kernels/ptx/run/runtime.h"
#include "kernels/ptx/run/tensor_map.h"
#include "kernels/ptx/translate/matrix.h"

namespace flashproof::ptx {
namespace {

constexpr int kRows = 16, kColumns = 8, kChunk = 16, kDepth = 32;  // kChunk and kDepth in bytes

/// Of a descriptor: bytes, but for the swizzle.
struct Descriptor {
  std::uint64_t start, leading, stride;
  Swizzle swizzle;
  std::uint64_t row;  // bytes of a row that a swizzle has

  explicit Descriptor(std::uint64_t bits)
      : start((bits & 0x3fff) << 4),
        leading((bits >> 16 & 0x3fff) << 4),
        stride((bits >> 32 & 0x3fff) << 4),
        swizzle(bits >> 62 == 0 ? Swizzle::none : Swizzle{static_cast<std::uint32_t>(4 - (bits >> 62))}),
        row(swizzle == Swizzle::none ? 16 : 16ULL << static_cast<std::uint32_t>(swizzle)) {}

  /// 16 bytes of row `i`, the `chunk`-th in k.
  std::uint64_t along_k(std::uint64_t i, std::uint64_t chunk) const {
    const std::uint64_t step = swizzle == Swizzle::none ? leading : kChunk;
    return swizzled(start + i / 8 * stride + i % 8 * row + chunk * step, swizzle);
  }
  /// 16 bytes of k `k`, of rows 8 * chunk on.
  std::uint64_t across_k(std::uint64_t k, std::uint64_t chunk) const {
    if (swizzle == Swizzle::none) return start + chunk * stride + k % 8 * row + k / 8 * leading;
    const std::uint64_t chunks = row / kChunk;
    return swizzled(start + chunk / chunks * leading + chunk % chunks * kChunk + k / 8 * stride + k % 8 * row, swizzle);
  }
};

struct Matrices {
  Runtime& runtime;
  Site site;  // in shared memory
  bool ended = false;

  /// 16 bytes of shared memory, read now by the agent.
  void read(std::uint64_t address, std::byte* to) {
    if (ended) return;
    const std::byte* from = Access{runtime, site, false, kChunk}.place(address, 0);
    ended = from == nullptr;
    if (ended) return;
    watch_async(runtime, site.line, 0, true, address, kChunk, Touch::read);
    std::memcpy(to, from, kChunk);
  }

  /// Rows `first` on, as many as `rows`, side by side in k.
  void read(const Descriptor& from, bool transposed, std::uint64_t first, std::uint64_t rows, std::byte (*to)[kDepth]) {
    if (!transposed) {
      for (std::uint64_t i = 0; i < rows; ++i) {
        for (std::uint64_t chunk = 0; chunk < 2; ++chunk) read(from.along_k(first + i, chunk), to[i] + chunk * kChunk);
      }
      return;
    }
    for (std::uint64_t k = 0; k < kDepth / 2; ++k) {
      for (std::uint64_t chunk = 0; chunk < rows / 8; ++chunk) {
        std::byte numbers[kChunk];
        read(from.across_k(k, first / 8 + chunk), numbers);
        for (std::uint64_t i = 0; i < 8; ++i) std::memcpy(to[8 * chunk + i] + 2 * k, numbers + 2 * i, 2);
      }
    }
  }
};

/// Rows as the registers of a fragment: word lane % 4 of a chunk of row lane / 4, `groups` of 8 rows, then the next chunk.
void make_fragment(const std::byte (*rows)[kDepth], int groups, std::uint32_t* fragment) {
  for (int i = 0; i < 2 * groups; ++i) {
    for (int lane = 0; lane < kLanes; ++lane) {
      std::memcpy(fragment + i * kLanes + lane,
                  rows[lane / 4 + 8 * (i % groups)] + kChunk * (i / groups) + lane % 4 * 4, sizeof *fragment);
    }
  }
}

void negate(MatrixOperation type, std::uint32_t* fragment, int registers) {
  const std::uint32_t signs = type == MatrixOperation::tf32                                   ? 0x80000000
                              : type == MatrixOperation::f16 || type == MatrixOperation::bf16 ? 0x80008000
                                                                                              : 0x80808080;
  for (int i = 0; i < registers * kLanes; ++i) fragment[i] ^= signs;
}

/// The same in all lanes, and nothing in it that is not known here. False after a finding.
bool check(Runtime& runtime, const Site& site, const std::uint64_t* descriptors, char which) {
  const bool is_one = std::all_of(descriptors, descriptors + kLanes,
                                  [&](std::uint64_t descriptor) { return descriptor == descriptors[0]; });
  const std::uint64_t offset = descriptors[0] >> 49 & 7;
  if (is_one && offset == 0) return true;
  runtime.find(site.line,
               is_one ? fmt::format("the descriptor of {} has a base offset of {}, legal here: 0", which, offset)
                      : fmt::format("lanes have different descriptors of {}", which),
               0);
  return false;
}

}  // namespace

extern "C" void ptx_wgmma(Context* context, std::uint32_t lanes, std::uint32_t* sums, const std::uint32_t* registers,
                          const std::uint64_t* descriptors, std::uint32_t flags, std::uint32_t number) {
  Runtime& runtime = *context->runtime;
  Site site = runtime.entry->layout.sites[number];
  if (context->budget < 0 || !whole_warp(context, lanes, site)) return;
  const auto type = static_cast<MatrixOperation>(site.operation);
  const int columns = site.count * kColumns;
  site.space = Space::shared;
  const bool has_registers = (flags & wgmma_registers) != 0;
  if ((!has_registers && !check(runtime, site, descriptors, 'a')) || !check(runtime, site, descriptors + kLanes, 'b'))
    return;
  Warp& warp = *runtime.warp;
  warp.wgmma.clock = runtime.races.order.begin_async(warp.number);
  warp.wgmma.is_open = true;
  Matrices matrices{runtime, site};
  std::uint32_t a[4 * kLanes], b[2 * kLanes];
  std::byte rows[kRows][kDepth] = {};
  if (has_registers) {
    std::memcpy(a, registers, sizeof a);
  } else {
    matrices.read(Descriptor(descriptors[0]), (flags & wgmma_transposed_a) != 0, kRows * (warp.number % 4), kRows,
                  rows);
    make_fragment(rows, 2, a);
  }
  if ((flags & wgmma_negated_a) != 0) negate(type, a, 4);
  if ((flags & wgmma_adds) == 0) std::memset(sums, 0, sizeof *sums * kLanes * static_cast<std::size_t>(columns) / 2);
  const Descriptor from(descriptors[kLanes]);
  for (int column = 0; column < columns && !matrices.ended; column += kColumns) {
    matrices.read(from, (flags & wgmma_transposed_b) != 0, static_cast<std::uint64_t>(column), kColumns, rows);
    if (matrices.ended) return;
    make_fragment(rows, 1, b);
    if ((flags & wgmma_negated_b) != 0) negate(type, b, 2);
    std::uint32_t* sum = sums + column / 2 * kLanes;
    std::uint32_t before[4 * kLanes];
    std::memcpy(before, sum, sizeof before);
    multiply_fragments(MatrixUnit::warpgroup, type, 2, a, b, before, sum);
  }
}

extern "C" void ptx_wgmma_commit(Context* context) {
  Runtime& runtime = *context->runtime;
  WarpgroupProducts& wgmma = runtime.warp->wgmma;
  wgmma.groups.push_back(wgmma.clock);
  wgmma.is_open = false;
  if (wgmma.groups.size() > WarpgroupProducts::kMostGroups) wgmma.groups.erase(wgmma.groups.begin());
}

extern "C" void ptx_wgmma_wait(Context* context, std::uint32_t pending) {
  Runtime& runtime = *context->runtime;
  WarpgroupProducts& wgmma = runtime.warp->wgmma;
  if (wgmma.groups.size() <= pending) return;
  const auto over = wgmma.groups.end() - static_cast<std::ptrdiff_t>(pending);
  runtime.races.order.acquire(runtime.warp->number, runtime.races.order.finished(*(over - 1)));
  wgmma.groups.erase(wgmma.groups.begin(), over);
}

extern "C" void ptx_wgmma_early(Context* context, std::int32_t age, std::uint32_t number) {
  Runtime& runtime = *context->runtime;
  const WarpgroupProducts& wgmma = runtime.warp->wgmma;
  const bool is_early = age < 0 ? wgmma.is_open : wgmma.groups.size() > static_cast<std::size_t>(age);
  if (context->budget < 0 || !is_early) return;
  runtime.find(runtime.entry->layout.sites[number].line,
               "uses a register of a wgmma that was not waited for: wgmma.wait_group is missing before it", -1, true);
}

}  // namespace flashproof::ptx
