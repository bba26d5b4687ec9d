// cp.async.bulk of translated code: what a copy touches, in which order with what others do, and its findings.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "kernels/ptx/run/access.h"
#include "kernels/ptx/run/runtime.h"

namespace flashproof::ptx {
namespace {

constexpr std::uint64_t kBulk = 16;          // what bulk copies are multiples of
constexpr std::uint64_t kTensorAlign = 128;  // of a box in shared memory

/// What one lane asks for.
struct Asked {
  std::uint64_t global, shared, mbarrier;  // addresses; global: of tensors the map's
  std::uint32_t numbers[kMostAxes];        // bytes, or where the box starts
};

class Copying {
 public:
  Copying(Context* context, std::uint32_t site, int lane)
      : context_(context),
        runtime_(*context->runtime),
        site_(context->runtime->entry->layout.sites[site]),
        loads_(static_cast<BulkOperation>(site_.operation) == BulkOperation::load),
        lane_(lane) {}

  void run(const Asked& asked) {
    if (!(site_.count == 0 ? take_bytes(asked) : take_box(asked))) return;
    copy_.line = site_.line;
    if (loads_ && !find_mbarrier(asked.mbarrier)) return;
    if (!loads_ && !runtime_.bulk.has_room(thread())) {
      return runtime_.find(
          site_.line, fmt::format("more than {} bulk copies of a thread under way", BulkCopies::kMostUnderWay), lane_);
    }
    if (!check_parts()) return;
    watch_parts();
    loads_ ? runtime_.bulk.start(runtime_, std::move(copy_)) : runtime_.bulk.start(thread(), std::move(copy_));
  }

 private:
  std::uint32_t thread() const { return runtime_.warp->number * kLanes + static_cast<std::uint32_t>(lane_); }

  Site in(Space space) const {
    Site site = site_;
    site.space = space;
    return site;
  }

  /// In shared memory; nothing after a finding.
  std::optional<std::uint64_t> shared_place(std::uint64_t address, std::uint64_t bytes, std::uint64_t align) {
    const Site site = in(site_.space);
    const bool is_generic = site.space == Space::generic;
    const std::uint64_t at = is_generic ? address - kSharedWindow : address, size = runtime_.shared.size();
    if (at % align == 0 && at <= size && bytes <= size - at) return at;
    runtime_.find(site_.line,
                  at % align != 0 ? fmt::format("copies to or from {:#x}, which is no multiple of {}", address, align)
                                  : fmt::format("copies {} bytes to or from {:#x} of shared memory, which has {}",
                                                bytes, address, size),
                  lane_);
    return std::nullopt;
  }

  bool take_bytes(const Asked& asked) {
    copy_.bytes = asked.numbers[0];
    const bool legal = copy_.bytes != 0 && copy_.bytes % kBulk == 0 && copy_.bytes <= Mbarrier::kMost;
    if (!legal || asked.global % kBulk != 0) {
      runtime_.find(site_.line,
                    legal ? fmt::format("copies to or from {:#x}, which is no multiple of {}", asked.global, kBulk)
                          : fmt::format("copies {} bytes, legal: 16 to {}, a multiple of 16", copy_.bytes,
                                        Mbarrier::kMost / kBulk * kBulk),
                    lane_);
      return false;
    }
    const auto shared = shared_place(asked.shared, copy_.bytes, kBulk);
    if (!shared) return false;
    copy_.parts.push_back({*shared, reinterpret_cast<std::byte*>(asked.global),  // NOLINT(performance-no-int-to-ptr)
                           copy_.bytes});
    return true;
  }

