// The scheduler: blocks of the grid one after another or, where they may wait for one another, in turns; the warps of a block in turns, the lanes of a warp by the lowest block of code
// that any of them waits for. A warp's state is memory, so that a barrier is a return.
#include "kernels/ptx/run/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cstring>
#include <utility>

#include "kernels/ptx/run/access.h"
#include "kernels/ptx/run/residents.h"
#include "kernels/ptx/run/runtime.h"
#include "kernels/ptx/run/runtime_state.h"
#include "reference/system/error.h"

namespace flashproof::ptx {

namespace {

constexpr std::size_t kFewBlocks = 8;  // that go on in turns though none of them has to wait
constexpr std::size_t kMostIdleRounds =
    100;  // in which no warp reads, writes or computes anything that it has not before

class Grid {
 public:
  Grid(const Translation& entry, const BlockFunction* functions, const Launch& wanted)
      : flow_(entry.flow),
        functions_(functions),
        wanted_(wanted),
        threads_(static_cast<std::uint32_t>(wanted.block.count())),
        runtime_(runtime_of(entry)),
        residents_(runtime_, entry.flow, wanted) {
    prepare_context();
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
    const bool completed = run_blocks();
    runtime_.result.completed = completed;
    if (completed) {
      runtime_.result.instructions =
          static_cast<std::uint64_t>(wanted_.max_instructions - runtime_.context.budget - runtime_.prices);
    }
    if (runtime_.unprinted != 0) {
      runtime_.result.printed += fmt::format("\n({} bytes more were printed: at most {} of a launch are kept)\n",
                                             runtime_.unprinted, kMaxPrinted);
    }
    return std::move(runtime_.result);
  }

 private:
  enum class Turn : std::uint8_t { ended, waits, failed };

  static Runtime runtime_of(const Translation& entry) {
    Runtime runtime;
    runtime.entry = &entry;
    return runtime;
  }

  void prepare_context() {
    Context& c = runtime_.context;
    c.runtime = &runtime_;
    runtime_.wanted = &wanted_;
    c.budget = wanted_.max_instructions;
    c.ask_below = wanted_.is_interrupted ? c.budget - kAskedEvery : INT64_MIN;
    c.parameters = wanted_.parameters.data();
    runtime_.parameter_bytes = static_cast<std::int64_t>(wanted_.parameters.size());
    const std::uint32_t block[] = {wanted_.block.x, wanted_.block.y, wanted_.block.z},
                        grid[] = {wanted_.grid.x, wanted_.grid.y, wanted_.grid.z};
    std::memcpy(c.block_size, block, sizeof block);
    std::memcpy(c.grid_size, grid, sizeof grid);
  }

  /// One block after another; those that read strongly, as who waits for others does, in turns. More begin where none of these goes on.
  bool run_blocks() {
    const std::uint64_t count = wanted_.grid.count();
    std::size_t most = kFewBlocks;
    for (std::uint64_t begun = 0; begun < count || !waiting_.empty();) {
      if (begun < count && waiting_.size() < most && (waiting_.empty() || residents_.has_room())) {
        waiting_.push_back(residents_.begin());
        begin_block(wanted_.last_first ? count - 1 - begun : begun);
        ++begun;
        if (!go_on_with(waiting_.size() - 1)) return false;
        continue;
      }
      const std::uint64_t changes = runtime_.changes, news = runtime_.news;
      const std::size_t before = waiting_.size();
      // There and back: of a chain, whichever way it goes, each finds that the one before it has ended.
      for (std::size_t i = before; is_back_ && i > 0; --i) {
        if (!go_on_with(i - 1)) return false;
      }
      for (std::size_t i = 0; !is_back_ && i < waiting_.size();) {
        const std::size_t there = waiting_.size();
        if (!go_on_with(i)) return false;
        i += waiting_.size() == there ? 1 : 0;
      }
      is_back_ = !is_back_;
      if (waiting_.size() != before || runtime_.changes != changes) {
        idle_ = 0;
        continue;
      }
      most = SIZE_MAX;
      idle_ = runtime_.news == news || idle_ == 0 ? idle_ + 1 : 0;
      if (idle_ == kMostIdleRounds) return find_endless(begun < count);
    }
    return true;
  }

