#include "reference/oracle/threads.h"

#include <system_error>
#include <utility>

#include "reference/oracle/environment_guard.h"

namespace flashproof {

Team::Team(std::int64_t count) {
  if (count < 2) return;
  helpers_.reserve(static_cast<std::size_t>(count - 1));  // so that nothing but the system's refusal ends the loop
  try {
    while (static_cast<std::int64_t>(helpers_.size()) < count - 1) helpers_.emplace_back(&Team::help, this);
  } catch (const std::system_error&) {
    // The system has no room for another thread: those that run do all the work.
  }
}

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  begun_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void Team::for_each(std::int64_t n, const std::function<void(std::int64_t)>& body) {
  {
    const std::lock_guard lock(mutex_);
    body_ = &body;
    n_ = n;
    next_ = 0;
    working_ = helpers_.size();
    ++loops_;
  }
  begun_.notify_all();
  work();
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return working_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Team::help() {
  std::unique_lock lock(mutex_);
  for (std::uint64_t done = 0;; ++done) {
    begun_.wait(lock, [&] { return leaving_ || loops_ > done; });
    if (leaving_) return;
    lock.unlock();
    work();
    lock.lock();
    if (--working_ == 0) ended_.notify_one();
  }
}

void Team::work() {
  try {
    require_ieee_environment();
    for (std::int64_t i = next_++; i < n_; i = next_++) (*body_)(i);
  } catch (...) {
    next_ = n_;
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

}  // namespace flashproof
