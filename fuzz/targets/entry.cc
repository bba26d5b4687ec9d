// Every target's entry points, for whatever engine it is linked to.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>

#include "fuzz/batch/memory.h"
#include "fuzz/targets/session.h"
#include "properties/laws/support/race_observer.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace flashproof;

std::unique_ptr<Session> session;

/// Runs `body` and leaves with the code of what it throws; what was found by then is written if it can be.
template <class Body>
int guarded(Body body) {
  int code = 3;
  try {
    return body();
  } catch (const UsageError& error) {
    code = 2;
    std::fprintf(stderr, "flashproof: %s\n", printable(error.what(), 2000).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "flashproof: %s\n", printable(error.what(), 2000).c_str());
  }
  try {
    if (session && code != 2) session->flush();
  } catch (const std::exception&) {  // what failed just now: it was said
  }
  std::fflush(nullptr);
  std::_Exit(code);
}

void save() {
  if (session)
    guarded([] {
      session->flush();
      return 0;
    });
}

/// True if a mode was asked for and is done.
bool other_mode(const SessionOptions& options) {
  if (options.list) return session->list(), true;
  if (!options.describe.empty()) return session->describe_input(options.describe), true;
  if (!options.seeds.empty()) return session->write_seeds(options.seeds, options.seeds_folder), true;
  if (options.climb) return session->climb(*options.climb, options.folder), true;
  if (options.hunt) return session->hunt(*options.hunt, options.folder), true;
  if (options.minimise) return session->minimise(*options.minimise), true;
  return false;
}

}  // namespace

int LLVMFuzzerInitialize(int* argc, char*** argv) {
  return guarded([&] {
    keep_freed_memory();
    const SessionOptions options = take_options(*argc, *argv);
    set_race_observer(observe);
    session = std::make_unique<Session>(fuzz_target(), options);
    if (other_mode(options)) {
      if (std::fflush(stdout) != 0) throw InfrastructureError("stdout: cannot be written");
      std::_Exit(0);
    }
    std::atexit(save);
    return 0;
  });
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return guarded([&] { return session->run({data, size}); });
}
