// HOTROW_CHECK: ends the process when a programmer's assumption is broken. Never for bad input:
// that gets a typed error.

#pragma once

#include <cstdio>
#include <cstdlib>

#define HOTROW_CHECK(condition)                                                                   \
  do {                                                                                            \
    if (!(condition)) [[unlikely]] {                                                              \
      std::fprintf(stderr, "hotrow: check failed: %s (%s:%d)\n", #condition, __FILE__, __LINE__); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (false)
