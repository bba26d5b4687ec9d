// What is not there: graphs, textures, arrays, memory pools, IPC, other libraries' objects, cooperative launches.
#include "kernels/ptx/runtime/device.h"

// The arguments do not matter: in the calling convention of x86-64 the caller removes them.
#define REFUSED(name) \
  extern "C" int name() { return flashproof::cudart::refuse(#name); }
#include "kernels/ptx/runtime/refused.inc"
#undef REFUSED
