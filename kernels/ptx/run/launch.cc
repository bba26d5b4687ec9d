// The scheduler: blocks of the grid one after another, the warps of a block in turns, the lanes of a warp by the lowest block of code
// that any of them waits for. A warp's state is memory, so that a barrier is a return.
#include "kernels/ptx/run/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cstring>

#include "kernels/ptx/run/runtime.h"
#include "kernels/ptx/run/runtime_state.h"
#include "reference/system/error.h"

namespace flashproof::ptx {

namespace {

/// Of all accesses to memory that threads share the smallest, in bytes: the others are multiples of it.
std::uint64_t least_access(const Layout& layout) {
  std::uint64_t least = 16;
  for (const Site& site : layout.sites) {
    const std::uint64_t bytes = std::uint64_t{site.bytes} * site.count;
    const bool is_common = site.space == Space::shared || site.space == Space::global || site.space == Space::generic;
    if (is_common && bytes != 0) least = std::min(least, bytes);
  }
  return least;
}

bool has_fence(const Entry& entry) {
  return std::ranges::any_of(entry.instructions, [](const Instruction& in) {
    return in.form.starts_with("fence") || in.form.starts_with("membar") || in.form.find(".acq") != std::string::npos ||
           in.form.find(".release") != std::string::npos;
  });
}

class Grid {
 public:
  Grid(const Translation& entry, const BlockFunction* functions, const Launch& wanted)
      : flow_(entry.flow),
        functions_(functions),
        wanted_(wanted),
        threads_(static_cast<std::uint32_t>(wanted.block.count())) {
    runtime_.entry = &entry;
    const auto shared = static_cast<std::size_t>(entry.layout.static_shared_bytes) + wanted.dynamic_shared_bytes;
    runtime_.shared.resize(shared);
    runtime_.shared_written.resize(shared);
    const std::size_t warps = (threads_ + kLanes - 1) / kLanes;
    const auto locals = static_cast<std::size_t>(entry.layout.local_bytes) * warps * kLanes;
    const auto registers = static_cast<std::size_t>(entry.layout.register_bytes);
    if (registers * warps > (512U << 20)) {
      throw UsageError(fmt::format("{}: {} warps with {} bytes of registers each, legal: at most 512 MiB together",
                                   entry.file, warps, registers));
    }
    if (locals != 0) runtime_.local.reset(static_cast<std::byte*>(std::calloc(locals, 1)));
    registers_.reset(static_cast<std::byte*>(std::aligned_alloc(256, std::max<std::size_t>(registers * warps, 256))));
    if ((locals != 0 && !runtime_.local) || !registers_)
      throw InfrastructureError("no memory for the threads of a block");
    std::memset(registers_.get(), 0, registers * warps);
    runtime_.warps.resize(warps);
    for (std::size_t i = 0; i < warps; ++i)
      prepare(runtime_.warps[i], static_cast<std::uint32_t>(i), registers_.get() + i * registers);
    prepare_context();
    runtime_.races.prepare(warps, least_access(entry.layout), shared, has_fence(flow_.entry));
  }

  void add_ranges(std::span<const Array> arrays) {
    for (const Array& array : arrays) {
      const auto low = reinterpret_cast<std::uint64_t>(array.data);
      if (array.data != nullptr && array.bytes != 0)
        runtime_.ranges.push_back({low, low + array.bytes, array.writable, &array.name});
    }
  }

  void set_variables(std::span<std::byte> variables) {
    runtime_.context.variables = reinterpret_cast<std::uint64_t>(variables.data());
  }

  LaunchResult run() {
    Context& c = runtime_.context;
    const Dim& grid = wanted_.grid;
    bool goes_on = true;
    for (std::uint64_t i = 0; goes_on && i < grid.count(); ++i) {
      const std::uint64_t at = wanted_.last_first ? grid.count() - 1 - i : i;
      c.block_index[0] = static_cast<std::uint32_t>(at % grid.x);
      c.block_index[1] = static_cast<std::uint32_t>(at / grid.x % grid.y);
      c.block_index[2] = static_cast<std::uint32_t>(at / grid.x / grid.y);
      goes_on = run_block();
    }
    runtime_.result.completed = goes_on;
    if (goes_on)
      runtime_.result.instructions = static_cast<std::uint64_t>(wanted_.max_instructions - c.budget - prices_);
    return std::move(runtime_.result);
  }

 private:
  void prepare(Warp& warp, std::uint32_t number, std::byte* registers) {
    warp.number = number;
    warp.registers = registers;
    warp.ready.resize(flow_.blocks.size());
    warp.parked.resize(flow_.blocks.size());
    warp.ready_blocks.resize(flow_.blocks.size() / 64 + 1);
    for (std::uint32_t l = 0; l < kLanes; ++l) {
      const std::uint32_t t = kLanes * number + l;
      warp.thread[0][l] = t % wanted_.block.x;
      warp.thread[1][l] = t / wanted_.block.x % wanted_.block.y;
      warp.thread[2][l] = t / wanted_.block.x / wanted_.block.y;
    }
  }

  void prepare_context() {
    Context& c = runtime_.context;
    c.runtime = &runtime_;
    c.budget = wanted_.max_instructions;
    c.parameters = wanted_.parameters.data();
    runtime_.parameter_bytes = static_cast<std::int64_t>(wanted_.parameters.size());
    const std::uint32_t block[] = {wanted_.block.x, wanted_.block.y, wanted_.block.z},
                        grid[] = {wanted_.grid.x, wanted_.grid.y, wanted_.grid.z};
    std::memcpy(c.block_size, block, sizeof block);
    std::memcpy(c.grid_size, grid, sizeof grid);
  }

