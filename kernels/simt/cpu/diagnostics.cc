// Messages: what went wrong, and who waits where. One line each, the kernel's file:line first, as compilers do it.

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "kernels/simt/block.h"

namespace flashproof::simt {
namespace {

constexpr std::size_t kMaxRanges = 8;  // per group; the count of threads follows
constexpr std::size_t kMaxGroups = 6;

std::string text(const CallSite& site) { return fmt::format("{} at {}:{}", site.name, site.file, site.line); }

std::string here() { return fmt::format("in block ({}, {}, {})", blockIdx.x, blockIdx.y, blockIdx.z); }

/// "thread 3" or "threads 0-15, 18, 20-31"; numbers ascending.
std::string ranges(const std::vector<unsigned>& numbers) {
  std::string text = numbers.size() == 1 ? "thread " : "threads ";
  std::size_t shown = 0;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (shown++ == kMaxRanges) return text + fmt::format(", ... ({} threads)", numbers.size());
    if (shown > 1) text += ", ";
    text += std::to_string(numbers[i]);
    if (end - i > 1) text += fmt::format("-{}", numbers[end - 1]);
    i = end;
  }
  return text;
}

bool same_place(const Thread& a, const Thread& b) {
  return a.waits == b.waits && same_site(a.site, b.site) && (a.waits == Waits::barrier || a.mask == b.mask);
}

/// "threads 0-15 wait in __syncthreads at f.cu:3; threads 16-31 have exited".
std::string who_waits_where() {
  std::vector<std::pair<const Thread*, std::vector<unsigned>>> groups;
  std::vector<unsigned> exited;
  for (unsigned i = 0; i < block.size; ++i) {
    const Thread& thread = block.threads[i];
    if (thread.progress == Progress::exited) exited.push_back(i);
    if (thread.progress != Progress::started || thread.waits == Waits::no) continue;
    auto group = groups.begin();
    while (group != groups.end() && !same_place(*group->first, thread)) ++group;
    if (group == groups.end()) group = groups.insert(group, {&thread, {}});
    group->second.push_back(i);
  }
  std::string message;
  for (std::size_t i = 0; i < groups.size() && i < kMaxGroups; ++i) {
    const auto& [thread, numbers] = groups[i];
    if (i > 0) message += "; ";
    message += fmt::format("{} {} in {}", ranges(numbers), numbers.size() == 1 ? "waits" : "wait", text(thread->site));
    if (thread->waits == Waits::warp) message += fmt::format(" (mask {:#010x})", thread->mask);
  }
  if (groups.size() > kMaxGroups) message += fmt::format("; and {} more places", groups.size() - kMaxGroups);
  if (!exited.empty()) {
    message += fmt::format("; {} {} exited", ranges(exited), exited.size() == 1 ? "has" : "have");
  }
  return message;
}

Fault waiting_fault(FaultKind kind, const CallSite& site, const char* what) {
  return Fault(kind, fmt::format("{}:{}: {} {}: {}", site.file, site.line, what, here(), who_waits_where()));
}

}  // namespace

Fault make_fault(FaultKind kind, const CallSite& site, const std::string& what) {
  return Fault(kind, fmt::format("{}:{}: {}: {}", site.file, site.line, site.name, what));
}

std::string describe(const Thread& thread) {
  return fmt::format("thread {}, lane {}, mask {:#010x}, {}", thread.number, thread.number % kLanes, thread.mask,
                     here());
}

Fault divergent_barrier() {
  return waiting_fault(FaultKind::divergent_barrier, block.barrier.arrived[0]->site, "divergent barrier");
}

Fault divergent_collective(const Thread& one, const Thread& other) {
  return make_fault(
      FaultKind::divergent_collective, one.site,
      fmt::format("lanes of one mask are in different collectives {}: thread {} in {}, thread {} in {} (mask {:#010x})",
                  here(), one.number, text(one.site), other.number, text(other.site), one.mask));
}

Fault names_exited_lanes(const Thread& thread) {
  const std::uint32_t gone = thread.mask & block.warp_of(thread).exited;
  return make_fault(FaultKind::exited_lane, thread.site,
                    fmt::format("the mask names exited lanes {:#010x} ({})", gone, describe(thread)));
}

/// Every thread that is left waits. With one of them at the barrier it is a plain deadlock. Else all are in warp
/// collectives and no exited thread is waited for (that fails at once), so some lanes disagree about their mask.
Fault nobody_can_run() {
  const Thread* first = nullptr;
  bool barrier = false;
  for (unsigned i = 0; i < block.size; ++i) {
    const Thread& thread = block.threads[i];
    if (thread.progress != Progress::started || thread.waits == Waits::no) continue;
    if (first == nullptr) first = &thread;
    barrier = barrier || thread.waits == Waits::barrier;
  }
  return barrier ? waiting_fault(FaultKind::deadlock, first->site, "deadlock")
                 : waiting_fault(FaultKind::divergent_collective, first->site,
                                 "deadlock: lanes wait in different collectives or with different masks");
}

}  // namespace flashproof::simt
