// Compiled kernels on the CPU (kernels/ptx), as flashproof/ptx.py asks for them. Modules and programs are kept by numbers until they are
// dropped. Not for several threads at once: ptx.py has a lock.
#pragma once

#include "python/bindings/door.h"

namespace flashproof::python {

/// {"file"} or {"text", "name"}: the number of a module and the names of its entries.
void ptx_module(const Json& request, const Python& python);
/// {"module", "entry"}: the number of its program, compiled or taken from the cache, and what a launch needs.
void ptx_program(const Json& request, const Python& python);
/// {"program", "grid", "block", "shared", "parameters": address, "arrays": [[address, bytes, writable, name]], "max_instructions",
/// "last_first"}: what was found, counted and printed. The addresses are the caller's, who keeps the memory until this returns.
void ptx_launch(const Json& request, const Python& python);
/// {"type", "address", "sizes", "strides", "box", "steps", "swizzle"}, axes from the innermost on: the 128 bytes in hexadecimal.
void ptx_tensor_map(const Json& request, const Python& python);
/// {"module"} or {"program"}.
void ptx_drop(const Json& request, const Python& python);

}  // namespace flashproof::python
