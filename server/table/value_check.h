// Are all values of some rows finite and within a bound?
//
// Thread safety: a pure function. The check reads every value once and branches once a row.

#pragma once

#include "kernels/base/float_row.h"

namespace hotrow {

// True if every |value| <= bound; a NaN or an infinity never is. `bound` is finite and not
// negative.
bool MagnitudesWithin(const ConstRowsView& rows, float bound);

}  // namespace hotrow
