// The limit of open files of this process, which bounds its connections.
//
// Thread safety: pure but for the limit of the process.

#pragma once

#include <cstdint>

namespace hotrow {

// Raises the limit to the most that the process may set by itself. Returns it.
int64_t RaiseDescriptorLimit();

// How many connections fit under `descriptors` open files beside what else a server opens: all but
// 192, half of them where they are few, and never more than 16,384.
int64_t ConnectionsUnder(int64_t descriptors);

// The limit of open files now.
int64_t DescriptorLimit();

}  // namespace hotrow
