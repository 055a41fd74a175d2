// Results of asynchronous pulls and pushes as Python objects.
//
// Thread safety: each method, from any thread; a result is taken once (hotrow/futures.py sees to
// it). Ownership: the C++ futures own what they need; dropping one abandons the result, never the
// work. Errors: Wait raises the typed exception, DeadlineExceeded when the result is not there yet.

#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "hotrow/client.h"
#include "hotrow/pulled_batch.h"

namespace hotrow::python {

// rows (positions.size(), dim) = the batch's row of each position; zeros at skipped positions.
void ScatterRows(const PulledBatch& batch, std::span<float> rows);

}  // namespace hotrow::python
