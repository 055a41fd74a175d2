// HOTROW_INDEPENDENT_LOOP before a `for`: its iterations touch different elements, so the compiler
// may run several at once without checking at run time whether the arrays overlap.

#pragma once

#if defined(__clang__)
#define HOTROW_INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__) && !defined(__CUDACC__)
#define HOTROW_INDEPENDENT_LOOP _Pragma("GCC ivdep")
#else
#define HOTROW_INDEPENDENT_LOOP
#endif
