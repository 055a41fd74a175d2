#include "kernels/optimizers/decimal.h"

#include <charconv>
#include <system_error>

#include "kernels/base/check.h"

namespace hotrow {

double WrittenDecimal(float value) {
  char text[64];
  const auto written = std::to_chars(text, text + sizeof(text), value);
  HOTROW_CHECK(written.ec == std::errc());
  double decimal = 0.0;
  const auto read = std::from_chars(text, written.ptr, decimal);
  HOTROW_CHECK(read.ec == std::errc() && read.ptr == written.ptr);
  return decimal;
}

}  // namespace hotrow
