#include "kernels/ptx/runtime/streams.h"

#include <fmt/format.h>

#include "kernels/ptx/runtime/status.h"

namespace flashproof::cudart {
namespace {

constexpr std::uintptr_t kDefaults = 2;  // null, cudaStreamLegacy, cudaStreamPerThread

}  // namespace

Stream* Streams::create(unsigned flags, int priority) {
  auto made = std::make_unique<Stream>(Stream{++last_id_, flags, priority});
  Stream* handle = made.get();
  streams_[handle] = std::move(made);
  return handle;
}

Event* Streams::create_event(bool has_time) {
  auto made = std::make_unique<Event>(Event{has_time, std::nullopt});
  Event* handle = made.get();
  events_[handle] = std::move(made);
  return handle;
}

const Stream& Streams::stream(const void* handle) const {
  static const Stream defaults;
  if (reinterpret_cast<std::uintptr_t>(handle) <= kDefaults) return defaults;
  const auto found = streams_.find(handle);
  if (found == streams_.end()) throw Refused(invalid_handle, fmt::format("{} is no stream", handle));
  return *found->second;
}

Event& Streams::event(void* handle) {
  const auto found = events_.find(handle);
  if (found == events_.end()) throw Refused(invalid_handle, fmt::format("{} is no event", handle));
  return *found->second;
}

void Streams::destroy(void* handle) {
  if (streams_.erase(handle) == 0) throw Refused(invalid_handle, fmt::format("{} is no stream of the program", handle));
}

void Streams::destroy_event(void* handle) {
  if (events_.erase(handle) == 0) throw Refused(invalid_handle, fmt::format("{} is no event", handle));
}

float Streams::elapsed(void* start, void* end) {
  const Event &first = event(start), &last = event(end);
  if (!first.has_time || !last.has_time)
    throw Refused(invalid_handle, "an event with cudaEventDisableTiming has no time");
  if (!first.recorded || !last.recorded) throw Refused(invalid_handle, "an event that was not recorded has no time");
  return std::chrono::duration<float, std::milli>(*last.recorded - *first.recorded).count();
}

}  // namespace flashproof::cudart
