// What ThreadSanitizer must be told of a hand-over that it cannot see: one through code that is not
// instrumented.
//
// Thread safety: a release before, an acquire after the hand-over, both on the same address.
// Nothing in a build without ThreadSanitizer.

#pragma once

#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#define HOTROW_TSAN_ACQUIRE(address) __tsan_acquire(address)
#define HOTROW_TSAN_RELEASE(address) __tsan_release(address)
#else
#define HOTROW_TSAN_ACQUIRE(address) static_cast<void>(address)
#define HOTROW_TSAN_RELEASE(address) static_cast<void>(address)
#endif
