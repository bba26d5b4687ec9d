// A fiber: a stack of its own and a place to go on. Raw fcontext of Boost.Context: a switch is a dozen instructions,
// twenty times faster than ucontext, which asks the kernel for its signal mask.
//
// MXCSR: a switch restores it, and that costs 60 ns instead of none when the sticky exception flags of the two sides
// differ. The executor therefore runs with all six flags already set (executor.cc).
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define FP_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FP_ASAN 1
#endif
#endif
#if defined(FP_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

namespace flashproof::simt {

struct Fiber {
  boost::context::detail::fcontext_t context = nullptr;  // where it goes on; meaningless while it runs
  const void* stack_top = nullptr;
#if defined(FP_ASAN)
  void* fake_stack = nullptr;
  const void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
#endif
};

/// Maps a stack with a guard page below it and arranges that the first switch enters `entry`, which never returns.
/// `number` staggers the stack tops, else the hot frames of all fibers would share the same few cache sets.
/// Throws InfrastructureError. The stack is never unmapped: fibers are persistent.
void make_fiber(Fiber& fiber, unsigned number, void (*entry)(boost::context::detail::transfer_t));

/// The first thing a fiber does after it was switched to.
inline void arrive(Fiber& self, boost::context::detail::transfer_t transfer) {
  Fiber& from = *static_cast<Fiber*>(transfer.data);
  from.context = transfer.fctx;
#if defined(FP_ASAN)
  __sanitizer_finish_switch_fiber(self.fake_stack, &from.stack_bottom, &from.stack_bytes);
#else
  static_cast<void>(self);
#endif
}

/// Suspends `from`, which is running, and goes on with `to`. Returns when someone switches back to `from`.
inline void switch_fiber(Fiber& from, Fiber& to) {
#if defined(FP_ASAN)
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_bottom, to.stack_bytes);
#endif
  arrive(from, boost::context::detail::jump_fcontext(to.context, &from));
}

}  // namespace flashproof::simt
