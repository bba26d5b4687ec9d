// What a process that judges without end does about its memory.
#pragma once

namespace flashproof {

/// Freed memory stays with the process, and large pieces are not mapped one by one. Every case makes and drops some hundred
/// KiB; as glibc is set up, each of these goes back to the system and comes again page by page, zeroed, under one lock for
/// all threads: more than a third of a thread's time, and more with every thread (reports/tables/fuzz-speed-cpu-*.md). For
/// a whole program, at its start. Nothing where the allocator is another (a sanitizer's).
void keep_freed_memory();

}  // namespace flashproof
