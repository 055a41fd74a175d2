// Positions: where an occurrence in a batch finds its row among the unique rows.

#pragma once

#include <cstdint>

namespace hotrow {

// Position of an occurrence that is left out (padding).
inline constexpr int32_t kSkippedPosition = -1;

}  // namespace hotrow
