// UTF-8 of protobuf `string` fields: generated parsers refuse anything else, so we do not send it.
//
// Thread safety: pure functions.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hotrow::wire {

// Bytes of the longest prefix that is valid UTF-8 (no surrogates, no overlong forms, at most
// U+10FFFF).
size_t ValidUtf8Prefix(std::string_view text);

// `text` made fit for a string field: at most `limit` bytes, cut between characters, with '?' for
// each byte that is not UTF-8.
std::string FitText(std::string_view text, size_t limit);

}  // namespace hotrow::wire
