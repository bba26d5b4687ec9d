#include "kernels/ptx/runtime/device.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "reference/system/error.h"
#include "reference/system/exit_codes.h"

namespace flashproof::cudart {
namespace {

thread_local int last = success;

void print(const char* name, const char* what) { std::fprintf(stderr, "flashproof: %s: %s\n", name, what); }

int guarded(const char* name, Device& device, const std::function<void(Device&)>& body) {
  try {
    body(device);
    return success;
  } catch (const Refused& refused) {
    print(name, refused.what());
    return refused.status;
  } catch (const UsageError& error) {
    print(name, error.what());
    return invalid_value;
  } catch (const std::bad_alloc&) {
    print(name, "no memory");
    return memory_allocation;
  } catch (const std::exception& error) {
    print(name, error.what());
    return unknown;
  }
}

}  // namespace

Device& device() {
  static Device& made = []() -> Device& {
    try {
      return *new Device(settings_of([](const char* name) {
        return std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
      }));
    } catch (const UsageError& error) {
      std::fprintf(stderr, "flashproof: %s\n", error.what());
      std::_Exit(kExitUsage);
    }
  }();
  return made;
}

int call_always(const char* name, const std::function<void(Device&)>& body) {
  Device& here = device();
  const std::scoped_lock lock(here.one_at_a_time);
  const int status = guarded(name, here, body);
  if (status != success) last = status;
  return status;
}

int call(const char* name, const std::function<void(Device&)>& body) {
  Device& here = device();
  const std::scoped_lock lock(here.one_at_a_time);
  const int status = here.broken != success ? here.broken : guarded(name, here, body);
  if (status != success) last = status;
  return status;
}

int refuse(const char* name) {
  print(name, "is not there on this device, which executes PTX on the CPU");
  last = not_supported;
  return not_supported;
}

int last_error(bool forget) {
  Device& here = device();
  const std::scoped_lock lock(here.one_at_a_time);
  if (here.broken != success) return here.broken;
  const int status = last;
  if (forget) last = success;
  return status;
}

}  // namespace flashproof::cudart
