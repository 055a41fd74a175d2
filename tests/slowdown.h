// How much longer things take in this build than in others, for times that a test must give.

#pragma once

namespace hotrow::testing {

#ifdef __SANITIZE_THREAD__
inline constexpr int kSlowdown = 8;  // and the machine may have other work
#else
inline constexpr int kSlowdown = 1;
#endif

}  // namespace hotrow::testing