  /// The turn of a block that waits.
  bool go_on_with(std::size_t i) {
    const std::size_t place = waiting_[i];
    residents_.bring(place);
    const Turn turn = run_turn();
    if (turn == Turn::ended) {
      residents_.end(place);
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      std::uint32_t first = UINT32_MAX;
      for (const std::size_t other : waiting_) first = std::min(first, residents_.number(other));
      runtime_.races.order.set_first(first);
    }
    return turn != Turn::failed;
  }

  void begin_block(std::uint64_t at) {
    Context& c = runtime_.context;
    const Dim& grid = wanted_.grid;
    const std::uint32_t index[] = {static_cast<std::uint32_t>(at % grid.x),
                                   static_cast<std::uint32_t>(at / grid.x % grid.y),
                                   static_cast<std::uint32_t>(at / grid.x / grid.y)};
    std::memcpy(runtime_.block_index, index, sizeof index);
    std::memcpy(c.block_index, index, sizeof index);
    runtime_.races.order.begin_block();
    std::fill(runtime_.shared.begin(), runtime_.shared.end(), std::byte{0xff});  // NaN: what was not written shows
    std::fill(runtime_.shared_written.begin(), runtime_.shared_written.end(), std::uint8_t{0});
    std::size_t cleared = runtime_.shared.size();
    if (flow_.reads_unwritten) {  // the same in every block
      const auto registers = static_cast<std::size_t>(runtime_.entry->layout.register_bytes) * runtime_.warps.size();
      std::memset(runtime_.registers.get(), 0, registers);
      cleared += registers;
    }
    runtime_.mbarriers.clear();
    runtime_.bulk.clear();
    runtime_.cluster = {};
    // An empty grid of 2^31 blocks takes its time as well.
    const auto price = 64 + static_cast<std::int64_t>(cleared / 32);
    c.budget -= price;
    runtime_.prices += price;
    std::uint32_t left_over = threads_;
    for (Warp& warp : runtime_.warps) {
      const std::uint32_t here = std::min<std::uint32_t>(left_over, kLanes);
      left_over -= here;
      warp.live = here == kLanes ? kAllLanes : (1U << here) - 1;
      warp.copies.clear();
      warp.waiting.clear();  // arrivals that were not waited for
      warp.may_pass = 0;
      warp.wgmma = {};
      warp.seen.clear();
      warp.from = 0;
      warp.idle = false;
      warp.add(flow_.start, warp.live);
    }
  }

  /// To the block's end, or until it has read memory of the grid as who waits for another block does.
  Turn run_turn() {
    while (true) {
      bool alive = false, ran = false;
      polled_ = asked_ = false;
      const std::uint64_t changes = runtime_.changes;
      for (std::size_t i = 0; i < runtime_.warps.size(); ++i) {
        Warp& warp = runtime_.warps[wanted_.last_first ? runtime_.warps.size() - 1 - i : i];
        if (warp.ready_count > 0) {
          ran = true;
          if (!run_warp(warp)) return Turn::failed;
        }
        alive |= warp.live != 0;
      }
      if (!alive) {
        runtime_.bulk.end(runtime_);
        return Turn::ended;
      }
      const bool released = release_barriers(runtime_);
      if (!released && !ran) {
        find_deadlock(runtime_, flow_);
        return Turn::failed;
      }
      runtime_.news += released ? 1 : 0;
      if (asked_ || (polled_ && !released && runtime_.changes == changes)) return Turn::waits;
    }
  }

  bool find_endless(bool has_more) {
    for (Warp& warp : runtime_.warps) {
      std::uint32_t lanes = 0;
      if (warp.ready_count == 0) continue;
      runtime_.warp = &warp;
      runtime_.find(
          line_of(warp.take(lanes)),
          (has_more ? fmt::format("waits in a loop, perhaps for a block that has not begun: {} have room here",
                                  residents_.most())
                    : "waits in a loop for what no thread writes") +
              runtime_.mbarriers.words(),
          -1);
      break;
    }
    return false;
  }

