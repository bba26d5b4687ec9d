// The one device, and the frame of every entry point: one call at a time, an error becomes one line and the status that is returned.
#pragma once

#include <functional>
#include <mutex>

#include "kernels/ptx/runtime/memory.h"
#include "kernels/ptx/runtime/modules.h"
#include "kernels/ptx/runtime/settings.h"
#include "kernels/ptx/runtime/status.h"
#include "kernels/ptx/runtime/streams.h"

namespace flashproof::cudart {

struct Device {
  explicit Device(const Settings& given)
      : settings(given), memory(given.memory_mib << 20), modules(memory, given.capability) {}
  Settings settings;
  Memory memory;
  Modules modules;
  Streams streams;
  Status broken = success;             // by a finding: every call returns it from then on, as after a fault of a GPU
  std::recursive_mutex one_at_a_time;  // a destructor of the program may call while exit() runs in a call
};

/// Made by the first call, never destroyed: destructors of the program call us, too. A setting that is wrong ends the process with 2.
Device& device();

/// The body on the device. What it throws is printed as "flashproof: NAME: what" and becomes the status, which this thread remembers.
int call(const char* name, const std::function<void(Device&)>& body);
/// The same for calls that nothing can break: a device with a fault is still asked.
int call_always(const char* name, const std::function<void(Device&)>& body);

/// cudaErrorNotSupported, and a line that names the call.
int refuse(const char* name);

/// The thread's last error; `forget`: it is success from then on, if the device is not broken.
int last_error(bool forget);

/// Throws Refused: a null argument where there must be none.
template <class Pointer>
Pointer* given(Pointer* argument) {
  if (argument == nullptr) throw Refused(invalid_value, "a null pointer for a result");
  return argument;
}

}  // namespace flashproof::cudart
