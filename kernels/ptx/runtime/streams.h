// Streams and events as handles. What is put into a stream is done when the call returns, in the order of the calls: one of the orders
// that CUDA allows. That a program forgets to wait is not found.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

namespace flashproof::cudart {

struct Stream {
  std::uint64_t id = 0;
  unsigned flags = 0;
  int priority = 0;
};

struct Event {
  bool has_time = true;
  std::optional<std::chrono::steady_clock::time_point> recorded;
};

class Streams {
 public:
  Stream* create(unsigned flags, int priority);
  Event* create_event(bool has_time);
  /// The default streams (0, 1, 2) are this one. Throws Refused for what is no stream.
  const Stream& stream(const void* handle) const;
  Event& event(void* handle);  // throws Refused for what is none
  void destroy(void* stream);
  void destroy_event(void* event);

  /// Milliseconds of this machine between the two. Throws Refused where either was not recorded, or has no time.
  float elapsed(void* start, void* end);

 private:
  std::map<const void*, std::unique_ptr<Stream>> streams_;
  std::map<const void*, std::unique_ptr<Event>> events_;
  std::uint64_t last_id_ = 0;
};

}  // namespace flashproof::cudart
