// Streams, events, callbacks of the host. All is done when a call returns.
#include "kernels/ptx/runtime/device.h"

using namespace flashproof::cudart;

namespace {

constexpr unsigned kDisableTiming = 2;  // cudaEventDisableTiming

int create_stream(const char* name, void** made, unsigned flags, int priority) {
  return call(name, [&](Device& device) { *given(made) = device.streams.create(flags, priority); });
}

int create_event(const char* name, void** made, unsigned flags) {
  return call(name, [&](Device& device) { *given(made) = device.streams.create_event((flags & kDisableTiming) == 0); });
}

int record(const char* name, void* event, void* stream) {
  return call(name, [&](Device& device) {
    device.streams.stream(stream);
    device.streams.event(event).recorded = std::chrono::steady_clock::now();
  });
}

int check_stream(const char* name, const void* stream) {
  return call(name, [&](Device& device) { device.streams.stream(stream); });
}

int check_event(const char* name, void* event) {
  return call(name, [&](Device& device) { device.streams.event(event); });
}

}  // namespace

extern "C" {

int cudaStreamCreate(void** made) { return create_stream("cudaStreamCreate", made, 0, 0); }
int cudaStreamCreateWithFlags(void** made, unsigned flags) {
  return create_stream("cudaStreamCreateWithFlags", made, flags, 0);
}
int cudaStreamCreateWithPriority(void** made, unsigned flags, int priority) {
  return create_stream("cudaStreamCreateWithPriority", made, flags, priority);
}
int cudaStreamDestroy(void* stream) {
  return call("cudaStreamDestroy", [&](Device& device) { device.streams.destroy(stream); });
}
int cudaStreamSynchronize(void* stream) { return check_stream("cudaStreamSynchronize", stream); }
int cudaStreamQuery(void* stream) { return check_stream("cudaStreamQuery", stream); }
int cudaStreamWaitEvent(void* stream, void* event, unsigned /*flags*/) {
  return call("cudaStreamWaitEvent", [&](Device& device) {
    device.streams.stream(stream);
    device.streams.event(event);
  });
}
int cudaStreamGetFlags(void* stream, unsigned* flags) {
  return call("cudaStreamGetFlags", [&](Device& device) { *given(flags) = device.streams.stream(stream).flags; });
}
int cudaStreamGetPriority(void* stream, int* priority) {
  return call("cudaStreamGetPriority",
              [&](Device& device) { *given(priority) = device.streams.stream(stream).priority; });
}
int cudaStreamGetId(void* stream, unsigned long long* id) {
  return call("cudaStreamGetId", [&](Device& device) { *given(id) = device.streams.stream(stream).id; });
}
int cudaStreamGetDevice(void* stream, int* number) {
  return call("cudaStreamGetDevice", [&](Device& device) {
    device.streams.stream(stream);
    *given(number) = 0;
  });
}
/// Never: a capture is refused where it would begin.
int cudaStreamIsCapturing(void* stream, int* status) {
  return call("cudaStreamIsCapturing", [&](Device& device) {
    device.streams.stream(stream);
    *given(status) = 0;
  });
}
int cudaStreamAttachMemAsync(void* stream, void* /*data*/, std::size_t /*bytes*/, unsigned /*flags*/) {
  return check_stream("cudaStreamAttachMemAsync", stream);
}

int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  const int status = check_stream("cudaLaunchHostFunc", stream);
  if (status == success) function(data);
  return status;
}
int cudaStreamAddCallback(void* stream, void (*function)(void*, int, void*), void* data, unsigned /*flags*/) {
  const int status = check_stream("cudaStreamAddCallback", stream);
  if (status == success) function(stream, success, data);
  return status;
}

int cudaEventCreate(void** made) { return create_event("cudaEventCreate", made, 0); }
int cudaEventCreateWithFlags(void** made, unsigned flags) {
  return create_event("cudaEventCreateWithFlags", made, flags);
}
int cudaEventDestroy(void* event) {
  return call("cudaEventDestroy", [&](Device& device) { device.streams.destroy_event(event); });
}
int cudaEventRecord(void* event, void* stream) { return record("cudaEventRecord", event, stream); }
int cudaEventRecordWithFlags(void* event, void* stream, unsigned /*flags*/) {
  return record("cudaEventRecordWithFlags", event, stream);
}
int cudaEventSynchronize(void* event) { return check_event("cudaEventSynchronize", event); }
int cudaEventQuery(void* event) { return check_event("cudaEventQuery", event); }
int cudaEventElapsedTime(float* milliseconds, void* start, void* end) {
  return call("cudaEventElapsedTime",
              [&](Device& device) { *given(milliseconds) = device.streams.elapsed(start, end); });
}
}
