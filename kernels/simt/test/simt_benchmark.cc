// What the executor costs: a bare switch of two fibers, and per thread an empty kernel, a barrier, a shuffle, a
// __syncwarp.
#include <benchmark/benchmark.h>
#include <immintrin.h>

#include <boost/context/detail/fcontext.hpp>
#include <vector>

#include "kernels/simt/cpu/executor.h"
#include "kernels/simt/simt.h"

namespace flashproof::cpu {
namespace {

namespace context = boost::context::detail;

constexpr int kRounds = 1000;  // collectives in one launch: its own cost disappears

void ping_pong(context::transfer_t transfer) {
  for (;;) transfer = context::jump_fcontext(transfer.fctx, nullptr);
}

void bare_switch(benchmark::State& state) {
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x3f);  // as the executor does, see fiber.h
  std::vector<char> stack(64 * 1024);
  context::transfer_t other{context::make_fcontext(stack.data() + stack.size(), stack.size(), ping_pong), nullptr};
  for (auto _ : state) other = context::jump_fcontext(other.fctx, nullptr);
  state.SetItemsProcessed(state.iterations() * 2);  // there and back
  _mm_setcsr(saved);
}

__global__ void empty_kernel() {}
__global__ void barrier_kernel(int rounds) {
  for (int i = 0; i < rounds; ++i) __syncthreads();
}
__global__ void syncwarp_kernel(int rounds) {
  for (int i = 0; i < rounds; ++i) __syncwarp();
}
__global__ void shuffle_kernel(int rounds, float* out) {
  float v = static_cast<float>(threadIdx.x);
  for (int i = 0; i < rounds; ++i) v = __shfl_xor_sync(0xffffffffu, v, 1 << i % 5);
  out[threadIdx.x] = v;
}

void empty(benchmark::State& state) {
  const auto threads = static_cast<unsigned>(state.range(0));
  for (auto _ : state) launch(empty_kernel, 100, threads, 0, {});
  state.SetItemsProcessed(state.iterations() * 100 * threads);
}
void barrier(benchmark::State& state) {
  const auto threads = static_cast<unsigned>(state.range(0));
  for (auto _ : state) launch(barrier_kernel, 1, threads, 0, {}, kRounds);
  state.SetItemsProcessed(state.iterations() * kRounds * threads);
}
void syncwarp(benchmark::State& state) {
  const auto threads = static_cast<unsigned>(state.range(0));
  for (auto _ : state) launch(syncwarp_kernel, 1, threads, 0, {}, kRounds);
  state.SetItemsProcessed(state.iterations() * kRounds * threads);
}
void shuffle(benchmark::State& state) {
  const auto threads = static_cast<unsigned>(state.range(0));
  std::vector<float> out(threads);
  for (auto _ : state) launch(shuffle_kernel, 1, threads, 0, {}, kRounds, out.data());
  state.SetItemsProcessed(state.iterations() * kRounds * threads);
}
void barrier_random(benchmark::State& state) {
  const simt::ScopedSchedule guard(simt::parse_schedule("random:1"));
  barrier(state);
}

BENCHMARK(bare_switch);
BENCHMARK(empty)->Arg(32)->Arg(128)->Arg(1024);
BENCHMARK(barrier)->Arg(32)->Arg(128)->Arg(1024);
BENCHMARK(barrier_random)->Arg(128);
BENCHMARK(syncwarp)->Arg(128);
BENCHMARK(shuffle)->Arg(32)->Arg(128)->Arg(1024);

}  // namespace
}  // namespace flashproof::cpu
