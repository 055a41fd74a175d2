// The decimal number that a float32 was written as.
//
// Options travel as float32, but the peers whose arithmetic we equal take them as doubles: a user's
// 0.999 becomes 0.99900001287 on the way, and 1 - 0.999 loses five digits. The shortest decimal
// that rounds to the float32 is what the user wrote whenever that had at most six digits.
//
// Thread safety: a pure function. Errors: none; the value is finite.

#pragma once

namespace hotrow {

// WrittenDecimal(0.999F) == 0.999.
double WrittenDecimal(float value);

}  // namespace hotrow
