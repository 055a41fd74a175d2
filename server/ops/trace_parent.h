// The W3C `traceparent` header: tells whose trace a call belongs to
// (https://www.w3.org/TR/trace-context/).
//
// Thread safety: a pure function. Bounds: reads at most kMaxTraceParentBytes. Errors: none; a
// header that does not keep the form is as good as none.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hotrow {

inline constexpr std::size_t kMaxTraceParentBytes = 256;

// The 32 hexadecimal digits of its trace-id; empty when `header` is not
// VERSION-TRACEID-PARENT-FLAGS in small hexadecimal digits, or an id is all zeros. Versions later
// than 00 may add fields.
std::string TraceIdOf(std::string_view header);

}  // namespace hotrow