  /// Whether other warps go on behind this block of code, or before the next: who waits for them must let them. It does so where it
  /// has read strongly and where it is about to, so that others come between, and at an atomic that has changed and seen nothing new.
  bool yields(Warp& warp, int block, int next, std::uint64_t changes, std::uint64_t news) {
    const Poll done = flow_.blocks[static_cast<std::size_t>(block)].poll,
               ahead = next >= 0 ? flow_.blocks[static_cast<std::size_t>(next)].poll : Poll::none;
    if (done == Poll::none && ahead == Poll::none) return false;
    if (done != Poll::none) warp.idle = runtime_.changes == changes && runtime_.news == news;
    const auto stops = [&](Poll poll) { return poll != Poll::none && (poll != Poll::atomic || warp.idle); };
    if (stops(ahead) && warp.idle) warp.from = next + 1;
    const bool stop = stops(done) || stops(ahead);
    if (stop && idle_ > 0) observe_registers(warp, block);
    polled_ |= stop;
    asked_ |= done == Poll::load || ahead == Poll::load;
    return stop;
  }

  /// A loop that computes something between two reads, as one that counts them, may end by itself.
  void observe_registers(Warp& warp, int block) {
    std::uint64_t hash = static_cast<std::uint64_t>(block), word = 0;
    for (std::int64_t at = 0; at < runtime_.entry->layout.register_bytes; at += 8) {
      std::memcpy(&word, warp.registers + at, sizeof word);
      hash = mixed(hash, word);
    }
    const bool is_poll = flow_.blocks[static_cast<std::size_t>(block)].poll != Poll::none;
    runtime_.news += std::exchange(warp.state[is_poll ? 1 : 0], hash) != hash ? 1 : 0;
  }

  bool is_poll(int block) const { return flow_.blocks[static_cast<std::size_t>(block)].poll != Poll::none; }

  /// Until no lane can go on, or others should. False: the launch is over.
  bool run_warp(Warp& warp) {
    Context& c = runtime_.context;
    runtime_.warp = &warp;
    c.thread = &warp.thread[0][0];
    c.warp = warp.number;
    c.barrier_result = warp.result;
    c.result_threads = warp.result_threads;
    while (warp.ready_count > 0) {
      std::uint32_t lanes = 0;
      const std::uint64_t changes = runtime_.changes, news = runtime_.news;
      int block = warp.take(lanes);
      std::int32_t next = functions_[block](warp.registers, &c, lanes);
      while (next >= 0 && warp.ready_count == 0 && warp.parked_count == 0 && !is_poll(block) && !is_poll(next) &&
             c.budget > c.ask_below) {  // all of them go on together
        block = next;
        next = functions_[block](warp.registers, &c, lanes);
      }
      if (c.budget <= c.ask_below && next != stopped) ask_whether_interrupted();
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
      if (yields(warp, block, next, changes, news)) break;
    }
    return true;
  }

  void ask_whether_interrupted() {
    if (wanted_.is_interrupted()) throw Interrupted("the launch was interrupted");
    runtime_.context.ask_below = runtime_.context.budget - kAskedEvery;
  }

  void go_on(Warp& warp, int block, std::uint32_t lanes, std::int32_t next) {
    const Context& c = runtime_.context;
    switch (next) {
      case diverged:
        warp.add(runtime_.entry->targets[static_cast<std::size_t>(block)], c.split);
        warp.add(block + 1, lanes & ~c.split);
        break;
      case at_barrier:
        come_to_barrier(warp, block, lanes);
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

  void come_to_barrier(Warp& warp, int block, std::uint32_t lanes) {
    const Context& c = runtime_.context;
    const auto kind = static_cast<BarrierKind>(c.barrier_kind);
    const bool stays = kind == BarrierKind::sync || kind == BarrierKind::cluster_wait,
               is_cluster = kind >= BarrierKind::cluster_arrive;
    Waiting waiting{is_cluster ? kClusterBarrier : c.barrier,
                    c.barrier_threads,
                    lanes,
                    c.barrier_votes & lanes,
                    stays ? block + 1 : -1,
                    line_of(block),
                    {}};
    if (!stays) {
      if (kind != BarrierKind::cluster_arrive_relaxed) waiting.released = runtime_.races.order.release(warp.number);
      warp.add(block + 1, lanes);
      ++runtime_.changes;
    }
    warp.waiting.push_back(std::move(waiting));
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
  Runtime runtime_;
  Residents residents_;
  std::vector<std::size_t> waiting_;  // places of the blocks that have begun and not ended, in this order
  std::size_t idle_ = 0;              // rounds
  bool is_back_ = false;
  bool polled_ = false, asked_ = false;  // in this round of the block's warps: of memory at all, of the grid's
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
