// Slot: the place of one row in a RowStore.

#pragma once

#include <cstdint>

namespace hotrow {

// set x slots_per_set + place within the set. 64 bits: stores exceed 2^31 slots.
using Slot = int64_t;
inline constexpr Slot kNoSlot = -1;

}  // namespace hotrow
