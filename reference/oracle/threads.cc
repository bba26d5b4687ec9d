#include "reference/oracle/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "reference/oracle/environment_guard.h"

namespace flashproof {

void Threads::for_each(std::int64_t n, const std::function<void(std::int64_t)>& body) const {
  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    try {
      require_ieee_environment();
      for (std::int64_t i = next++; i < n; i = next++) body(i);
    } catch (...) {
      next = n;
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> helpers;  // no jthread: libc++ had none before version 20
  const std::int64_t most = std::max<std::int64_t>(std::min<std::int64_t>(count_, n), 1) - 1;
  helpers.reserve(static_cast<std::size_t>(most));  // so that nothing but the system's refusal ends the loop
  try {
    for (std::int64_t t = 0; t < most; ++t) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // The system has no room for another thread: those that run do all the work.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace flashproof