  bool take_box(const Asked& asked) {
    const Site site = in(Space::generic);
    const std::byte* at = Access{runtime_, site, false, sizeof(TensorMap), kMapAlign}.place(asked.global, lane_);
    if (at == nullptr) return false;
    TensorMap map;
    std::memcpy(map.bytes.data(), at, sizeof map);
    const auto tensor = decode(map);
    if (!tensor || tensor->rank != site_.count) {
      runtime_.find(site_.line,
                    tensor ? fmt::format("a tensor map of {} axes, wanted {}", tensor->rank, site_.count)
                           : fmt::format("no tensor map at {:#x}", asked.global),
                    lane_);
      return false;
    }
    copy_.bytes = tensor->box_bytes();
    const auto shared = shared_place(asked.shared, copy_.bytes, kTensorAlign);
    if (!shared) return false;
    std::int32_t start[kMostAxes];
    std::memcpy(start, asked.numbers, sizeof start);
    for_each_part(*tensor, start, *shared, [&](const BoxPart& part) {
      if (loads_ || part.global != nullptr) copy_.parts.push_back(part);
    });
    return true;
  }

  bool find_mbarrier(std::uint64_t address) {
    const Site site = in(site_.space);
    const Access access{runtime_, site, false, Mbarriers::kBytes};
    const auto offset = Mbarriers::offset(access, address, lane_);
    if (!offset || runtime_.mbarriers.find(access, *offset, lane_) == nullptr) return false;
    copy_.mbarrier = *offset;
    return true;
  }

  /// Every byte of global memory lies in an array, and what is read of shared memory was written.
  bool check_parts() {
    const Site global = in(Space::global), shared = in(Space::shared);
    for (const BoxPart& part : copy_.parts) {
      const auto address = reinterpret_cast<std::uint64_t>(part.global);
      if (part.global != nullptr && Access{runtime_, global, !loads_, part.bytes, 1}.place(address, lane_) == nullptr)
        return false;
      if (!loads_ && Access{runtime_, shared, false, part.bytes, 1}.place(part.shared, lane_) == nullptr) return false;
    }
    return true;
  }

  /// First all that is read, then, at a later clock, what is written.
  void watch_parts() {
    for (const bool writes : {false, true}) {
      copy_.clock = runtime_.races.order.begin_async(runtime_.warp->number, lane_);
      for (const BoxPart& part : copy_.parts) {
        const bool of_shared = writes == loads_;
        if (!of_shared && part.global == nullptr) continue;
        const bool races = watch_async(runtime_, site_.line, lane_, of_shared,
                                       of_shared ? part.shared : reinterpret_cast<std::uint64_t>(part.global),
                                       part.bytes, writes ? Touch::write : Touch::read);
        if (races) break;
      }
    }
  }

  Context* context_;
  Runtime& runtime_;
  Site site_;
  bool loads_;
  int lane_;
  BulkCopy copy_;
};

}  // namespace

extern "C" void ptx_bulk_copy(Context* context, std::uint32_t lanes, const std::uint64_t* addresses,
                              const std::uint32_t* numbers, std::uint32_t site) {
  for (; lanes != 0 && context->budget >= 0; lanes &= lanes - 1) {
    const int l = std::countr_zero(lanes);
    Asked asked{addresses[l], addresses[kLanes + l], addresses[2 * kLanes + l], {}};
    for (std::uint32_t i = 0; i < kMostAxes; ++i)
      asked.numbers[i] = numbers[i * kLanes + static_cast<std::uint32_t>(l)];
    Copying(context, site, l).run(asked);
  }
}

extern "C" void ptx_bulk_commit(Context* context, std::uint32_t lanes) {
  Runtime& runtime = *context->runtime;
  for (; lanes != 0; lanes &= lanes - 1)
    runtime.bulk.commit(runtime.warp->number * kLanes + static_cast<std::uint32_t>(std::countr_zero(lanes)));
}

extern "C" void ptx_bulk_wait(Context* context, std::uint32_t lanes, std::uint32_t pending, std::uint32_t for_reads) {
  if (context->budget < 0) return;
  Runtime& runtime = *context->runtime;
  const std::uint32_t warp = runtime.warp->number;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int l = std::countr_zero(lanes);
    const std::uint32_t clock =
        runtime.bulk.wait(runtime, warp * kLanes + static_cast<std::uint32_t>(l), pending, for_reads != 0);
    if (clock != 0) runtime.races.order.acquire(warp, l, runtime.races.order.finished(clock), true);
  }
}

}  // namespace flashproof::ptx
