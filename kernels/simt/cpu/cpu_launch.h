// launch() of the CPU executor: runs the grid to its end, then returns.
#pragma once

#include <cstddef>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/simt/cpu/cpu_types.h"
#include "kernels/simt/cpu/launch_target.h"
#include "kernels/simt/stream.h"

namespace flashproof::simt {

/// A grid size that remembers where the launch stands.
struct Grid {
  dim3 size;
  const char* file;
  int line;
  Grid(dim3 grid, const char* f = __builtin_FILE(), int l = __builtin_LINE()) : size(grid), file(f), line(l) {}
  template <class T>
    requires std::is_integral_v<T>
  Grid(T x, const char* f = __builtin_FILE(), int l = __builtin_LINE())
      : size(static_cast<unsigned>(x)), file(f), line(l) {}
};

// In executor.cc. Calls body(call) once per thread of the grid.
void run_grid(const Grid& grid, dim3 block, std::size_t dynamic_shared_bytes, void (*body)(const void* call),
              const void* call);

/// The parameters as a driver takes them.
template <class... Parameters>
void launch_elsewhere(LaunchTarget& target, const void* kernel, const Grid& grid, dim3 block,
                      std::size_t dynamic_shared_bytes, const Parameters&... parameters) {
  static_assert((std::is_trivially_copyable_v<Parameters> && ...), "CUDA copies parameters byte by byte");
  alignas(16) std::byte bytes[(sizeof(Parameters) + ... + (16 * sizeof...(Parameters) + 16))] = {};
  std::size_t used = 0;
  const auto add = [&](const void* data, std::size_t size, std::size_t align) {
    used = (used + align - 1) / align * align;
    std::memcpy(bytes + used, data, size);
    used += size;
  };
  (add(static_cast<const void*>(&parameters), sizeof parameters, alignof(Parameters)), ...);
  target.launch({kernel, grid.size, block, dynamic_shared_bytes, {bytes, used}});
}

}  // namespace flashproof::simt

namespace flashproof::FP_EXECUTOR {

/// Throws simt::Fault for a rule of CUDA that the launch or the kernel broke, and whatever the kernel itself throws.
/// An empty grid runs nothing. With a simt::ScopedLaunchTarget the launch goes there instead. The schedule is that of the innermost
/// simt::ScopedSchedule (executor.h), else fifo.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), simt::Grid grid, dim3 block, std::size_t dynamic_shared_bytes, Stream,
            Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments), "launch: wrong number of kernel arguments");
  static_assert((!std::is_reference_v<Parameters> && ...), "CUDA kernels take their parameters by value");
  if (simt::LaunchTarget* target = simt::ScopedLaunchTarget::current()) {
    return simt::launch_elsewhere<Parameters...>(*target, reinterpret_cast<const void*>(kernel), grid, block,
                                                 dynamic_shared_bytes, static_cast<Parameters>(arguments)...);
  }
  struct Call {
    void (*kernel)(Parameters...);
    std::tuple<Parameters...> parameters;
  };
  const Call call{kernel, std::tuple<Parameters...>(static_cast<Parameters>(std::forward<Arguments>(arguments))...)};
  simt::run_grid(
      grid, block, dynamic_shared_bytes,
      [](const void* p) { std::apply(static_cast<const Call*>(p)->kernel, static_cast<const Call*>(p)->parameters); },
      &call);
}

}  // namespace flashproof::FP_EXECUTOR
