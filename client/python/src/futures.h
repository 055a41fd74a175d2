// Results of asynchronous pulls and pushes as Python objects.
//
// Thread safety: each method, from any thread; a result is taken once (hotrow/futures.py sees to
// it). Ownership: the C++ futures own what they need; dropping one abandons the result, never the
// work. Errors: wait raises the typed exception of the call; a result that is not there yet is a
// value (False, None), so that it is told apart from a call that exceeded its own deadline.

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
