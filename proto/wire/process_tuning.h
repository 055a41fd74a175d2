// Settings of a whole process that carries Hotrow's messages over gRPC, alike on both sides.
//
// Thread safety: once, before threads that allocate or lock are many. Bounds: up to 256 MiB that
// the process has freed stay with it.

#pragma once

namespace hotrow::wire {

// - malloc keeps large buffers: its default takes every one of 128 KiB or more from the system and
//   gives it back, a page fault per 4 KiB (a quarter of the time of a client that pulls a megabyte
//   at a time).
// - Debian's Abseil does not look for deadlocks at every lock, of which gRPC takes several a
//   message.
void TuneProcess();

}  // namespace hotrow::wire
