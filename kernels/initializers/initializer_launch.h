// Initial values on a device, as launches on a stream: InitializeRows of initializer.h.
//
// Thread safety: that of the stream. Ownership: nothing; the spans hold device memory here (their
// sizes are read, their elements are not). A row that is null is skipped; rows lie at 4-byte
// boundaries. Errors: kInvalidArgument for an initializer that ValidateInitializer refuses and for
// sizes that do not fit together, before anything is launched; else what the stream answers.

#pragma once

#include <span>

#include "kernels/base/result.h"
#include "kernels/initializers/initializer.h"
#include "kernels/space/device_stream.h"

namespace hotrow {

Result LaunchInitializeRows(DeviceStream& stream, const Initializer& initializer,
                            std::span<const Key> keys, const RowsView& rows);

}  // namespace hotrow