  bool run_block() {
    runtime_.races.order.begin_block();
    std::fill(runtime_.shared.begin(), runtime_.shared.end(), std::byte{0xff});  // NaN: what was not written shows
    std::fill(runtime_.shared_written.begin(), runtime_.shared_written.end(), std::uint8_t{0});
    if (flow_.reads_unwritten) {  // the same in every block
      std::memset(registers_.get(), 0,
                  static_cast<std::size_t>(runtime_.entry->layout.register_bytes) * runtime_.warps.size());
    }
    const auto price = 64 + static_cast<std::int64_t>(runtime_.shared.size() /
                                                      32);  // an empty grid of 2^31 blocks takes its time as well
    runtime_.context.budget -= price;
    prices_ += price;
    std::uint32_t left_over = threads_;
    for (Warp& warp : runtime_.warps) {
      const std::uint32_t here = std::min<std::uint32_t>(left_over, kLanes);
      left_over -= here;
      warp.live = here == kLanes ? kAllLanes : (1U << here) - 1;
      warp.copies.clear();
      warp.add(flow_.start, warp.live);
    }
    while (true) {
      bool alive = false, ran = false;
      for (std::size_t i = 0; i < runtime_.warps.size(); ++i) {
        Warp& warp = runtime_.warps[wanted_.last_first ? runtime_.warps.size() - 1 - i : i];
        if (warp.ready_count > 0) {
          ran = true;
          if (!run_warp(warp)) return false;
        }
        alive |= warp.live != 0;
      }
      if (!alive) return true;
      if (!release_barriers(runtime_) && !ran) {
        find_deadlock(runtime_, flow_);
        return false;
      }
    }
  }

  /// Until no lane can go on. False: the launch is over.
  bool run_warp(Warp& warp) {
    Context& c = runtime_.context;
    runtime_.warp = &warp;
    c.thread = &warp.thread[0][0];
    c.warp = warp.number;
    c.barrier_result = warp.result;
    c.result_threads = warp.result_threads;
    while (warp.ready_count > 0) {
      std::uint32_t lanes = 0;
      int block = warp.take(lanes);
      std::int32_t next = functions_[block](warp.registers, &c, lanes);
      while (next >= 0 && warp.ready_count == 0 && warp.parked_count == 0) {  // all of them go on together
        block = next;
        next = functions_[block](warp.registers, &c, lanes);
      }
      if (next == stopped) {
        if (c.budget > kNoBudget / 2) out_of_budget(block);
        return false;
      }
      const std::uint32_t live = warp.live;
      if (next == at_barrier && c.barrier > 15) {
        runtime_.find(line_of(block), fmt::format("barrier {}, legal: 0 to 15", c.barrier), -1);
        return false;
      }
      go_on(warp, block, lanes & ~warp.parked[static_cast<std::size_t>(block)], next);
      if (warp.parked_count > 0 && warp.live != live) {  // who has left is waited for no longer
        for (std::size_t b = 0; b < warp.parked.size(); ++b) warp.add(static_cast<int>(b), warp.parked[b]);
      }
    }
    return true;
  }

  void go_on(Warp& warp, int block, std::uint32_t lanes, std::int32_t next) {
    const Context& c = runtime_.context;
    switch (next) {
      case diverged:
        warp.add(runtime_.entry->targets[static_cast<std::size_t>(block)], c.split);
        warp.add(block + 1, lanes & ~c.split);
        break;
      case at_barrier:
        warp.waiting.push_back(
            {c.barrier, c.barrier_threads, lanes, c.barrier_votes & lanes, block + 1, line_of(block)});
        break;
      case left:
        warp.live &= ~lanes;
        break;
      case some_left:
        warp.live &= ~c.split;
        warp.add(block + 1, lanes & ~c.split);
        break;
      case parked:
        break;
      case returned:
        for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
          const int l = std::countr_zero(rest);
          warp.add(static_cast<int>(c.way_back[l]), 1U << l);
        }
        break;
      default:
        warp.add(next, lanes);
    }
  }

  int line_of(int block) const {
    const Block& at = flow_.blocks[static_cast<std::size_t>(block)];
    const std::size_t instruction = at.last >= 0 ? static_cast<std::size_t>(at.last) : at.begin;
    return instruction < flow_.entry.instructions.size() ? flow_.entry.instructions[instruction].line
                                                         : flow_.entry.line;
  }

  void out_of_budget(int block) {
    runtime_.find(line_of(block), fmt::format("more than {} instructions", wanted_.max_instructions), -1);
  }

  const Flow& flow_;
  const BlockFunction* functions_;
  const Launch& wanted_;
  std::uint32_t threads_;
  std::int64_t prices_ = 0;
  Runtime runtime_;
  std::unique_ptr<std::byte, decltype(&std::free)> registers_{nullptr, &std::free};
};

/// Round to nearest, subnormals kept, whatever the caller has set and gets back.
class DefaultRounding {
 public:
  DefaultRounding() {
    std::feholdexcept(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultRounding() { std::fesetenv(&before_); }
  DefaultRounding(const DefaultRounding&) = delete;
  DefaultRounding& operator=(const DefaultRounding&) = delete;

 private:
  std::fenv_t before_{};
};

}  // namespace

LaunchResult launch(const Translation& entry, const BlockFunction* blocks, std::span<std::byte> variables,
                    std::span<const Array> variable_ranges, const Launch& wanted) {
  check_launch(entry, wanted);
  Grid grid(entry, blocks, wanted);
  grid.add_ranges(wanted.arrays);
  grid.add_ranges(variable_ranges);
  grid.set_variables(variables);
  const DefaultRounding while_it_runs;
  return grid.run();
}

}  // namespace flashproof::ptx
